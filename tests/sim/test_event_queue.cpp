// The event queue against a stable sort, and serialisation that carries its remainder.
#include <algorithm>
#include <random>
#include <vector>

#include "catch.hpp"
#include "linkcast/sim/event_queue.hpp"
#include "linkcast/sim/serializer.hpp"
#include "print.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;

TEST_CASE("events of one instant come out in the order in which they went in", "[sim][queue]") {
  EventQueue q;
  for (std::uint64_t i = 0; i < 1000; ++i) q.push(Time::picoseconds(static_cast<std::int64_t>(1'000'000 + i % 3)), i);
  for (std::int64_t t = 0; t < 3; ++t) {
    for (auto i = static_cast<std::uint64_t>(t); i < 1000; i += 3) {
      const auto e = q.pop();
      REQUIRE(e.time == Time::picoseconds(1'000'000 + t));
      REQUIRE(e.payload == i);
    }
  }
  CHECK(q.empty());
  CHECK(q.next_time() == Time::max());
}

TEST_CASE("looking at the next time commits to nothing", "[sim][queue]") {
  EventQueue q;
  q.push(100_ps, 1);
  CHECK(q.next_time() == 100_ps);
  q.push(60_ps, 2);
  CHECK(q.next_time() == 60_ps);
  CHECK(q.pop().payload == 2);
  q.push(100_ps, 3);
  CHECK(q.pop().payload == 1);
  CHECK(q.pop().payload == 3);
}

TEST_CASE("any mixture of pushes and pops equals a stable sort", "[sim][queue][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 60)));
  CAPTURE(seed);
  std::mt19937_64 bits{seed};
  // Steps from a picosecond to a day, with many ties.
  const std::int64_t spread[] = {1, 3, 300, 70'000, 1'000'000'000, 86'400'000'000'000'000};
  EventQueue q;
  struct Reference {
    Time time;
    std::uint64_t order;
  };
  std::vector<Reference> pending;
  Time now;
  std::uint64_t order = 0;
  for (int step = 0; step < 3000; ++step) {
    if (pending.empty() || bits() % 5 < (step < 1500 ? 3U : 2U)) {
      const Time t = now + Time::picoseconds(static_cast<std::int64_t>(
                               bits() % static_cast<std::uint64_t>(spread[bits() % (seed % 2 ? 6 : 4)])));
      q.push(t, order);
      pending.push_back({t, order++});
    } else {
      const auto first = std::ranges::min_element(pending, [](const Reference& a, const Reference& b) {
        return a.time < b.time || (a.time == b.time && a.order < b.order);
      });
      if (bits() % 2 == 0) REQUIRE(q.next_time() == first->time);
      const auto e = q.pop();
      REQUIRE(e.time == first->time);
      REQUIRE(e.payload == first->order);
      now = e.time;
      pending.erase(first);
    }
    REQUIRE(q.size() == pending.size());
  }
}

TEST_CASE("1 GiB in flits ends with 1 GiB sent whole", "[sim][serializer]") {
  // 4,294,967,296/4 flits of 16 B would each be rounded up by as much as a picosecond: up to 67 us in all. With the
  // remainder carried it is none, at rates that do and do not divide a picosecond.
  for (const Rate rate : {25_GBps, Rate::bytes_per_second(26'562'500'001), Rate::bytes_per_second(47'999'999'999)}) {
    Serializer flits{rate};
    Time sum;
    for (int i = 0; i < (1 << 26); ++i) sum += flits.send(16_B);
    CHECK(sum == transfer_time(1_GiB, rate));
  }
}

TEST_CASE("a serializer is never ahead of its rate", "[sim][serializer][property]") {
  std::mt19937_64 bits{11};
  const Rate rate = Rate::bytes_per_second(12'345'678'901);
  Serializer s{rate};
  Time sum;
  Bytes sent;
  for (int i = 0; i < 10'000; ++i) {
    const Bytes n{static_cast<std::int64_t>(bits() % 5000)};
    sum += s.send(n);
    sent += n;
    REQUIRE(sum == transfer_time(sent, rate));
  }
  s.idle();
  CHECK(s.send(1_B) == transfer_time(1_B, rate));
}
