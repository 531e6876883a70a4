// See source_file.hpp.
#include "source_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace linkcast::topologies {

Source read_source(const std::string& path) {
  namespace fs = std::filesystem;
  const auto fail = [&](std::string problem, std::string help) {
    throw sim::InputError({{{path, 0, 0, 1}, std::move(problem), std::move(help)}}, {});
  };
  std::error_code error;
  const auto status = fs::status(path, error);
  if (error || !fs::exists(status)) fail("no such file", "");
  if (fs::is_directory(status)) fail("is a directory", "name a topology file (YAML or NCCL XML) inside it");
  if (!fs::is_regular_file(status)) fail("is not a regular file", "name a topology file (YAML or NCCL XML)");
  const auto size = fs::file_size(path, error);
  if (error) fail("cannot be read: " + error.message(), "");
  if (size > max_file_bytes) {
    fail(fmt::format("is {:.1f} MiB large; a topology has at most {} MiB", static_cast<double>(size) / (1 << 20),
                     max_file_bytes >> 20),
         "large clusters are written with counts and templates, not device by device");
  }
  auto out = std::make_shared<SourceText>();
  out->name = path;
  out->text.resize(static_cast<std::size_t>(size));
  std::ifstream in{path, std::ios::binary};
  in.read(out->text.data(), static_cast<std::streamsize>(size));
  if (!in) fail("cannot be read", "check its permissions");
  return out;
}

}  // namespace linkcast::topologies
