// Choices among equal ways: hashing is balls into bins, weights hold, spraying and adaptive routing are even, flowlets
// and static routing do what they say; seeds.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

NodeKind choosing(Choice choice) {
  auto k = pfc_switch();
  k.choice = choice;
  k.shared = mib(512);
  return k;
}

/// From the first leaf to each spine.
std::vector<LinkId> uplinks(const PacketNet& n, std::size_t leaf = 0) {
  std::vector<LinkId> out;
  for (const auto spine : n.spines) out.push_back(link_between(n.fabric, n.leaves[leaf], spine));
  return out;
}

Transport any_order() {
  auto t = transport();
  t.any_order = true;
  return t;
}

/// Flows of each uplink of the first leaf: every host of it sends one message to its partner on the second leaf.
std::vector<int> flows_on_uplinks(const PacketNet& n, int per_host, std::uint64_t seed) {
  Options o;
  o.seed = seed;
  Network net{n.fabric, {transport()}, o};
  const int hosts = static_cast<int>(n.hosts.size()) / 2;
  for (int h = 0; h < hosts; ++h)
    for (int i = 0; i < per_host; ++i)
      net.post(net.open(flow(n, h, hosts + h, static_cast<std::uint64_t>(h * per_host + i))), Time{}, Bytes{0});
  net.run_all();
  std::vector<int> out;
  for (const auto l : uplinks(n)) out.push_back(static_cast<int>(net.link_stats(l).packets));
  return out;
}

/// The probability that none of k bins gets more than m of n balls: n! / k^n times the coefficient of x^n in
/// (sum over j <= m of x^j / j!)^k.
double no_more_than(int m, int n, int k) {
  std::vector<double> all(static_cast<std::size_t>(n) + 1, 0.0), one(all);
  all[0] = 1;
  one[0] = 1;
  for (int j = 1; j <= n; ++j) one[static_cast<std::size_t>(j)] = j <= m ? one[static_cast<std::size_t>(j - 1)] / j : 0;
  for (int b = 0; b < k; ++b) {
    std::vector<double> next(all.size(), 0.0);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; i + j < all.size() && j <= static_cast<std::size_t>(m); ++j)
        next[i + j] += all[i] * one[j];
    all = std::move(next);
  }
  double p = all.back();
  for (int i = 1; i <= n; ++i) p *= static_cast<double>(i) / k;
  return p;
}

}  // namespace

TEST_CASE("routing: hashed flows fall into uplinks as balls into bins") {
  // 32 flows over 8 uplinks, 300 seeds. Pearson's sum over the bins has mean 7 and variance 14 (1 - 1/32); the largest
  // load and the number of empty links have the exact distributions of balls and bins.
  const int n = 32, k = 8, trials = 300;
  const auto net = leaf_spine(2, 8, k, choosing(Choice::hash));
  double chi = 0, largest = 0, largest_squared = 0, empty = 0;
  std::vector<int> sum(static_cast<std::size_t>(k), 0);
  for (int t = 0; t < trials; ++t) {
    const auto load = flows_on_uplinks(net, n / 8, static_cast<std::uint64_t>(t) + 1);
    REQUIRE(std::accumulate(load.begin(), load.end(), 0) == n);
    for (std::size_t b = 0; b < load.size(); ++b) {
      chi += std::pow(load[b] - n / 8.0, 2) / (n / 8.0);
      sum[b] += load[b];
      empty += load[b] == 0;
    }
    const double m = *std::max_element(load.begin(), load.end());
    largest += m;
    largest_squared += m * m;
  }
  CHECK(std::abs(chi / trials - 7) < 4 * std::sqrt(14.0 / trials));
  double mean = 0, square = 0;
  for (int m = 0; m < n; ++m) {
    const double more = 1 - no_more_than(m, n, k);
    mean += more;
    square += (2 * m + 1) * more;
  }
  const double deviation = std::sqrt(square - mean * mean);
  CAPTURE(mean, deviation, largest / trials);
  CHECK(mean > 7);  // not 4: the point of the exercise
  CHECK(std::abs(largest / trials - mean) < 4 * deviation / std::sqrt(trials));
  // Empty: 8 (7/8)^32 = 0.1115.
  CHECK(std::abs(empty / trials - 8 * std::pow(7.0 / 8, n)) < 4 * std::sqrt(0.11 / trials));
  // No link is liked better: 1,200 each, +- sqrt(9600 x 1/8 x 7/8) = 32.
  for (const int s : sum) CHECK(std::abs(s - n * trials / k) < 4 * 32.4);
}

TEST_CASE("routing: the two hops of a way are hashed apart") {
  // Three tiers would polarise if all switches hashed alike: here leaf 0's choice says nothing of leaf 1's for the same
  // flow number. 8 x 8 table of pairs from 640 seeds of one flow each way: each pair 10 in the mean; Pearson's sum over
  // 64 cells has mean 63 +- 11.2.
  const auto n = leaf_spine(2, 1, 8, choosing(Choice::hash));
  std::map<std::pair<std::size_t, std::size_t>, int> pairs;
  for (std::uint64_t seed = 1; seed <= 640; ++seed) {
    Options o;
    o.seed = seed;
    auto t = transport();
    t.acknowledged = false;
    Network net{n.fabric, {t}, o};
    net.post(net.open(flow(n, 0, 1, 5)), Time{}, Bytes{0});
    net.post(net.open(flow(n, 1, 0, 5)), Time{}, Bytes{0});
    net.run_all();
    const auto used = [&](std::size_t leaf) {
      const auto up = uplinks(n, leaf);
      return static_cast<std::size_t>(
          std::find_if(up.begin(), up.end(), [&](LinkId l) { return net.link_stats(l).packets == 1; }) - up.begin());
    };
    ++pairs[{used(0), used(1)}];
  }
  double chi = 0;
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t b = 0; b < 8; ++b) chi += std::pow(pairs[std::pair{a, b}] - 10, 2) / 10;
  CHECK(chi > 63 - 4 * 11.2);
  CHECK(chi < 63 + 4 * 11.2);
}

TEST_CASE(
    "routing: a permutation's throughput is what its collisions leave; spraying and adaptive routing remove them") {
  // 8 hosts to 8 hosts over 8 spines, 1 MiB each. Hashed, a link with c flows gives each 1/c of the line: the flow's
  // time is c x 256 packets. Spread, all have the line.
  const auto choice = GENERATE(Choice::hash, Choice::spray, Choice::adaptive);
  const auto n = leaf_spine(2, 8, 8, choosing(choice));
  int used = 0, trials = choice == Choice::hash ? 40 : 3;
  for (int trial = 0; trial < trials; ++trial) {
    Options o;
    o.seed = static_cast<std::uint64_t>(trial) + 1;
    Network net{n.fabric, {any_order()}, o};
    std::vector<FlowId> flows;
    for (int h = 0; h < 8; ++h) flows.push_back(net.open(flow(n, h, 15 - h, static_cast<std::uint64_t>(h))));
    for (const auto f : flows) net.post(f, Time{}, mib(1));
    net.run_all();
    std::vector<double> times;
    for (const auto f : flows) times.push_back(net.flow_stats(f).last_done.us() / (256 * packet_time.us()));
    std::sort(times.begin(), times.end());
    CAPTURE(static_cast<int>(choice), trial, times);
    if (choice == Choice::hash) {
      std::vector<double> expected;
      for (const auto l : uplinks(n)) {
        const auto c = net.link_stats(l).packets / 256;
        used += c > 0;
        for (std::uint64_t i = 0; i < c; ++i) expected.push_back(static_cast<double>(c));
      }
      REQUIRE(expected.size() == 8);
      std::sort(expected.begin(), expected.end());
      for (std::size_t i = 0; i < 8; ++i) CHECK(times[i] == Approx(expected[i]).epsilon(0.07));
    } else {
      // Queues where turns meet: a few packets of 256.
      CHECK(times.back() < 1.2);
      for (const auto l : uplinks(n)) CHECK(static_cast<double>(net.link_stats(l).packets) == Approx(256).margin(30));
    }
    check_conservation(n.fabric, net);
  }
  // Links that have a flow at all: 8 (1 - (7/8)^8) = 5.251 of 8 in the mean, deviation 0.88: throughput 66 %.
  if (choice == Choice::hash) CHECK(std::abs(used / 40.0 - 5.251) < 4 * 0.88 / std::sqrt(40));
}

TEST_CASE("routing: weights of ECMP hold") {
  // Spine 0 weighs three, spine 1 one: of 4,000 flows 3,000 +- 27 take the first.
  auto n = leaf_spine(2, 8, 2, choosing(Choice::hash));
  n.fabric.route_shortest([&](LinkId l) { return n.fabric.link(l).to == n.spines[0] ? 3U : 1U; });
  double first = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto load = flows_on_uplinks(n, 100, seed);
    first += load[0];
    all += load[0] + load[1];
  }
  CHECK(all == 4000);
  CHECK(std::abs(first - 3000) < 4 * std::sqrt(4000 * 0.75 * 0.25));
}

TEST_CASE("routing: static routing goes by the destination alone") {
  const auto n = leaf_spine(2, 8, 4, choosing(Choice::by_destination));
  Network net{n.fabric, {transport()}, {}};
  for (int h = 0; h < 8; ++h) net.post(net.open(flow(n, h, 8 + h)), Time{}, Bytes{0});
  net.run_all();
  // Endpoints 8 to 15 over 4 links: two each.
  for (const auto l : uplinks(n)) CHECK(net.link_stats(l).packets == 2);
  // All to one: the same link, whatever the hash.
  Network one{n.fabric, {transport()}, {}};
  for (int h = 0; h < 8; ++h) one.post(one.open(flow(n, h, 9, static_cast<std::uint64_t>(h))), Time{}, Bytes{0});
  one.run_all();
  int used = 0;
  for (const auto l : uplinks(n)) used += one.link_stats(l).packets == 8;
  CHECK(used == 1);
}

TEST_CASE("routing: a route that is set is the one that is taken") {
  auto n = leaf_spine(2, 2, 2, choosing(Choice::hash));
  const auto up = uplinks(n);
  n.fabric.set_route(n.leaves[0], n.leaves[1], std::vector<LinkId>{up[1]});
  Network net{n.fabric, {transport()}, {}};
  for (int i = 0; i < 16; ++i) net.post(net.open(flow(n, i % 2, 2, static_cast<std::uint64_t>(i))), Time{}, Bytes{0});
  net.run_all();
  CHECK(net.link_stats(up[0]).packets == 0);
  CHECK(net.link_stats(up[1]).packets == 16);
}

TEST_CASE("routing: adaptive avoids the slower of two ways") {
  // Spine 1 hangs on links of a quarter of the rate. Adaptive sends by queueing time: 4 to 1. (Spraying: half and half,
  // which the slow ones set the pace of.)
  for (const auto choice : {Choice::adaptive, Choice::spray}) {
    const auto kind = choosing(choice);
    Fabric f;
    NodeKind host;
    host.headroom = kib(100);
    host.control = FlowControl::pause;
    const auto hk = f.add_kind(host), sk = f.add_kind(kind);
    const auto a = f.add_endpoint(hk), b = f.add_endpoint(hk);
    const auto l0 = f.add_switch(sk), l1 = f.add_switch(sk), s0 = f.add_switch(sk), s1 = f.add_switch(sk);
    auto slow = ethernet_400g();
    slow.rate = Rate::bytes_per_second(12'500'000'000);
    auto fast = ethernet_400g();
    f.add_cable(a, l0, fast);
    f.add_cable(b, l1, fast);
    const auto up0 = f.add_cable(l0, s0, slow);
    f.add_cable(l1, s0, slow);
    auto slower = slow;
    slower.rate = Rate::bytes_per_second(3'125'000'000);
    const auto up1 = f.add_cable(l0, s1, slower);
    f.add_cable(l1, s1, slower);
    f.route_shortest();
    Network net{f, {any_order()}, {}};
    FlowSpec spec;
    spec.from = a;
    spec.to = b;
    const auto id = net.open(spec);
    net.post(id, Time{}, mib(8));
    net.run_all(Time::microseconds(50));
    const auto x = static_cast<double>(net.link_stats(up0).packets),
               y = static_cast<double>(net.link_stats(up1).packets);
    if (choice == Choice::adaptive) {
      CHECK(x / y == Approx(4).epsilon(0.1));
    } else {
      CHECK(x > y);  // both stand in queues; the fast one has sent more by now
    }
    net.run_all();
    CHECK(net.flow_stats(id).payload_bytes == 8U << 20);
    const auto all0 = net.link_stats(up0).packets, all1 = net.link_stats(up1).packets;
    CHECK(all0 + all1 == 2048);
    if (choice == Choice::spray) CHECK(all0 == all1);
    if (choice == Choice::adaptive) CHECK(static_cast<double>(all0) / static_cast<double>(all1) > 3);
  }
}

TEST_CASE("routing: a deep queue does not overflow what adaptive routing compares") {
  // 10 Gb/s: 800 ps a byte. A queue of 8 MiB is 6.7 ms, more than 2^32 ps; the other link is empty.
  auto kind = choosing(Choice::adaptive);
  Fabric f;
  NodeKind host;
  host.headroom = mib(1);
  host.control = FlowControl::pause;
  kind.headroom = mib(1);
  const auto hk = f.add_kind(host), sk = f.add_kind(kind);
  const auto a = f.add_endpoint(hk), b = f.add_endpoint(hk);
  const auto l0 = f.add_switch(sk), l1 = f.add_switch(sk), s0 = f.add_switch(sk), s1 = f.add_switch(sk);
  auto slow = ethernet_400g();
  slow.rate = Rate::bytes_per_second(1'250'000'000);
  f.add_cable(a, l0, ethernet_400g());
  f.add_cable(b, l1, ethernet_400g());
  const auto up0 = f.add_cable(l0, s0, slow), d0 = f.add_cable(s0, l1, slow);
  const auto up1 = f.add_cable(l0, s1, slow), d1 = f.add_cable(s1, l1, slow);
  f.route_shortest();
  Network net{f, {any_order()}, {}};
  FlowSpec given, free;
  given.from = free.from = a;
  given.to = free.to = b;
  const auto out = f.out_links(a).front(), in = f.out_links(l1).front();
  given.way = {out, up0, d0, in};
  given.way_back = {f.reverse(in), f.reverse(d1), f.reverse(up1), f.reverse(out)};
  const auto block = net.open(given), id = net.open(free);
  net.post(block, Time{}, mib(8));
  net.post(id, Time::microseconds(200), Bytes{100 * mtu});
  net.run_all(Time::microseconds(1000));
  // Payload of the free flow on the empty link: 334 ns a packet at 10 Gb/s x 10 = 3.34 us; it fills until both are
  // even, which 100 packets do not do.
  CHECK(net.link_stats(up1).queue_peak > Bytes{90 * 4'178});
  net.run_all();
  CHECK(net.link_stats(up1).packets >= 100);
  CHECK(net.idle());
}

TEST_CASE("routing: a flowlet moves after its gap and stays within") {
  // One flow, messages 10 us apart. Gap 5 us: each message may take another way; gap 50 us: all take the first.
  const bool moves = GENERATE(true, false);
  auto kind = choosing(Choice::flowlet);
  kind.flowlet_gap = Time::microseconds(moves ? 5 : 50);
  const auto n = leaf_spine(2, 1, 4, kind);
  auto t = transport(Recovery::selective);
  Network net{n.fabric, {t}, {}};
  const auto f = net.open(flow(n, 0, 1));
  for (int i = 0; i < 40; ++i) net.post(f, Time::microseconds(10 * i), Bytes{4 * mtu});
  net.run_all();
  std::size_t used = 0;
  for (const auto l : uplinks(n)) {
    const auto packets = net.link_stats(l).packets;
    used += packets > 0;
    CHECK(packets % 4 == 0);  // a message is a flowlet: it stays together
  }
  CHECK(used == (moves ? 4 : 1));
  CHECK(net.flow_stats(f).payload_bytes == 160 * mtu);
  CHECK(net.flow_stats(f).retransmits == 0);
}

TEST_CASE("routing: a sender's own paths spread a flow over hashing switches") {
  // 64 entropies in turn over 8 links: about an eighth of 2,048 packets each; one entropy: one link.
  const bool spread = GENERATE(true, false);
  const auto n = leaf_spine(2, 1, 8, choosing(Choice::hash));
  auto t = any_order();
  t.paths = spread ? 64 : 0;
  Network net{n.fabric, {t}, {}};
  const auto f = net.open(flow(n, 0, 1));
  net.post(f, Time{}, mib(8));
  net.run_all();
  std::size_t used = 0;
  for (const auto l : uplinks(n)) used += net.link_stats(l).packets > 0;
  CHECK(used == (spread ? 8 : 1));
  CHECK(net.flow_stats(f).payload_bytes == 8U << 20);
}

TEST_CASE("routing: equal seeds are the same to the last bit, others are not") {
  const auto run = [](std::uint64_t seed) {
    auto kind = choosing(Choice::hash);
    kind.marking = {true, kib(20), kib(80), 0.2};
    const auto n = leaf_spine(2, 4, 4, kind);
    Options o;
    o.seed = seed;
    Network net{n.fabric, {transport()}, o};
    std::vector<FlowId> flows;
    for (int h = 0; h < 4; ++h) flows.push_back(net.open(flow(n, h, 4 + (h + 1) % 4, static_cast<std::uint64_t>(h))));
    for (const auto f : flows) net.post(f, Time{}, mib(1));
    net.run_all();
    std::vector<std::int64_t> out;
    for (const auto f : flows) {
      out.push_back(net.flow_stats(f).last_done.ps());
      out.push_back(static_cast<std::int64_t>(net.flow_stats(f).marked));
    }
    for (std::uint32_t l = 0; l < n.fabric.links(); ++l)
      out.push_back(static_cast<std::int64_t>(net.link_stats(LinkId{l}).wire_bytes));
    out.push_back(static_cast<std::int64_t>(net.totals().events));
    return out;
  };
  CHECK(run(1) == run(1));
  CHECK(run(2) == run(2));
  CHECK(run(1) != run(2));
}
