// A folder for the files of one test, gone with it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace linkcast::test {

class Scratch {
 public:
  Scratch() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("linkcast-test-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~Scratch() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    const auto path = path_ / name;
    std::ofstream{path, std::ios::binary} << text;
    return path.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace linkcast::test
