// The flows' memory: structure of arrays by flow index, usages in one arena. A slot is taken again by the next
// flow with about as many usages, so that a replay in its steady state allocates nothing. Knows no sharing rule.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "linkcast/sim/fluid.hpp"

namespace linkcast::sim {

__extension__ using Wide = __int128;

struct FlowUse {
  std::uint32_t resource;
  std::uint32_t place;  // where the resource's list of members holds this flow
  std::int64_t weight;  // 2^-40
};

struct FlowPool {
  std::vector<Wide> left;               // bytes still to go at `since`, in rate units x picoseconds
  std::vector<std::int64_t> rate, cap;  // rate units
  std::vector<Time> since;
  std::vector<std::int64_t> bytes;
  std::vector<std::uint32_t> first, count;  // usages in `arena`
  std::vector<std::uint8_t> alive;
  std::vector<FlowUse> arena;

  std::span<FlowUse> uses(std::uint32_t f) { return {arena.data() + first[f], count[f]}; }

  std::uint32_t take(std::size_t usages) {
    const auto rank = static_cast<std::size_t>(std::bit_width(usages == 0 ? 0 : usages - 1)) + (usages != 0);
    auto& free = free_by_rank_[rank];
    std::uint32_t f = 0;
    if (free.empty()) {
      f = static_cast<std::uint32_t>(alive.size());
      left.push_back(0), rate.push_back(0), cap.push_back(0), since.emplace_back(), bytes.push_back(0);
      first.push_back(static_cast<std::uint32_t>(arena.size())), count.push_back(0), alive.push_back(0);
      rank_.push_back(static_cast<std::uint8_t>(rank));
      arena.resize(arena.size() + (rank == 0 ? 0 : std::size_t{1} << (rank - 1)));
    } else {
      f = free.back();
      free.pop_back();
    }
    count[f] = static_cast<std::uint32_t>(usages);
    alive[f] = 1;
    return f;
  }

  void give_back(std::uint32_t f) {
    alive[f] = 0;
    free_by_rank_[rank_[f]].push_back(f);
  }

 private:
  // rank 0: no usages; rank k: up to 2^(k-1) usages
  std::array<std::vector<std::uint32_t>, 34> free_by_rank_;
  std::vector<std::uint8_t> rank_;
};

}  // namespace linkcast::sim
