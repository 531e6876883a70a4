// Credits: the throughput that a buffer smaller than the bandwidth-delay product predicts, full rate beyond, and that
// credits of outputs of different speed come back right.
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

// A packet of 4,178 B takes 66 credits of 64 B.
constexpr std::int64_t in_credits = 4'224;

}  // namespace

TEST_CASE("credits: throughput is buffer by loop time below the bandwidth-delay product, and the line's above") {
  // A credit comes back one cable after the packet has left the buffer. At a switch that cuts through to an idle link
  // it is gone one cable and its own time after it began: loop = 300 + 83.56 + 300 = 683.56 ns, 8.18 packets.
  // k < 9 packets of buffer: k packets every loop, one behind the other; from 9 on the line.
  const int k = GENERATE(1, 2, 3, 5, 8, 9, 12, 40);
  const std::int64_t packets = 1200;  // a multiple of all but 9: see below
  const Time loop = 2 * cable + packet_time;
  const auto n = leaf_spine(1, 2, 0, credit_switch(Bytes{k * in_credits}));
  Network net{n.fabric, {transport()}, {}};
  const auto f = net.open(flow(n, 0, 1));
  net.post(f, Time{}, Bytes{packets * mtu});
  net.run_all();
  const Time start_of_last = k * packet_time >= loop ? (packets - 1) * packet_time
                                                     : (packets - 1) / k * loop + (packets - 1) % k * packet_time;
  CAPTURE(k);
  CHECK(net.flow_stats(f).last_done == start_of_last + 2 * cable + packet_time);
  const auto up = net.link_stats(n.up[0]);
  CHECK((up.paused > Time{}) == (k < 9));
  if (k < 9) {
    // Stalled: of every loop what k packets leave.
    CHECK(up.paused == ((packets - 1) / k) * (loop - k * packet_time));
    CHECK(up.pauses == static_cast<std::uint64_t>((packets - 1) / k));
  }
  check_conservation(n.fabric, net);
}

TEST_CASE("credits: store and forward makes the loop longer by a packet") {
  // In: 83.56 and a cable; then out for another 83.56, then a cable: 767.12 ns, 9.18 packets.
  const int k = GENERATE(1, 4, 9, 10);
  auto kind = credit_switch(Bytes{k * in_credits});
  kind.cut_through = false;
  const Time loop = 2 * cable + 2 * packet_time;
  const auto n = leaf_spine(1, 2, 0, kind);
  Network net{n.fabric, {transport()}, {}};
  const auto f = net.open(flow(n, 0, 1));
  net.post(f, Time{}, Bytes{1200 * mtu});
  net.run_all();
  const Time start_of_last = k == 10 ? 1199 * packet_time : 1199 / k * loop + 1199 % k * packet_time;
  CHECK(net.flow_stats(f).last_done == start_of_last + 2 * cable + 2 * packet_time);
}

TEST_CASE("credits: the slowest link of a way sets the pace, and nothing is lost however small the buffers") {
  // Way of four links, the third is 20 km long: 2 x 100 us + 83.56 ns for a loop of 16 packets.
  auto kind = credit_switch(Bytes{16 * in_credits});
  Fabric fabric;
  NodeKind host = kind;
  const auto hosts = fabric.add_kind(host), switches = fabric.add_kind(kind);
  const auto a = fabric.add_endpoint(hosts), b = fabric.add_endpoint(hosts);
  const auto s = fabric.add_switch(switches), t = fabric.add_switch(switches);
  auto length = ethernet_400g();
  length.delay = Time::microseconds(100);
  fabric.add_cable(a, s, ethernet_400g());
  fabric.add_cable(s, t, length);
  fabric.add_cable(t, b, ethernet_400g());
  fabric.route_shortest();
  Network net{fabric, {transport()}, {}};
  FlowSpec spec;
  spec.from = a;
  spec.to = b;
  const auto f = net.open(spec);
  net.post(f, Time{}, Bytes{160 * mtu});
  net.run_all();
  // 10 loops' worth of packets: the last 16 begin after 9 loops on the long cable.
  const Time loop = Time::microseconds(200) + packet_time;
  CHECK(net.flow_stats(f).last_done ==
        cable + 9 * loop + 15 * packet_time + Time::microseconds(100) + cable + packet_time);
  check_conservation(fabric, net);
}

TEST_CASE("credits: incast under credits runs at the line rate and stops the senders, not more") {
  const auto n = leaf_spine(2, 4, 2, credit_switch(Bytes{16 * in_credits}));
  Network net{n.fabric, {transport()}, {}};
  std::vector<FlowId> flows;
  for (const int h : {1, 2, 3}) flows.push_back(net.open(flow(n, h, 0)));
  for (const auto f : flows) net.post(f, Time{}, mib(1));
  const auto apart = net.open(flow(n, 5, 4));
  net.post(apart, Time{}, mib(1));
  net.run_all();
  Time last;
  for (const auto f : flows) last = std::max(last, net.flow_stats(f).last_done);
  CHECK(last == 2 * cable + 3 * 256 * packet_time);
  CHECK(net.flow_stats(apart).last_done == 2 * cable + 256 * packet_time);
  for (const int h : {1, 2, 3}) CHECK(net.link_stats(n.up[static_cast<std::size_t>(h)]).paused > Time{});
  for (const int h : {0, 4, 5, 6, 7}) CHECK(net.link_stats(n.up[static_cast<std::size_t>(h)]).paused == Time{});
  check_conservation(n.fabric, net);
}

TEST_CASE("credits: outputs of different speed give them back in any order") {
  // One input, a slow output (0.5 GB/s, 2 ns a byte) and a fast one. A message of 1 B (83 B, two credits) to the slow
  // host, a full one to the fast, another full one. The fast one's credit comes back first, though it was spent last:
  // the third packet goes then, and does not wait for the slow one's.
  Fabric fabric;
  const auto hosts = fabric.add_kind(credit_switch(mib(1))), switches = fabric.add_kind(credit_switch(Bytes{4'352}));
  const auto a = fabric.add_endpoint(hosts), slow = fabric.add_endpoint(hosts), fast = fabric.add_endpoint(hosts);
  const auto s = fabric.add_switch(switches);
  auto thin = ethernet_400g();
  thin.rate = Rate::bytes_per_second(500'000'000);
  fabric.add_cable(a, s, ethernet_400g());
  fabric.add_cable(s, slow, thin);
  fabric.add_cable(s, fast, ethernet_400g());
  fabric.route_shortest();
  Network net{fabric, {transport()}, {}};
  FlowSpec x, y;
  x.from = y.from = a;
  x.to = slow;
  y.to = fast;
  const auto f = net.open(x), g = net.open(y);
  net.post(f, Time{}, Bytes{1});
  net.post(g, Time{}, Bytes{2 * mtu});
  const auto h = net.open(y);
  net.post(h, Time::nanoseconds(400), Bytes{1});  // the link looks what is on its way when both credits are
  net.run_all();
  // 83 B in 1.66 ns on the way in; it leaves the switch 300 ns + 166 ns after it began, its credit is back 300 ns
  // later: at 766 ns. The full packet's is back at 1.66 + 683.56 ns, and is all that the next full one needs.
  CHECK(net.flow_stats(f).last_done == 2 * cable + Time::picoseconds(83 * 2'000));
  CHECK(net.flow_stats(g).last_done == Time::picoseconds(685'220) + 2 * cable + packet_time);
  CHECK(net.idle());
}

TEST_CASE("credits: of two lanes one does not take the other's") {
  // A slow receiver (10 GB/s) in lane 1; lane 2 shares the first link and has buffers of its own.
  std::vector<VirtualLane> lanes(3);
  Fabric fabric{lanes};
  NodeKind host = credit_switch(Bytes{16 * in_credits});
  const auto hosts = fabric.add_kind(host), switches = fabric.add_kind(credit_switch(Bytes{16 * in_credits}));
  const auto a = fabric.add_endpoint(hosts), b = fabric.add_endpoint(hosts), c = fabric.add_endpoint(hosts);
  const auto s = fabric.add_switch(switches);
  fabric.add_cable(a, s, ethernet_400g());
  fabric.add_cable(s, b, ethernet_400g());
  fabric.add_cable(s, c, ethernet_400g());
  const auto pcie = fabric.add_station(Rate::bytes_per_second(10'000'000'000), "pcie");
  fabric.route_shortest();
  const bool apart = GENERATE(true, false);
  auto one = transport(), two = transport();
  one.lane = 1;
  two.lane = apart ? 2 : 1;
  Network net{fabric, {one, two}, {}};
  FlowSpec x, y;
  x.from = y.from = a;
  x.to = b;
  x.in = {{pcie, 1}};
  y.to = c;
  y.transport = 1;
  const auto f = net.open(x), g = net.open(y);
  net.post(f, Time{}, mib(4));
  net.post(g, Time{}, mib(4));
  net.run_all();
  CHECK(net.flow_stats(f).last_done.us() == Approx(419.43).epsilon(0.01));
  // Apart: 4 MiB at the 39 GB/s that the slow one leaves: 107.5 us and a little. In one lane it goes by turns with it.
  if (apart) {
    CHECK(net.flow_stats(g).last_done.us() == Approx(107.5).epsilon(0.05));
  } else {
    CHECK(net.flow_stats(g).last_done.us() > 400);
  }
}
