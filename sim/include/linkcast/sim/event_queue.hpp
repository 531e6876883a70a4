// The event queue: a monotone radix heap of 16-byte events. Knows no event kinds: the payload is the caller's.
//
// Order: time, then insertion. Why it is first-in-first-out within an instant: an event with time T lies in the
// bucket (level, digit), where `level` is the highest byte in which T differs from `last_`, the time of the last
// event that was taken out, and `digit` is T's byte there. While T waits, last_ moves only inside buckets below T's,
// so the bytes at and above T's level do not change and a later event with the same T goes to the same bucket,
// behind. A bucket is split only when all lower buckets are empty, front to back, and everything in it with
// time T goes to one bucket: their order survives. So events of one instant never overtake each other.
//
// An event moves at most once a level (8 bytes: 8 levels), in practice two or three times: with 10,000 pending
// most buckets hold one event by the second level, and that one is taken out where it lies.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "linkcast/sim/units.hpp"

namespace linkcast::sim {

struct Event {
  Time time;
  std::uint64_t payload = 0;
};
static_assert(sizeof(Event) == 16);

class EventQueue {
 public:
  EventQueue() : buckets_(levels * digits) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// Requires `time` >= the time of the event taken out last, and >= 0.
  void push(Time time, std::uint64_t payload) {
    if (size_++ == 0) {
      next_ = time;
      next_known_ = true;
    } else if (next_known_ && time < next_) {
      next_ = time;
    }
    insert({time, payload});
  }

  /// The time of the next event; Time::max() when there is none. Does not commit to it: an earlier event may
  /// still be pushed, which matters to a clock that is driven by more than this queue.
  Time next_time() {
    if (size_ == 0) return Time::max();
    if (!next_known_) find_next();
    return next_;
  }

  /// Takes out the next event. Requires that there is one.
  Event pop() {
    const Time time = next_time();
    auto [level, index] = lowest();
    if (level != 0) {
      last_ = time;
      Bucket& from = buckets_[index];
      if (from.events.size() == 1) {
        const Event e = from.events.front();
        from.events.clear();
        clear_bit(level, index);
        taken_out(false);
        return e;
      }
      split(level, index);
      index = digit(time, 0);
    }
    last_ = time;
    Bucket& bucket = buckets_[index];
    const Event e = bucket.events[bucket.front++];
    const bool more = bucket.front < bucket.events.size();
    if (!more) {
      bucket.events.clear();
      bucket.front = 0;
      clear_bit(0, index);
    }
    taken_out(more);  // the rest of a bucket at level 0 has this very time
    return e;
  }

 private:
  static constexpr std::size_t levels = 8, digits = 256;
  struct Bucket {
    std::vector<Event> events;
    std::size_t front = 0;  // used at level 0 only
  };
  struct Place {
    std::size_t level, index;
  };

  static std::size_t digit(Time t, std::size_t level) {
    return (static_cast<std::uint64_t>(t.ps()) >> (8 * level)) & (digits - 1);
  }

  void insert(Event e) {
    const auto differs = static_cast<std::uint64_t>(e.time.ps()) ^ static_cast<std::uint64_t>(last_.ps());
    const std::size_t level = differs == 0 ? 0 : static_cast<std::size_t>(std::bit_width(differs) - 1) / 8;
    const std::size_t d = digit(e.time, level);
    buckets_[level * digits + d].events.push_back(e);
    bits_[level][d / 64] |= std::uint64_t{1} << (d % 64);
    used_levels_ |= 1U << level;
  }

  Place lowest() const {
    const auto level = static_cast<std::size_t>(std::countr_zero(used_levels_));
    for (std::size_t word = 0;; ++word) {
      if (const auto bits = bits_[level][word]; bits != 0)
        return {level, level * digits + word * 64 + static_cast<std::size_t>(std::countr_zero(bits))};
    }
  }

  void clear_bit(std::size_t level, std::size_t index) {
    const std::size_t d = index % digits;
    auto& words = bits_[level];
    words[d / 64] &= ~(std::uint64_t{1} << (d % 64));
    if ((words[0] | words[1] | words[2] | words[3]) == 0) used_levels_ &= ~(1U << level);
  }

  void find_next() {
    const auto [level, index] = lowest();
    const Bucket& bucket = buckets_[index];
    next_ = bucket.events[bucket.front].time;
    if (level != 0) {
      for (const Event& e : bucket.events) next_ = e.time < next_ ? e.time : next_;
    }
    next_known_ = true;
  }

  // Spreads a bucket over the levels below it, which are empty. `last_` is its earliest time by now.
  void split(std::size_t level, std::size_t index) {
    Bucket& from = buckets_[index];
    clear_bit(level, index);
    for (const Event& e : from.events) insert(e);
    from.events.clear();
  }

  void taken_out(bool next_is_same) {
    --size_;
    next_known_ = next_is_same;
  }

  std::vector<Bucket> buckets_;
  std::array<std::array<std::uint64_t, 4>, levels> bits_{};
  std::uint32_t used_levels_ = 0;
  std::size_t size_ = 0;
  Time last_, next_;
  bool next_known_ = false;
};

}  // namespace linkcast::sim
