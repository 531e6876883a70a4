// The flows that are under way, ordered by (time of completion, index). A binary heap that knows where each
// flow lies, because a change of rate moves a flow's completion. Knows no rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "linkcast/sim/units.hpp"

namespace linkcast::sim {

class CompletionHeap {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  Time top_time() const { return entries_.front().time; }
  std::uint32_t top() const { return entries_.front().flow; }

  void set(std::uint32_t flow, Time time) {
    if (flow >= place_.size()) place_.resize(flow + 1, absent);
    std::size_t at = place_[flow];
    if (at == absent) {
      at = entries_.size();
      entries_.push_back({time, flow});
      place_[flow] = static_cast<std::uint32_t>(at);
      up(at);
    } else {
      const bool later = entries_[at].time < time;
      entries_[at].time = time;
      later ? down(at) : up(at);
    }
  }

  void erase(std::uint32_t flow) {
    if (flow >= place_.size() || place_[flow] == absent) return;
    const std::size_t at = place_[flow];
    place_[flow] = absent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    put(at, last);
    up(at);
    down(place_[last.flow]);
  }

 private:
  struct Entry {
    Time time;
    std::uint32_t flow;
    bool before(const Entry& o) const { return time < o.time || (time == o.time && flow < o.flow); }
  };
  static constexpr std::uint32_t absent = 0xFFFFFFFFU;

  void put(std::size_t at, Entry e) {
    entries_[at] = e;
    place_[e.flow] = static_cast<std::uint32_t>(at);
  }
  void up(std::size_t at) {
    const Entry e = entries_[at];
    while (at > 0 && e.before(entries_[(at - 1) / 2])) {
      put(at, entries_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    put(at, e);
  }
  void down(std::size_t at) {
    const Entry e = entries_[at];
    for (std::size_t child = 2 * at + 1; child < entries_.size(); child = 2 * at + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1].before(entries_[child])) ++child;
      if (!entries_[child].before(e)) break;
      put(at, entries_[child]);
      at = child;
    }
    put(at, e);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> place_;
};

}  // namespace linkcast::sim
