// A recording of operations made by hand, and a folder that is gone afterwards.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "linkcast/workloads/recording.hpp"

class Lists final : public linkcast::workloads::OperationReader {
 public:
  explicit Lists(std::vector<std::vector<linkcast::workloads::Operation>> lists)
      : lists_{std::move(lists)}, at_(lists_.size()) {}
  bool next(std::size_t r, linkcast::workloads::Operation& out) override {
    if (at_[r] == lists_[r].size()) return false;
    out = lists_[r][at_[r]++];
    return true;
  }

 private:
  std::vector<std::vector<linkcast::workloads::Operation>> lists_;
  std::vector<std::size_t> at_;
};

class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_{std::filesystem::temp_directory_path() / ("linkcast-" + name + "-" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string at(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{path_ / name, std::ios::binary} << text;
    return at(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string text_of_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}
