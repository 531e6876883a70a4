// Helpers of the calibration tests: files of the repository, and the message of an expected error.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::test {

inline std::filesystem::path repository() { return LINKCAST_SOURCE_DIR; }

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What the user would read, with paths from the root of the repository.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const sim::InputError& e) {
    std::string message = e.what();
    const auto prefix = repository().string() + "/";
    for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix, at)) {
      message.erase(at, prefix.size());
    }
    return message;
  }
  return "(no error)";
}

}  // namespace linkcast::test
