// What the row of a variant depends on, as one number: the scenario's text and the files that it names. Knows no
// variant.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "counter_random.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::planning {

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
class Hash {
 public:
  Hash& add(std::string_view text) {
    for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    state_ = (state_ ^ 0x1f) * 0x100000001b3ULL;  // where a text ends counts
    return *this;
  }
  /// Mixed once more, so that near inputs are far apart.
  std::uint64_t value() const { return mixed(state_); }
  std::string text() const;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

/// Contents of files, each read once.
class FileHashes {
 public:
  explicit FileHashes(std::string folder) : folder_{std::move(folder)} {}
  /// Of every file or folder that some text of the value names, and of those that topology files extend.
  void add(Hash& hash, const workloads::trace::Value& v);

 private:
  const std::string& of(const std::string& path);
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::string> known_;  // empty: there is no such file
};

}  // namespace linkcast::planning
