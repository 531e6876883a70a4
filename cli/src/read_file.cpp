// See read_file.hpp. Knows no format.
#include "read_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::cli {

std::string read_file(const std::string& path) {
  const auto refuse = [&](const std::string& problem, const std::string& help) {
    throw sim::InputError{{sim::Diagnostic{{path, 0, 0, 1}, problem, help}}, {}};
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse("is a directory", "name a file");
  std::ifstream file{path, std::ios::binary};
  if (!file) refuse(fmt::format("cannot be read: {}", std::strerror(errno)), {});
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

bool looks_like_xml(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file{path, std::ios::binary};
  char first = 0;
  return (file >> first) && (first == '<' || static_cast<unsigned char>(first) == 0xEF);
}

}  // namespace linkcast::cli
