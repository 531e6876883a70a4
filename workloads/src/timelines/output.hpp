// Files that grow piece by piece, many at once: no more than one is open at a time. With gzip every piece is a member
// of its own, so that no state is kept between pieces. Knows no format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace linkcast::workloads::timelines {

class Output {
 public:
  Output(std::string path, bool gzip, std::size_t piece);
  void append(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() >= piece_) flush();
  }
  /// Throws sim::InputError with the system's reason.
  void flush();
  const std::string& path() const { return path_; }

 private:
  std::string path_, waiting_;
  bool gzip_, begun_ = false;
  std::size_t piece_;
};

/// "a/b.json.gz" with %r: the rank; the folders that it lies in are made. Throws sim::InputError.
std::string path_of_rank(const std::string& pattern, int rank);
void make_folders(const std::string& path);

}  // namespace linkcast::workloads::timelines
