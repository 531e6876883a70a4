#include "write_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "form.hpp"

namespace linkcast::cli {

void write_file(std::string_view option, const std::string& path, std::string_view text) {
  const auto refuse = [&] {
    const int reason = errno;
    throw UsageError{fmt::format("error: {}: cannot write '{}': {}", option, path, std::strerror(reason))};
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "wb"), &std::fclose};
  if (!file) refuse();
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() || std::fflush(file.get()) != 0) refuse();
}

}  // namespace linkcast::cli
