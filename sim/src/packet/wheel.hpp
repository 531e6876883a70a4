// The event queue of the packet network: a wheel of slots of 4,096 ps for the next 8.4 us, and the general queue for
// what lies beyond. Why not the general queue alone: here tens of thousands of events lie within a microsecond, an
// event moves three times through a radix heap and only twice here, and whoever takes one can see the next few, which
// lets the caches be asked in time. Order: time, then insertion, as there. Knows no event kinds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "large_array.hpp"
#include "linkcast/sim/event_queue.hpp"

namespace linkcast::sim::packet {

class Wheel {
 public:
  Wheel() : slots_(slot_count) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void push(std::int64_t time, std::uint64_t payload) {
    ++size_;
    const std::int64_t slot = time >> shift;
    const std::int64_t ahead = slot - slot_;
    if (ahead <= 0) {
      // Into what is being worked off, behind its equals.
      const auto place = std::upper_bound(current_.begin() + static_cast<std::ptrdiff_t>(at_), current_.end(), time,
                                          [](std::int64_t t, const Event& e) { return t < e.time.ps(); });
      current_.insert(place, {Time::picoseconds(time), payload});
      return;
    }
    if (ahead >= static_cast<std::int64_t>(slot_count)) {
      far_.push(Time::picoseconds(time), payload);
      return;
    }
    const auto index = static_cast<std::size_t>(slot) & (slot_count - 1);
    Slot& s = slots_[index];
    if (s.tail == none || chunks_[s.tail].count == Chunk::room) {
      const auto c = take_chunk();
      if (s.tail == none) {
        s.head = c;
        used_[index / 64] |= std::uint64_t{1} << (index % 64);
      } else {
        chunks_[s.tail].next = c;
      }
      s.tail = c;
    }
    Chunk& chunk = chunks_[s.tail];
    chunk.events[chunk.count++] = {Time::picoseconds(time), payload};
  }

  /// Time::max() when there is none. May load the next slot; an earlier event may still be pushed.
  Time next_time() {
    if (at_ == current_.size() && !load()) return Time::max();
    return current_[at_].time;
  }

  /// Requires that next_time() was asked.
  Event pop() {
    --size_;
    return current_[at_++];
  }

  /// The k-th event after the next one, as far as it is known; null beyond.
  const Event* peek(std::size_t k) const { return at_ + k < current_.size() ? &current_[at_ + k] : nullptr; }

 private:
  static constexpr int shift = 12;
  static constexpr std::size_t slot_count = 2048;
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct Chunk {
    static constexpr std::uint32_t room = 15;
    std::array<Event, room> events;
    std::uint32_t next = none, count = 0;
  };
  struct Slot {
    std::uint32_t head = none, tail = none;
  };

  std::uint32_t take_chunk() {
    std::uint32_t c = free_;
    if (c == none) {
      c = static_cast<std::uint32_t>(chunks_.size());
      chunks_.emplace_back();
    } else {
      free_ = chunks_[c].next;
    }
    chunks_[c].next = none;
    chunks_[c].count = 0;
    return c;
  }

  /// The number of the next slot that holds something, at most slot_count away; -1: none.
  std::int64_t next_slot() const {
    const auto start = static_cast<std::size_t>(slot_ + 1) & (slot_count - 1);
    std::uint64_t word = used_[start / 64] & (~std::uint64_t{0} << (start % 64));
    for (std::size_t i = 0; i <= slot_count / 64; ++i) {
      const std::size_t w = (start / 64 + i) % (slot_count / 64);
      if (i > 0) word = used_[w];
      if (i == slot_count / 64) word &= ~(~std::uint64_t{0} << (start % 64));
      if (word == 0) continue;
      const std::size_t index = w * 64 + static_cast<std::size_t>(std::countr_zero(word));
      return slot_ + 1 + static_cast<std::int64_t>((index - start) & (slot_count - 1));
    }
    return -1;
  }

  bool load() {
    current_.clear();
    at_ = 0;
    if (size_ == 0) return false;
    std::int64_t slot = next_slot();
    // What lies beyond the wheel was pushed before anything that is in it for the same slot.
    const Time far = far_.next_time();
    if (far != Time::max() && (slot < 0 || far.ps() >> shift <= slot)) {
      slot = far.ps() >> shift;
      while (far_.next_time() != Time::max() && far_.next_time().ps() >> shift == slot) current_.push_back(far_.pop());
    }
    slot_ = slot;
    const auto index = static_cast<std::size_t>(slot) & (slot_count - 1);
    Slot& s = slots_[index];
    for (auto c = s.head; c != none;) {
      Chunk& chunk = chunks_[c];
      current_.insert(current_.end(), chunk.events.begin(), chunk.events.begin() + chunk.count);
      const auto next = chunk.next;
      chunk.next = free_;
      free_ = c;
      c = next;
    }
    s = {};
    used_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    sort();
    return true;
  }

  // Stable. Few: by insertion. Many: two counting passes over the twelve bits that differ within a slot.
  void sort() {
    const std::size_t n = current_.size();
    if (n <= 24) {
      for (std::size_t i = 1; i < n; ++i) {
        const Event e = current_[i];
        std::size_t j = i;
        for (; j > 0 && current_[j - 1].time > e.time; --j) current_[j] = current_[j - 1];
        current_[j] = e;
      }
      return;
    }
    sorted_.resize(n);
    pass(current_, sorted_, 0);
    pass(sorted_, current_, 6);
  }

  static void pass(const std::vector<Event>& from, std::vector<Event>& to, int bits) {
    std::array<std::uint32_t, 65> place{};
    const auto digit = [bits](const Event& e) { return static_cast<std::size_t>(e.time.ps() >> bits) & 63; };
    for (const Event& e : from) ++place[digit(e) + 1];
    for (std::size_t i = 1; i < 64; ++i) place[i] += place[i - 1];
    for (const Event& e : from) to[place[digit(e)]++] = e;
  }

  std::vector<Slot> slots_;
  LargeArray<Chunk> chunks_;
  std::uint32_t free_ = none;
  std::array<std::uint64_t, slot_count / 64> used_{};
  std::vector<Event> current_, sorted_;
  std::size_t at_ = 0;
  std::int64_t slot_ = -1;  // of current_
  EventQueue far_;
  std::size_t size_ = 0;
};

}  // namespace linkcast::sim::packet
