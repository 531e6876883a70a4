// Closed forms of the packet network where nothing is in the way: latency and throughput to the picosecond, sums of
// packets without drift, and how flows and lanes share a link.
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

Time done(const Network& net, FlowId f) { return net.flow_stats(f).last_done; }

/// Two endpoints and a cable.
struct Pair {
  Fabric fabric;
  NodeId a, b;
  LinkId there;
};

Pair direct(LinkSpec link) {
  Pair p{Fabric{}, no_node, no_node, no_link};
  const auto host = p.fabric.add_kind({});
  p.a = p.fabric.add_endpoint(host);
  p.b = p.fabric.add_endpoint(host);
  p.there = p.fabric.add_cable(p.a, p.b, link);
  p.fabric.route_shortest();
  return p;
}

FlowSpec between(NodeId from, NodeId to) {
  FlowSpec f;
  f.from = from;
  f.to = to;
  return f;
}

}  // namespace

TEST_CASE("packets: one crosses an idle path in the time of the closed form") {
  // n links of 300 ns, 4,178 B at 20 ps = 83.56 ns. Store and forward pays that at every link, cut-through at the last:
  // an endpoint has a packet when its tail is there.
  const bool cut_through = GENERATE(true, false);
  auto kind = pfc_switch();
  kind.cut_through = cut_through;
  const std::int64_t bytes = GENERATE(0, 1, 1000, 4096);
  const Time span = Time::picoseconds((bytes + 82) * 20);
  CAPTURE(cut_through, bytes);

  {
    auto p = direct(ethernet_400g());
    Network net{p.fabric, {transport()}, {}};
    const auto f = net.open(between(p.a, p.b));
    net.post(f, Time::nanoseconds(7), Bytes{bytes});
    net.run_all();
    CHECK(done(net, f) == Time::nanoseconds(7) + cable + span);
  }
  {
    const auto n = leaf_spine(1, 2, 0, kind);
    Network net{n.fabric, {transport()}, {}};
    const auto f = net.open(flow(n, 0, 1));
    net.post(f, Time{}, Bytes{bytes});
    net.run_all();
    CHECK(done(net, f) == 2 * cable + (cut_through ? 1 : 2) * span);
  }
  {
    const auto n = leaf_spine(2, 1, 1, kind);
    Network net{n.fabric, {transport()}, {}};
    const auto f = net.open(flow(n, 0, 1));
    net.post(f, Time{}, Bytes{bytes});
    net.run_all();
    CHECK(done(net, f) == 4 * cable + (cut_through ? 1 : 4) * span);
    CHECK(net.flow_stats(f).payload_bytes == static_cast<std::uint64_t>(bytes));
    CHECK(net.flow_stats(f).packets == 1);
    CHECK(net.idle());
    check_conservation(n.fabric, net);
  }
}

TEST_CASE("packets: cut-through gives way to store and forward before a faster link") {
  // 100 Gb/s into the switch (80 ps a byte: 334.24 ns), 400 Gb/s out of it: the tail has to be there. Back, from fast
  // to slow, the acknowledgement may cut through: 86 B.
  auto slow = ethernet_400g();
  slow.rate = Rate::bytes_per_second(12'500'000'000);
  Fabric f;
  const auto host = f.add_kind({}), sw = f.add_kind(endless_switch());
  const auto a = f.add_endpoint(host), b = f.add_endpoint(host);
  const auto s = f.add_switch(sw);
  f.add_cable(a, s, slow);
  f.add_cable(s, b, ethernet_400g());
  f.route_shortest();
  Network net{f, {transport()}, {}};
  const auto there = net.open(between(a, b)), back = net.open(between(b, a));
  net.post(there, Time{}, Bytes{mtu});
  net.run_all();
  CHECK(done(net, there) == 2 * cable + 5 * packet_time);
  const Time start = Time::microseconds(10);
  net.post(back, start, Bytes{mtu});
  net.run_all();
  // All links of a node count, also the one that the packet does not take: what leaves at 400 Gb/s came at that.
  CHECK(done(net, back) == start + 2 * cable + 4 * packet_time);
}

TEST_CASE("packets: a long message streams at the line rate, to the picosecond") {
  // N packets: the first as above, and another 83.56 ns for each that follows. Acknowledgements go the other way.
  const bool cut_through = GENERATE(true, false);
  auto kind = GENERATE(pfc_switch(), endless_switch(), credit_switch(kib(128)));
  kind.cut_through = cut_through;
  const std::int64_t packets = 2560;  // 10 MiB
  const Time rest = (packets - 1) * packet_time;
  CAPTURE(cut_through, static_cast<int>(kind.control));
  {
    const auto n = leaf_spine(1, 2, 0, kind);
    Network net{n.fabric, {transport()}, {}};
    const auto f = net.open(flow(n, 0, 1));
    net.post(f, Time{}, mib(10));
    net.run_all();
    CHECK(done(net, f) == 2 * cable + (cut_through ? 1 : 2) * packet_time + rest);
  }
  {
    const auto n = leaf_spine(2, 1, 1, kind);
    Network net{n.fabric, {transport()}, {}};
    const auto f = net.open(flow(n, 0, 1));
    net.post(f, Time{}, mib(10));
    net.run_all();
    CHECK(done(net, f) == 4 * cable + (cut_through ? 1 : 4) * packet_time + rest);
    const auto up = net.link_stats(n.up[0]);
    CHECK(up.packets == 2560);
    CHECK(up.payload_bytes == 2560 * 4096);
    CHECK(up.wire_bytes == 2560 * 4178);
    CHECK(up.paused == Time{});
    CHECK(net.totals().drops == 0);
    check_conservation(n.fabric, net);
  }
}

TEST_CASE("packets: a gibibyte in packets takes what its bytes take, whatever the rate") {
  // 262,144 packets and their headers are 2^30 + 262,144 x 82 B = 1,095,237,632 B. Rounding every packet up to whole
  // picoseconds would add up to 0.26 us; here the sum is within a picosecond of the whole.
  const auto rate = Rate::bytes_per_second(GENERATE(std::int64_t{12'121'212'121},  // 100 Gb/s x 64 / 66
                                                    std::int64_t{50'000'000'000}, std::int64_t{48'484'848'484},
                                                    std::int64_t{7'876'923'077}));
  auto link = ethernet_400g();
  link.rate = rate;
  const Time whole = transfer_time(Bytes{1'095'237'632}, rate);
  CAPTURE(rate);
  {
    auto p = direct(link);
    auto t = transport();
    t.acknowledged = false;
    Network net{p.fabric, {t}, {}};
    const auto f = net.open(between(p.a, p.b));
    net.post(f, Time{}, gib(1));
    net.run_all();
    CHECK(done(net, f) >= cable + whole);
    CHECK(done(net, f) <= cable + whole + Time::picoseconds(1));
  }
}

TEST_CASE("packets: rounding does not add up over switches either") {
  auto link = ethernet_400g();
  link.rate = Rate::bytes_per_second(12'121'212'121);
  const auto n = leaf_spine(2, 1, 1, pfc_switch(), link);
  Network net{n.fabric, {transport()}, {}};
  const auto f = net.open(flow(n, 0, 1));
  net.post(f, Time{}, mib(64));  // 16,384 packets
  net.run_all();
  // Cut-through: the last link begins 900 ns after the first and then never waits.
  const Time whole = 4 * cable + transfer_time(Bytes{16'384 * 4'178}, link.rate);
  CHECK(done(net, f) >= whole);
  CHECK(done(net, f) <= whole + Time::picoseconds(1));
}

TEST_CASE("packets: messages of a flow come in order, one behind the other") {
  const auto n = leaf_spine(1, 2, 0, pfc_switch());
  Network net{n.fabric, {transport()}, {}};
  net.keep_times();
  const auto f = net.open(flow(n, 0, 1));
  // 3 packets (the last of 1 B: 83 B on the wire), then a packet of headers (82 B), then one of 4,096 B.
  CHECK(net.post(f, Time{}, Bytes{2 * mtu + 1}) == 0);
  CHECK(net.post(f, Time{}, Bytes{0}) == 1);
  CHECK(net.post(f, Time::nanoseconds(100), Bytes{mtu}) == 2);
  net.run_all();
  const auto times = net.times(f);
  REQUIRE(times.size() == 3);
  const Time first = 2 * cable + 2 * packet_time + Time::picoseconds(83 * 20);
  CHECK(times[0] == std::pair{Time{}, first});
  CHECK(times[1] == std::pair{Time{}, first + Time::picoseconds(82 * 20)});
  CHECK(times[2] == std::pair{Time::nanoseconds(100), first + Time::picoseconds(82 * 20) + packet_time});
  CHECK(net.flow_stats(f).payload_bytes == 3 * mtu + 1);
}

TEST_CASE("packets: notices tell when a message left, came and was acknowledged") {
  // Sent: 2 x 83.56 ns. Delivered: + 600 ns. The acknowledgement, 4 + 82 B = 1.72 ns, takes 600 ns and its own time.
  const auto n = leaf_spine(1, 2, 0, pfc_switch());
  Network net{n.fabric, {transport()}, {}};
  const auto f = net.open(flow(n, 0, 1));
  net.post(f, Time{}, Bytes{2 * mtu});
  std::vector<Notice> notices;
  Time at;
  while (net.next_time() != Time::max()) {
    const auto before = notices.size();
    at = net.run(Time::max(), notices);
    for (auto i = before; i < notices.size(); ++i)
      if (notices[i].kind != Notice::Kind::sent) CHECK(notices[i].at == at);
  }
  REQUIRE(notices.size() == 3);
  CHECK(notices[0].kind == Notice::Kind::sent);
  CHECK(notices[0].at == 2 * packet_time);
  CHECK(notices[1].kind == Notice::Kind::delivered);
  CHECK(notices[1].at == 2 * cable + 2 * packet_time);
  CHECK(notices[2].kind == Notice::Kind::acknowledged);
  CHECK(notices[2].at == 4 * cable + 2 * packet_time + Time::picoseconds(86 * 20));
  CHECK(net.idle());
}

TEST_CASE("packets: a cap and a station hold a flow to their rate") {
  const auto n = leaf_spine(1, 4, 0, pfc_switch());
  SECTION("cap: 10 GB/s of payload, 409.6 ns a packet") {
    Network net{n.fabric, {transport()}, {}};
    auto spec = flow(n, 0, 1);
    spec.cap = Rate::bytes_per_second(10'000'000'000);
    const auto f = net.open(spec);
    net.post(f, Time{}, Bytes{100 * mtu});
    net.run_all();
    CHECK(done(net, f) == 99 * Time::picoseconds(409'600) + 2 * cable + packet_time);
  }
  SECTION("a station of the senders is shared by the flows that name it") {
    // 20 GB/s for two hosts with 1,000 packets each: 204.8 ns a packet, 409.6 us in all.
    auto m = leaf_spine(1, 4, 0, pfc_switch());
    const auto pcie = m.fabric.add_station(Rate::bytes_per_second(20'000'000'000), "pcie");
    Network net{m.fabric, {transport()}, {}};
    auto x = flow(m, 0, 2), y = flow(m, 1, 3);
    x.out = y.out = {{pcie, 1}};
    const auto f = net.open(x), g = net.open(y);
    net.post(f, Time{}, Bytes{1000 * mtu});
    net.post(g, Time{}, Bytes{1000 * mtu});
    net.run_all();
    CHECK(done(net, f).us() == Approx(409.6).epsilon(0.01));
    CHECK(done(net, g).us() == Approx(409.6).epsilon(0.01));
  }
  SECTION("a station of a receiver, with a weight of two") {
    // 20 GB/s, each byte costs two: 10 GB/s. 100 packets: 40.96 us after the first came.
    auto m = leaf_spine(1, 2, 0, pfc_switch());
    const auto memory = m.fabric.add_station(Rate::bytes_per_second(20'000'000'000), "memory");
    Network net{m.fabric, {transport()}, {}};
    auto x = flow(m, 0, 1);
    x.in = {{memory, 2}};
    const auto f = net.open(x);
    net.post(f, Time{}, Bytes{100 * mtu});
    net.run_all();
    CHECK(done(net, f).us() == Approx(0.6 + 0.08356 + 40.96).epsilon(0.01));
  }
}

TEST_CASE("packets: n flows of a host share its link within one per cent") {
  const int flows = GENERATE(2, 3, 7, 16);
  const auto n = leaf_spine(1, 17, 0, pfc_switch());
  Network net{n.fabric, {transport()}, {}};
  std::vector<FlowId> ids;
  for (int i = 0; i < flows; ++i) ids.push_back(net.open(flow(n, 0, 1 + i)));
  for (const auto f : ids) net.post(f, Time{}, mib(4));
  // 1,024 packets each, by turns: after 100 us there are 100 / 0.08356 = 1,196 on the link in all.
  net.run_all(Time::microseconds(100));
  const double each = 1196.7 / flows * mtu;
  for (const auto f : ids) CHECK(static_cast<double>(net.flow_stats(f).payload_bytes) == Approx(each).margin(10 * mtu));
  net.run_all();
  // The flow that was posted first has two packets before the others have one and ends a turn early; the last packets
  // of the others leave one behind the other.
  CHECK(done(net, ids[0]) == 2 * cable + packet_time + (1022 * flows + 1) * packet_time);
  for (int i = 1; i < flows; ++i)
    CHECK(done(net, ids[static_cast<std::size_t>(i)]) == 2 * cable + packet_time + (1023 * flows + i) * packet_time);
}

TEST_CASE("packets: n hosts into one end at the line rate, and fairly") {
  // The link to the receiver begins when the first packet is at the switch and never rests: 300 + 300 ns and n x N
  // packets, whether pauses hold the senders or not.
  const int senders = GENERATE(2, 5, 16);
  const bool small = GENERATE(false, true);
  auto kind = pfc_switch();
  kind.shared = mib(256);
  if (small) kind.shared = kib(512), kind.alpha = 0.125;
  const auto n = leaf_spine(1, 17, 0, kind);
  Network net{n.fabric, {transport()}, {}};
  std::vector<FlowId> ids;
  for (int i = 0; i < senders; ++i) ids.push_back(net.open(flow(n, 1 + i, 0)));
  for (const auto f : ids) net.post(f, Time{}, mib(4));
  net.run_all(Time::microseconds(100));
  std::uint64_t sum = 0;
  for (const auto f : ids) sum += net.flow_stats(f).payload_bytes;
  CAPTURE(senders, small);
  if (!small) {
    for (const auto f : ids)
      CHECK(static_cast<double>(net.flow_stats(f).payload_bytes) ==
            Approx(static_cast<double>(sum) / senders).margin(2 * mtu));
  }
  net.run_all();
  Time last;
  for (const auto f : ids) last = std::max(last, done(net, f));
  CHECK(last == 2 * cable + 1024 * senders * packet_time);
  // Pauses come in turns that are long beside a packet: senders are even within a few of them.
  for (const auto f : ids) CHECK(done(net, f).us() == Approx(last.us()).epsilon(small ? 0.1 : 0.01));
  Time paused;
  for (int i = 0; i < senders; ++i) paused += net.link_stats(n.up[static_cast<std::size_t>(1 + i)]).paused;
  CHECK((paused > Time{}) == small);
  check_conservation(n.fabric, net);
}

TEST_CASE("packets: a strict lane goes first, the others take turns") {
  VirtualLane strict;
  strict.strict = true;
  const std::vector<VirtualLane> lanes{strict, {}, {}};
  const auto n = leaf_spine(1, 6, 0, pfc_switch(), ethernet_400g(), lanes);
  const auto on_lane = [](std::uint8_t lane) {
    auto t = transport();
    t.lane = lane;
    return t;
  };
  SECTION("strict") {
    Network net{n.fabric, {on_lane(0), on_lane(1)}, {}};
    auto x = flow(n, 0, 1), y = flow(n, 0, 2);
    x.transport = 0;
    y.transport = 1;
    const auto low = net.open(y), high = net.open(x);
    net.post(low, Time{}, Bytes{100 * mtu});
    net.post(high, Time::nanoseconds(100), Bytes{50 * mtu});
    net.run_all();
    // Two packets of the low lane are out by then (0 and 83.56 ns); the third begins 50 packets later.
    CHECK(done(net, high) == 2 * cable + 52 * packet_time);
    CHECK(done(net, low) == 2 * cable + 150 * packet_time);
  }
  SECTION("by turns, whatever the number of flows in a lane") {
    Network net{n.fabric, {on_lane(1), on_lane(2)}, {}};
    std::vector<FlowId> three;
    for (int i = 0; i < 3; ++i) three.push_back(net.open(flow(n, 0, 1 + i)));
    auto y = flow(n, 0, 4);
    y.transport = 1;
    const auto one = net.open(y);
    for (const auto f : three) net.post(f, Time{}, Bytes{300 * mtu});
    net.post(one, Time{}, Bytes{300 * mtu});
    net.run_all(600 * packet_time);
    CHECK(static_cast<double>(net.flow_stats(one).payload_bytes) == Approx(300. * mtu).margin(10 * mtu));
    for (const auto f : three)
      CHECK(static_cast<double>(net.flow_stats(f).payload_bytes) == Approx(100. * mtu).margin(10 * mtu));
    net.run_all();
    CHECK(net.idle());
  }
  SECTION("a queue in a switch too: two hosts in two lanes to one") {
    Network net{n.fabric, {on_lane(1), on_lane(0)}, {}};
    auto x = flow(n, 1, 0), y = flow(n, 2, 0);
    y.transport = 1;
    const auto low = net.open(x), high = net.open(y);
    net.post(low, Time{}, Bytes{100 * mtu});
    net.post(high, Time{}, Bytes{100 * mtu});
    net.run_all();
    // One of the low lane is on the link when the first strict one comes, in the same instant.
    CHECK(done(net, high) <= 2 * cable + 101 * packet_time);
    CHECK(done(net, low) == 2 * cable + 200 * packet_time);
  }
}
