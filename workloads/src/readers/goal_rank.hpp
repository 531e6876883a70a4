// The schedule of one rank of a GOAL file, from either of its forms. Knows no recording.
//   binary: u64 4223, u32 ranks, u8 cpus, u8 nics, per rank (u64 begin, u64 end) counted from byte 8; of a rank: u32
//   nodes, u32 roots, the roots, per node 39 bytes, then the numbers of those that depend (LogGOPSim Parser.hpp)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers::goal {

inline constexpr std::int64_t any = -1;

struct Node {
  enum class Kind : std::uint8_t { send = 1, receive = 2, calc = 3 } kind = Kind::calc;
  std::uint8_t cpu = 0, nic = 0;
  std::int64_t peer = 0, tag = 0, size = 0;       // bytes, or nanoseconds
  std::vector<std::uint32_t> requires_, begins_;  // places of those that must have ended; that must have begun
  std::uint32_t line = 0;
};

struct Rank {
  std::vector<Node> nodes;
  std::vector<std::string> labels;  // of text; same places
};

/// Where the ranks lie. Plain files are read piece by piece, compressed ones are kept.
class Schedule {
 public:
  static bool is_binary(std::string_view head);
  /// Throws sim::InputError.
  Schedule(const std::string& path, ReadReport& report);

  int ranks() const { return static_cast<int>(places_.size()); }
  /// What it says of rank `r`. Mistakes within are counted in `report` where that is not null. Throws sim::InputError.
  Rank read(int r, ReadReport* report) const;
  bool has_any() const { return has_any_; }  // a peer or a tag may be -1

 private:
  struct Place {
    std::uint64_t begin = 0, size = 0;
    std::uint32_t line = 0;
  };
  std::string bytes(std::uint64_t begin, std::uint64_t size) const;
  void index_text(ReadReport& report);
  void index_binary();
  Rank read_text(const Place& p, ReadReport* report) const;
  Rank read_binary(const Place& p, ReadReport* report) const;

  std::string path_;
  bool binary_ = false, has_any_ = false;
  std::uint64_t size_ = 0;
  std::shared_ptr<const std::string> kept_;  // of a compressed file
  std::vector<Place> places_;
};

}  // namespace linkcast::workloads::readers::goal
