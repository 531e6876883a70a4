// A recording read to its end, and files that a test writes: for the tests of readers.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::test {

inline std::string data(const std::string& name) {
  return std::string{LINKCAST_SOURCE_DIR} + "/tests/data/traces/" + name;
}

/// A folder of its own that goes when the test ends.
class Folder {
 public:
  Folder() {
    static int made = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("linkcast-readers-" + std::to_string(getpid()) + "-" + std::to_string(++made));
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{path_ / name, std::ios::binary} << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// By place in Recording::ranks.
inline std::vector<std::vector<workloads::Operation>> operations(const workloads::Recording& recording) {
  std::vector<std::vector<workloads::Operation>> out(recording.ranks.size());
  const auto reader = recording.open();
  for (std::size_t r = 0; r < out.size(); ++r) {
    workloads::Operation o;
    while (reader->next(r, o)) out[r].push_back(o);
  }
  return out;
}

inline std::int64_t skipped(const workloads::Recording& recording, const std::string& why) {
  std::int64_t n = 0;
  for (const auto& s : recording.report->skipped)
    if (s.why.find(why) != std::string::npos) n += s.count;
  return n;
}

inline bool noted(const workloads::Recording& recording, const std::string& what) {
  for (const auto& n : recording.report->notes)
    if (n.find(what) != std::string::npos) return true;
  return false;
}

}  // namespace linkcast::test
