// A file line by line in bounded memory, decompressed on the way. Knows no format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "byte_source.hpp"

namespace linkcast::workloads::readers {

class Lines {
 public:
  static constexpr std::size_t longest = std::size_t{4} << 20;  // what is longer comes in pieces

  explicit Lines(const std::string& path) : source_{path} {}

  /// False at the end, and where a compressed file is damaged: then `problem` says so.
  bool next(std::string_view& line);
  std::int64_t number() const { return number_; }  // of the line that was given, from 1
  const std::string& problem() const { return problem_; }
  std::string where() const;  // "file:17"

 private:
  ByteSource source_;
  std::string buffer_, problem_;
  std::size_t begin_ = 0, scanned_ = 0;
  std::int64_t number_ = 0;
  bool ended_ = false;
};

}  // namespace linkcast::workloads::readers
