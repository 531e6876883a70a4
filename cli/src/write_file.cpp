// See write_file.hpp. Knows no format.
#include "write_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "form.hpp"

namespace linkcast::cli {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void refuse(std::string_view option, const std::string& path, int reason) {
  throw UsageError{fmt::format("error: {}: cannot write '{}': {}", option, path, std::strerror(reason))};
}

File open(std::string_view option, const std::string& path, const char* mode) {
  File file{std::fopen(path.c_str(), mode), &std::fclose};
  if (!file) refuse(option, path, errno);
  return file;
}

}  // namespace

void check_writable(std::string_view option, const std::string& path) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  open(option, path, "ab");
  if (!there) std::filesystem::remove(path, ignored);
}

void check_writable(std::string_view option, const std::string& path, Kind kind) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored) && std::filesystem::file_size(path, ignored) > 0) {
    std::ifstream in{path, std::ios::binary};
    std::string line;
    std::getline(in, line);
    const auto extension = std::filesystem::path{path}.extension();
    const bool ours = kind == Kind::page
                          ? line.starts_with("<!doctype") || line.starts_with("<!DOCTYPE")
                          : line.find(',') != std::string::npos && extension != ".yaml" && extension != ".yml";
    if (!ours)
      throw UsageError{fmt::format("error: {}: '{}' is there already, and no {}: it was left as it is", option, path,
                                   kind == Kind::page ? "page" : "table")};
  }
  check_writable(option, path);
}

void write_file(std::string_view option, const std::string& path, std::string_view text) {
  const auto file = open(option, path, "wb");
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() || std::fflush(file.get()) != 0)
    refuse(option, path, errno);
}

void replace_file(std::string_view option, const std::string& path, std::string_view text) {
  // Beside it, because a rename is whole only within a file system; hidden and without its ending, so that a
  // collector of *.prom takes no half of it.
  const std::filesystem::path target{path};
  const auto beside = target.parent_path() / fmt::format(".{}.{}", target.filename().string(), ::getpid());
  try {
    write_file(option, beside.string(), text);
    std::filesystem::rename(beside, target);
  } catch (const std::filesystem::filesystem_error& e) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    refuse(option, path, e.code().value());
  } catch (const UsageError&) {
    const int reason = errno;  // the message names the file beside; the user has named this one
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    refuse(option, path, reason);
  }
}

}  // namespace linkcast::cli
