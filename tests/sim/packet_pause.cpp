// Priority flow control: where a pause spreads to and where not, that nothing is lost, that it goes on, what it does to
// bystanders, and that the headroom of the closed form is enough.
#include <map>
#include <random>
#include <set>
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

constexpr auto gigabyte = std::int64_t{1'000'000'000};

/// Leaves with two hosts each and one spine; all under pause, with little memory, so that a slow host is felt far away.
struct SlowHost {
  Fabric fabric;
  std::vector<NodeId> hosts, leaves;
  NodeId spine = no_node;
  std::vector<LinkId> up, down, leaf_up, leaf_down;
  StationId pcie{};
};

SlowHost slow_host(int leaves, Rate rate) {
  SlowHost n;
  NodeKind host;
  host.name = "host";
  host.control = FlowControl::pause;
  host.shared = kib(64);
  host.headroom = kib(64);
  auto sw = pfc_switch();
  sw.shared = kib(256);
  sw.alpha = 0.125;
  sw.resume_offset = Bytes{0};
  const auto hosts = n.fabric.add_kind(host), switches = n.fabric.add_kind(sw);
  for (int h = 0; h < 2 * leaves; ++h) n.hosts.push_back(n.fabric.add_endpoint(hosts));
  for (int l = 0; l < leaves; ++l) n.leaves.push_back(n.fabric.add_switch(switches));
  n.spine = n.fabric.add_switch(switches);
  for (std::size_t h = 0; h < n.hosts.size(); ++h) {
    n.up.push_back(n.fabric.add_cable(n.hosts[h], n.leaves[h / 2], ethernet_400g()));
    n.down.push_back(n.fabric.reverse(n.up.back()));
  }
  for (const auto leaf : n.leaves) {
    n.leaf_up.push_back(n.fabric.add_cable(leaf, n.spine, ethernet_400g()));
    n.leaf_down.push_back(n.fabric.reverse(n.leaf_up.back()));
  }
  n.pcie = n.fabric.add_station(rate, "pcie");
  n.fabric.route_shortest();
  return n;
}

FlowSpec between(const SlowHost& n, std::size_t from, std::size_t to, bool slow = false) {
  FlowSpec f;
  f.from = n.hosts[from];
  f.to = n.hosts[to];
  if (slow) f.in = {{n.pcie, 1}};
  return f;
}

std::set<LinkId> paused_links(const Fabric& fabric, const Network& net) {
  std::set<LinkId> out;
  for (std::uint32_t l = 0; l < fabric.links(); ++l) {
    const auto s = net.link_stats(LinkId{l});
    CHECK((s.paused > Time{}) == (s.pauses > 0));
    if (s.paused > Time{}) out.insert(LinkId{l});
  }
  return out;
}

}  // namespace

TEST_CASE("pause: a slow host stops the links of the way to it, one after the other, and no other") {
  // Host 2 (leaf 1) to host 0 (leaf 0), which takes 10 GB/s of 50. What it cannot take fills its own 64 KiB, then the
  // leaf's, the spine's, the other leaf's; then the sender stands still: four links, one behind the other.
  const auto n = slow_host(3, Rate::bytes_per_second(10 * gigabyte));
  Network net{n.fabric, {transport()}, {}};
  const auto f = net.open(between(n, 2, 0, true));
  net.post(f, Time{}, mib(4));
  const std::set<LinkId> way{n.up[2], n.leaf_up[1], n.leaf_down[0], n.down[0]};

  SECTION("in the end all of them have stood, and nothing else has") {
    net.run_all();
    CHECK(paused_links(n.fabric, net) == way);
    CHECK(net.totals().drops == 0);
    CHECK(net.idle());
    // 4 MiB at 10 GB/s are 419.43 us; nothing of the station's time is lost.
    CHECK(net.flow_stats(f).last_done.us() == Approx(419.43 + 4 * 0.3).epsilon(0.002));
    // It sends 10 GB/s of payload and could send 49: it stands four fifths of the time.
    CHECK(net.link_stats(n.down[0]).paused.us() == Approx(419.43 * 0.8).epsilon(0.1));
    check_conservation(n.fabric, net);
  }
  SECTION("the pause walks backwards: the sender comes last") {
    std::map<LinkId, Time> first;
    for (std::int64_t us = 1; us < 200; ++us) {
      net.run_all(Time::microseconds(us));
      for (const auto l : paused_links(n.fabric, net)) first.try_emplace(l, Time::microseconds(us));
    }
    REQUIRE(first.size() == 4);
    CHECK(first[n.down[0]] <= first[n.leaf_down[0]]);
    CHECK(first[n.leaf_down[0]] <= first[n.leaf_up[1]]);
    CHECK(first[n.leaf_up[1]] <= first[n.up[2]]);
    CHECK(first[n.down[0]] < first[n.up[2]]);
  }
}

TEST_CASE("pause: bystanders behind a stopped link suffer, others do not") {
  const auto n = slow_host(3, Rate::bytes_per_second(10 * gigabyte));
  Network net{n.fabric, {transport()}, {}};
  // 4 MiB at the line rate would be done in 1,024 x 83.56 ns = 85.6 us.
  const auto slow = net.open(between(n, 2, 0, true));
  const auto victim = net.open(between(n, 3, 1));  // over the same two links between the switches, to a fast host
  const auto far = net.open(between(n, 4, 1));     // from a third leaf, over the same link down
  const auto apart = net.open(between(n, 5, 4));   // within leaf 2
  net.post(slow, Time{}, mib(4));
  net.post(victim, Time{}, mib(4));
  net.post(far, Time{}, mib(4));
  net.post(apart, Time{}, mib(4));
  net.run_all();
  // Victim and slow flow leave leaf 1 by turns: the victim is no faster than the flow that stands (10 GB/s), until the
  // slow one is done.
  CHECK(net.flow_stats(victim).last_done.us() > 2 * 85.6);
  CHECK(net.flow_stats(far).last_done.us() > 1.5 * 85.6);
  // Its link also carries acknowledgements of host 4's flow: 64 of 86 B at most.
  CHECK(net.flow_stats(apart).last_done >= 2 * cable + 1024 * packet_time);
  CHECK(net.flow_stats(apart).last_done <= 2 * cable + 1024 * packet_time + 65 * Time::picoseconds(86 * 20));
  const auto paused = paused_links(n.fabric, net);
  for (const auto l : {n.down[0], n.leaf_down[0], n.leaf_up[1], n.leaf_up[2], n.up[2], n.up[3], n.up[4]})
    CHECK(paused.count(l) == 1);
  for (const auto l : {n.up[0], n.up[1], n.up[5], n.down[1], n.down[2], n.down[3], n.down[4], n.down[5], n.leaf_up[0],
                       n.leaf_down[1], n.leaf_down[2]})
    CHECK(paused.count(l) == 0);
  CHECK(net.totals().drops == 0);
  check_conservation(n.fabric, net);
}

TEST_CASE("pause: a lane that is stopped does not stop the others") {
  // As above, but the second flow has a lane of its own and shares the links with one that stands: it gets all that
  // the first cannot use.
  VirtualLane control;
  control.strict = true;
  auto n = slow_host(2, Rate::bytes_per_second(10 * gigabyte));
  Fabric two{{control, {}, {}}};
  NodeKind host = n.fabric.kind(n.hosts[0]), sw = n.fabric.kind(n.spine);
  sw.alpha = 0.25;  // 64 KiB of 256: what a cable holds both ways (30 kB) and more, so that a resumed lane is not late
  const auto hk = two.add_kind(host), sk = two.add_kind(sw);
  std::vector<NodeId> hosts;
  for (int i = 0; i < 4; ++i) hosts.push_back(two.add_endpoint(hk));
  const NodeId leaf[2] = {two.add_switch(sk), two.add_switch(sk)};
  for (std::size_t h = 0; h < 4; ++h) two.add_cable(hosts[h], leaf[h / 2], ethernet_400g());
  const auto trunk = two.add_cable(leaf[0], leaf[1], ethernet_400g());
  const auto pcie = two.add_station(Rate::bytes_per_second(10 * gigabyte), "pcie");
  two.route_shortest();
  auto t1 = transport(), t2 = transport();
  t1.lane = 1;
  t2.lane = 2;
  Network net{two, {t1, t2}, {}};
  FlowSpec x, y;
  x.from = hosts[0], x.to = hosts[2], x.in = {{pcie, 1}};
  y.from = hosts[1], y.to = hosts[3], y.transport = 1;
  const auto slow = net.open(x), fast = net.open(y);
  net.post(slow, Time{}, mib(4));
  net.post(fast, Time{}, mib(4));
  net.run_all(Time::microseconds(100));
  CHECK(net.link_stats(trunk).paused == Time{});  // there always was something that could go
  net.run_all();
  CHECK(net.flow_stats(slow).last_done.us() == Approx(419.43 + 0.9).epsilon(0.002));
  // The trunk has 49.02 GB/s of payload. The slow one takes 10 of them and, before its lane stands, what fits in the
  // buffers on its way: at most 64 KiB and a headroom of 100 KiB in each of three nodes. T = (4 MiB + B) / 39.02 GB/s.
  CHECK(net.flow_stats(fast).last_done.us() > 4'194'304 / 39'020.);
  CHECK(net.flow_stats(fast).last_done.us() < (4'194'304 + 3 * 164 * 1024) / 39'020. + 1);
}

TEST_CASE("pause: the headroom of the closed form holds what still comes") {
  // The engine throws an InternalError where a packet of a lossless lane finds no room. Here every switch has exactly
  // what Fabric::check asks for, and so little memory besides that all senders are stopped all the time.
  std::mt19937 random{7};
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<>{from, to}(random); };
  for (int trial = 0; trial < 60; ++trial) {
    auto link = ethernet_400g();
    link.rate = Rate::bytes_per_second(std::int64_t{pick(1'000, 100'000)} * 1'000'000);
    link.delay = Time::picoseconds(pick(1'000, 2'000'000));
    link.header = Bytes{pick(20, 100)};
    auto t = transport();
    t.mtu = Bytes{pick(256, 9'000)};
    auto kind = pfc_switch();
    kind.cut_through = pick(0, 1) == 1;
    kind.alpha = 1.0 / pick(1, 16);
    kind.shared = t.mtu * pick(4, 64);
    kind.reserve = t.mtu * pick(0, 3);
    kind.resume_offset = t.mtu * pick(0, 3);
    kind.headroom = mib(64);
    kind.shared = std::max(kind.shared, link.header + t.mtu);
    const auto probe = leaf_spine(2, 4, 1, kind, link);
    kind.headroom = probe.fabric.headroom_needed(probe.up[0], t.mtu);
    if (kind.headroom > kind.shared) kind.shared = kind.headroom;
    const auto n = leaf_spine(2, 4, 1, kind, link);
    CAPTURE(trial, link.rate, link.delay, t.mtu, kind.headroom);
    Options o;
    o.seed = static_cast<std::uint64_t>(trial);
    Network net{n.fabric, {t}, o};
    std::uint64_t sum = 0, got = 0;
    std::vector<FlowId> flows;
    for (int h = 1; h < 8; ++h) flows.push_back(net.open(flow(n, h, pick(0, 1) == 1 ? 0 : h - 1)));
    for (const auto f : flows) {
      const auto bytes = t.mtu.count() * pick(40, 120) - pick(0, 255);
      sum += static_cast<std::uint64_t>(bytes);
      net.post(f, Time::picoseconds(pick(0, 100'000)), Bytes{bytes});
    }
    REQUIRE_NOTHROW(net.run_all());
    for (const auto f : flows) got += net.flow_stats(f).payload_bytes;
    CHECK(got == sum);
    CHECK(net.totals().drops == 0);
    check_conservation(n.fabric, net);
  }
}

TEST_CASE("pause: the headroom is enough to the byte in the worst case") {
  // The packet that crosses the threshold came in whole (store and forward). Until the pause works there is time for
  // what is on the cable both ways, the pause frame and what the sender had begun. Delays are swept over a packet's
  // time, so that the last packet begins in the very last moment in some.
  for (std::int64_t delay = 200'000; delay < 200'000 + 4'178 * 20; delay += 400) {
    auto link = ethernet_400g();
    link.delay = Time::picoseconds(delay);
    auto kind = pfc_switch();
    kind.cut_through = false;
    kind.shared = kib(64);
    kind.alpha = 0.25;
    kind.headroom = kib(64);
    const auto probe = leaf_spine(1, 3, 0, kind, link);
    kind.headroom = probe.fabric.headroom_needed(probe.up[0], Bytes{mtu});
    const auto n = leaf_spine(1, 3, 0, kind, link);
    CAPTURE(delay, kind.headroom);
    Network net{n.fabric, {transport()}, {}};
    const auto f = net.open(flow(n, 1, 0)), g = net.open(flow(n, 2, 0));
    net.post(f, Time{}, Bytes{40 * mtu});
    net.post(g, Time::picoseconds(10'000), Bytes{40 * mtu});
    REQUIRE_NOTHROW(net.run_all());
  }
}

TEST_CASE("pause: the shared pool is never overdrawn, whatever alpha") {
  // alpha 8 lets one input take 8/9 of the pool; its queue is then no longer than the pool and the headroom.
  auto kind = pfc_switch();
  kind.shared = Bytes{51'000};
  kind.alpha = 64;
  kind.resume_offset = Bytes{0};
  const auto probe = leaf_spine(1, 3, 0, kind);
  kind.headroom = probe.fabric.headroom_needed(probe.up[0], Bytes{mtu});
  const auto n = leaf_spine(1, 3, 0, kind);
  Network net{n.fabric, {transport()}, {}};
  const auto f = net.open(flow(n, 1, 0)), g = net.open(flow(n, 2, 0));
  net.post(f, Time{}, Bytes{200 * mtu});
  net.post(g, Time{}, Bytes{200 * mtu});
  net.run_all();
  CHECK(net.link_stats(n.down[0]).queue_peak <= kind.shared + 2 * kind.headroom);
  CHECK(net.link_stats(n.down[0]).paused == Time{});
  CHECK(net.flow_stats(f).payload_bytes == 200 * mtu);
}
