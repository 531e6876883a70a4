// The event queue of the packet network: a wheel of slots of 4,096 ps for the next 8.4 us, and the general queue for
// what lies beyond. Why not the general queue alone: here tens of thousands of events lie within a microsecond, an
// event moves three times through a radix heap and only twice here, and whoever takes one can see the next few, which
// lets the caches be asked in time. Order: time, then insertion, as there. Knows no event kinds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "large_array.hpp"
#include "linkcast/sim/event_queue.hpp"

namespace linkcast::sim::packet {

class Wheel {
 public:
  /// So many events after the next one may be looked at; those that are not there are the payload `nothing`.
  static constexpr std::size_t foresight = 16;
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};

  Wheel() : slots_(slot_count) { pad(); }

  void push(std::int64_t time, std::uint64_t payload) {
    const std::int64_t slot = time >> shift;
    if (static_cast<std::uint64_t>(slot - slot_ - 1) < slot_count - 1) [[likely]] {
      const auto index = static_cast<std::size_t>(slot) & (slot_count - 1);
      Slot& s = slots_[index];
      if (s.next == s.end) [[unlikely]]
        add_chunk(s, index);
      *s.next++ = {Time::picoseconds(time), payload};
      return;
    }
    push_elsewhere(time, payload);
  }

  /// Time::max() when there is none. May load the next slot; an earlier event may still be pushed.
  Time next_time() {
    if (at_ == count_ && !load()) return Time::max();
    return current_[at_].time;
  }

  /// Requires that next_time() was asked.
  Event pop() { return current_[at_++]; }

  /// The payload of the k-th event after the next one, k <= foresight, as far as it is known.
  std::uint64_t peek(std::size_t k) const { return current_[at_ + k].payload; }

 private:
  static constexpr int shift = 12;
  static constexpr std::size_t slot_count = 2048;
  struct Chunk {
    static constexpr std::size_t room = 15;
    Chunk* before = nullptr;  // in the same slot, or the next that is free
    std::uint64_t number = 0;
    std::array<Event, room> events;
  };
  struct Slot {
    Event* next = nullptr;
    Event* end = nullptr;
    Chunk* last = nullptr;
  };

  void add_chunk(Slot& s, std::size_t index) {
    if (free_ == nullptr) {
      constexpr std::size_t block = 256;
      blocks_.emplace_back(block);
      for (Chunk& c : blocks_.back()) c.before = free_, free_ = &c;
    }
    Chunk* c = free_;
    free_ = c->before;
    c->before = s.last;
    c->number = s.last == nullptr ? 0 : s.last->number + 1;
    s.last = c;
    s.next = c->events.data();
    s.end = s.next + Chunk::room;
    used_[index / 64] |= std::uint64_t{1} << (index % 64);
  }

  void push_elsewhere(std::int64_t time, std::uint64_t payload) {
    if ((time >> shift) > slot_) {
      far_.push(Time::picoseconds(time), payload);
      return;
    }
    // Into what is being worked off, behind its equals.
    const auto place = std::upper_bound(current_.begin() + static_cast<std::ptrdiff_t>(at_),
                                        current_.begin() + static_cast<std::ptrdiff_t>(count_), time,
                                        [](std::int64_t t, const Event& e) { return t < e.time.ps(); });
    current_.insert(place, {Time::picoseconds(time), payload});
    ++count_;
  }

  /// The number of the next slot that holds something, less than slot_count away; -1: none.
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
    at_ = count_ = 0;
    std::int64_t slot = next_slot();
    // What lies beyond the wheel was pushed before anything that is in it for the same slot.
    const Time far = far_.next_time();
    if (far != Time::max() && (slot < 0 || far.ps() >> shift <= slot)) {
      slot = far.ps() >> shift;
      while (far_.next_time() != Time::max() && far_.next_time().ps() >> shift == slot) current_.push_back(far_.pop());
    }
    if (slot < 0) {
      pad();
      return false;
    }
    slot_ = slot;
    const auto index = static_cast<std::size_t>(slot) & (slot_count - 1);
    Slot& s = slots_[index];
    if (s.last != nullptr) {
      // Chunks lead from the last to the first.
      const std::size_t first = current_.size();
      const auto in_last = static_cast<std::size_t>(s.next - s.last->events.data());
      current_.resize(first + s.last->number * Chunk::room + in_last);
      std::size_t count = in_last;
      for (Chunk* c = s.last; c != nullptr; count = Chunk::room) {
        std::copy_n(c->events.begin(), count,
                    current_.begin() + static_cast<std::ptrdiff_t>(first + c->number * Chunk::room));
        Chunk* before = c->before;
        c->before = free_;
        free_ = c;
        c = before;
      }
      s = {};
      used_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    }
    count_ = current_.size();
    sort();
    pad();
    return true;
  }

  void pad() { current_.resize(count_ + foresight + 1, Event{Time::max(), nothing}); }

  // Stable. Few: by insertion. Many: two counting passes over the twelve bits that differ within a slot.
  void sort() {
    const std::size_t n = count_;
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
  std::vector<LargeArray<Chunk>> blocks_;  // chunks stay where they are
  Chunk* free_ = nullptr;
  std::array<std::uint64_t, slot_count / 64> used_{};
  std::vector<Event> current_, sorted_;  // current_: `count_` events, then padding
  std::size_t at_ = 0, count_ = 0;
  std::int64_t slot_ = -1;  // of current_
  EventQueue far_;
};

}  // namespace linkcast::sim::packet
