// The fluid network against hand-derived shares and against an independent brute-force solver.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/fluid.hpp"
#include "print.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;

namespace {

ResourceTable table(std::vector<Rate> capacities) {
  ResourceTable t;
  for (std::size_t i = 0; i < capacities.size(); ++i) t.add({fmt::format("r{}", i), capacities[i], capacities[i]});
  return t;
}

ResourceId r(std::uint32_t i) { return ResourceId{i}; }

struct TestFlow {
  std::vector<Usage> usages;
  double cap;
  double multiplicity;
};

// Max-min by raising all rates together in small exact steps of the definition: find how far all unfrozen rates can
// rise in common, freeze whoever hits something. Doubles, no components, no reuse: nothing shared with the network.
std::vector<double> brute_force(const std::vector<double>& capacity, const std::vector<TestFlow>& flows) {
  std::vector<double> rate(flows.size(), 0.0);
  std::vector<bool> frozen(flows.size(), false);
  for (;;) {
    double rise = 1e30;
    std::vector<double> slack = capacity, slope(capacity.size(), 0.0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const auto& u : flows[f].usages) {
        const auto k = static_cast<std::size_t>(u.resource);
        slack[k] -= u.weight * flows[f].multiplicity * rate[f];
        if (!frozen[f]) slope[k] += u.weight * flows[f].multiplicity;
      }
      if (!frozen[f]) rise = std::min(rise, flows[f].cap - rate[f]);
    }
    for (std::size_t k = 0; k < capacity.size(); ++k) {
      if (slope[k] > 0) rise = std::min(rise, slack[k] / slope[k]);
    }
    bool any = false;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (frozen[f]) continue;
      any = true;
      rate[f] += rise;
    }
    if (!any) return rate;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      bool stop = rate[f] >= flows[f].cap * (1 - 1e-12);
      for (const auto& u : flows[f].usages) {
        const auto k = static_cast<std::size_t>(u.resource);
        stop = stop || slack[k] - slope[k] * rise <= capacity[k] * 1e-12;
      }
      if (stop) frozen[f] = true;
    }
  }
}

struct Random {
  std::mt19937_64 bits;
  explicit Random(std::uint64_t seed) : bits{seed} {}
  // Not std::uniform_int_distribution: its results differ between libraries.
  std::uint64_t below(std::uint64_t n) { return bits() % n; }
};

struct Case {
  std::vector<Rate> capacity;
  std::vector<TestFlow> flows;
};

Case random_case(std::uint64_t seed) {
  Random random{seed};
  Case c;
  const auto resources = 1 + random.below(8);
  for (std::uint64_t i = 0; i < resources; ++i) {
    c.capacity.push_back(Rate::bytes_per_second(static_cast<std::int64_t>(1 + random.below(100)) * 1'000'000'000));
  }
  const auto flows = 1 + random.below(12);
  for (std::uint64_t f = 0; f < flows; ++f) {
    TestFlow flow{{}, static_cast<double>(1 + random.below(60)) * 1e9, static_cast<double>(1 + random.below(3))};
    for (std::uint32_t k = 0; k < resources; ++k) {
      if (random.below(3) == 0) flow.usages.push_back({r(k), static_cast<double>(1 + random.below(8)) / 4.0});
    }
    c.flows.push_back(flow);
  }
  return c;
}

std::vector<FlowId> start_all(FluidNetwork& net, const Case& c, Bytes bytes = 1_GiB) {
  std::vector<FlowId> ids;
  for (const auto& f : c.flows)
    ids.push_back(net.start(Time{}, f.usages, bytes, Rate::from_GBps(f.cap * 1e-9), f.multiplicity));
  return ids;
}

}  // namespace

TEST_CASE("one flow alone takes transfer_time at the least of its cap and its links", "[sim][fluid]") {
  const auto t = table({25_GBps, 100_GBps});
  FluidNetwork net{t};
  // 1 MB at 25 GB/s: 1e6 / 25e9 s = 40 us.
  const std::vector<Usage> both{{r(0), 1.0}, {r(1), 1.0}};
  const auto a = net.start(Time{}, both, 1'000'000_B, 40_GBps);
  CHECK(net.rate(a) == 25_GBps);
  CHECK(net.next_completion() == 40_us);
  std::vector<FlowId> ended;
  net.complete(40_us, ended);
  CHECK(ended == std::vector{a});
  CHECK(net.active() == 0);
  CHECK(net.carried(40_us) == std::vector{1e6, 1e6});
}

TEST_CASE("a slow flow leaves its share to the others", "[sim][fluid]") {
  // Bertsekas & Gallager's example: capacity 30, three flows, one of them held to 6 elsewhere: the others get 12.
  const auto t = table({30_GBps, 6_GBps});
  FluidNetwork net{t};
  const std::vector<Usage> wide{{r(0), 1.0}}, narrow{{r(0), 1.0}, {r(1), 1.0}};
  const auto a = net.start(Time{}, wide, 1_GiB, Rate::unlimited());
  const auto b = net.start(Time{}, wide, 1_GiB, Rate::unlimited());
  const auto c = net.start(Time{}, narrow, 1_GiB, Rate::unlimited());
  CHECK(net.rate(a) == 12_GBps);
  CHECK(net.rate(b) == 12_GBps);
  CHECK(net.rate(c) == 6_GBps);
}

TEST_CASE("rates are integrated over their changes", "[sim][fluid]") {
  const auto t = table({10_GBps});
  FluidNetwork net{t};
  const std::vector<Usage> one{{r(0), 1.0}};
  const auto a = net.start(Time{}, one, 100'000_B, Rate::unlimited());
  // Alone for 4 us at 10 GB/s: 40,000 B. Then 5 GB/s each: b's 10,000 B take 2 us; a has 50,000 B left at 6 us,
  // which take 5 us more.
  const auto b = net.start(4_us, one, 10'000_B, Rate::unlimited());
  CHECK(net.next_completion() == 6_us);
  std::vector<FlowId> ended;
  net.complete(6_us, ended);
  CHECK(ended == std::vector{b});
  CHECK(net.next_completion() == 11_us);
  CHECK(net.carried(6_us)[0] == 60'000.0);
  net.stop(8_us, a);
  CHECK(net.next_completion() == Time::max());
  CHECK(net.carried(9_us)[0] == 80'000.0);
}

TEST_CASE("fractions of links and thirds of a rate end on the exact tick", "[sim][fluid]") {
  const auto t = table({25_GBps});
  FluidNetwork sixth{t};
  const std::vector<Usage> part{{r(0), 1.0 / 6}};
  // 6 x 25 GB/s = 150 GB/s: 150 MB in exactly 1 ms.
  sixth.start(Time{}, part, 150'000'000_B, Rate::unlimited());
  CHECK(sixth.next_completion() == 1000_us);

  FluidNetwork third{t};
  const std::vector<Usage> whole{{r(0), 1.0}};
  // Three share 25 GB/s: 25 MB each take exactly 3 ms, though 25/3 is no finite fraction.
  for (int i = 0; i < 3; ++i) third.start(Time{}, whole, 25'000'000_B, Rate::unlimited());
  CHECK(third.next_completion() == 3000_us);
  std::vector<FlowId> ended;
  third.complete(3000_us, ended);
  CHECK(ended.size() == 3);
}

TEST_CASE("a flow that nothing bounds ends at once", "[sim][fluid]") {
  const auto t = table({1_GBps});
  FluidNetwork net{t};
  net.start(5_us, std::span<const Usage>{}, 1_GiB, Rate::unlimited());
  CHECK(net.next_completion() == 5_us);
}

TEST_CASE("the allocation is the brute-force solver's", "[sim][fluid][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 400)));
  CAPTURE(seed);
  const auto c = random_case(seed);
  const auto t = table(c.capacity);
  FluidNetwork net{t};
  const auto ids = start_all(net, c);
  std::vector<double> capacity;
  for (const auto rate : c.capacity) capacity.push_back(static_cast<double>(rate.bytes_per_second()));
  const auto expected = brute_force(capacity, c.flows);
  std::vector<double> used(capacity.size(), 0.0);
  for (std::size_t f = 0; f < ids.size(); ++f) {
    const auto rate = static_cast<double>(net.rate(ids[f]).bytes_per_second());
    CHECK(rate == Approx(expected[f]).epsilon(1e-8));
    for (const auto& u : c.flows[f].usages)
      used[static_cast<std::size_t>(u.resource)] += u.weight * c.flows[f].multiplicity * rate;
  }
  // Rates are reported in whole bytes per second: half a byte of rounding for each unit of weight.
  for (std::size_t k = 0; k < capacity.size(); ++k) CHECK(used[k] <= capacity[k] + 100);
  // Max-min: whoever is below its cap has a full resource on which nobody is faster.
  for (std::size_t f = 0; f < ids.size(); ++f) {
    const auto rate = static_cast<double>(net.rate(ids[f]).bytes_per_second());
    if (rate >= c.flows[f].cap - 1) continue;
    bool bound = false;
    for (const auto& u : c.flows[f].usages) {
      const auto k = static_cast<std::size_t>(u.resource);
      if (used[k] < capacity[k] - 100) continue;
      bool fastest = true;
      for (std::size_t g = 0; g < ids.size(); ++g) {
        for (const auto& v : c.flows[g].usages) {
          if (v.resource == u.resource)
            fastest = fastest && static_cast<double>(net.rate(ids[g]).bytes_per_second()) <= rate + 2;
        }
      }
      bound = bound || fastest;
    }
    CHECK(bound);
  }
}

TEST_CASE("solving a component again gives what solving everything at once gives", "[sim][fluid][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1000, 1200)));
  CAPTURE(seed);
  const auto c = random_case(seed);
  const auto t = table(c.capacity);
  FluidNetwork whole{t}, piecewise{t};
  // One network gets only the flows with even numbers; the other all of them, in pieces and in reverse, and then
  // loses the odd ones. Picosecond apart, so that every step is solved.
  std::vector<FlowId> expected, ids(c.flows.size());
  std::int64_t clock = 0;
  for (std::size_t f = 0; f < c.flows.size(); f += 2) {
    expected.push_back(
        whole.start(Time{}, c.flows[f].usages, 1_GiB, Rate::from_GBps(c.flows[f].cap * 1e-9), c.flows[f].multiplicity));
  }
  for (std::size_t f = c.flows.size(); f-- > 0;) {
    ids[f] = piecewise.start(Time::picoseconds(++clock), c.flows[f].usages, 1_GiB,
                             Rate::from_GBps(c.flows[f].cap * 1e-9), c.flows[f].multiplicity);
  }
  for (std::size_t f = 1; f < c.flows.size(); f += 2) piecewise.stop(Time::picoseconds(++clock), ids[f]);
  for (std::size_t f = 0; f < c.flows.size(); f += 2) {
    CHECK(piecewise.rate(ids[f]) == whole.rate(expected[f / 2]));
  }
}

TEST_CASE("bytes are conserved on every resource", "[sim][fluid][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(2000, 2200)));
  CAPTURE(seed);
  const auto c = random_case(seed);
  const auto t = table(c.capacity);
  FluidNetwork net{t};
  Random random{seed};
  std::vector<double> expected(c.capacity.size(), 0.0);
  for (const auto& f : c.flows) {
    const Bytes bytes{static_cast<std::int64_t>(1 + random.below(1 << 24))};
    net.start(Time{}, f.usages, bytes, Rate::from_GBps(f.cap * 1e-9), f.multiplicity);
    for (const auto& u : f.usages) {
      expected[static_cast<std::size_t>(u.resource)] += u.weight * f.multiplicity * static_cast<double>(bytes.count());
    }
  }
  std::vector<FlowId> ended;
  std::size_t total = 0;
  Time now;
  while (net.next_completion() != Time::max()) {
    now = net.next_completion();
    net.complete(now, ended);
    total += ended.size();
    // Before the end no resource has carried more than it can have.
    const auto carried = net.carried(now);
    for (std::size_t k = 0; k < carried.size(); ++k) {
      CHECK(carried[k] <= static_cast<double>(c.capacity[k].bytes_per_second()) * now.seconds() * (1 + 1e-9) + 1);
    }
  }
  CHECK(total == c.flows.size());
  CHECK(net.carried(now) == expected);  // weights are quarters: exact in the network and in doubles
}

TEST_CASE("twice the capacity everywhere never makes the last flow end later", "[sim][fluid][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(3000, 3100)));
  CAPTURE(seed);
  const auto c = random_case(seed);
  auto faster = c;
  for (auto& rate : faster.capacity) rate = rate * 2.0;
  const auto makespan = [](const Case& k) {
    const auto t = table(k.capacity);
    FluidNetwork net{t};
    start_all(net, k);
    std::vector<FlowId> ended;
    Time now;
    while (net.next_completion() != Time::max()) net.complete(now = net.next_completion(), ended);
    return now;
  };
  CHECK(makespan(faster) <= makespan(c));
}

TEST_CASE("a flow of multiplicity m is m flows", "[sim][fluid]") {
  const auto t = table({10_GBps, 7_GBps});
  FluidNetwork folded{t}, whole{t};
  const std::vector<Usage> both{{r(0), 1.0 / 3}, {r(1), 1.0}};
  const auto one = folded.start(Time{}, both, 1_MiB, Rate::unlimited(), 5);
  FlowId any{};
  for (int i = 0; i < 5; ++i) any = whole.start(Time{}, both, 1_MiB, Rate::unlimited());
  CHECK(folded.rate(one) == whole.rate(any));
  CHECK(folded.next_completion() == whole.next_completion());
}

TEST_CASE("what makes no sense is refused", "[sim][fluid]") {
  ResourceTable t;
  CHECK_THROWS_AS(t.add({"dead", Rate{}, Rate{}}), InternalError);
  CHECK_THROWS_AS(t.add({"better than bare", 2_GBps, 1_GBps}), InternalError);
  t.add({"link", 1_GBps, 1_GBps});
  FluidNetwork net{t};
  const std::vector<Usage> good{{r(0), 1.0}}, negative{{r(0), -1.0}};
  CHECK_THROWS_AS(net.start(Time{}, good, 0_B, 1_GBps), InternalError);
  CHECK_THROWS_AS(net.start(Time{}, good, 1_B, Rate{}), InternalError);
  CHECK_THROWS_AS(net.start(Time{}, negative, 1_B, 1_GBps), InternalError);
}
