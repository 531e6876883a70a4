// What gets lost and how it is repaired: full buffers of lossy lanes, damaged packets, trimming; and the inputs that
// cannot work.
#include <cmath>
#include <functional>
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

/// Lane 0: strict and lossless in name; lane 1: data. Nothing holds a sender back: what does not fit is dropped.
std::vector<VirtualLane> lossy_lanes() {
  VirtualLane control, data;
  control.strict = true;
  control.lossless = data.lossless = false;
  return {control, data};
}

NodeKind lossy_switch(Bytes shared) {
  NodeKind k;
  k.name = "switch";
  k.shared = shared;
  k.lossy_alpha = 1;
  return k;
}

Transport on_data_lane(Recovery recovery) {
  auto t = transport(recovery);
  t.lane = 1;
  return t;
}

LinkSpec with_errors(double rate, bool retry) {
  auto l = ethernet_400g();
  l.bit_error_rate = rate;
  l.link_retry = retry;
  return l;
}

/// Throws InputError, with that in its text.
void refused(const Fabric& fabric, const Transport& t, const std::string& text) {
  CAPTURE(text);
  try {
    Network net{fabric, {t}, {}};
    FAIL_CHECK("accepted");
  } catch (const InputError& e) {
    CHECK_THAT(e.what(), ContainsText(text));
    for (const auto& d : e.diagnostics()) CHECK_FALSE(d.problem.empty());
  }
}

}  // namespace

TEST_CASE("loss: an incast into a buffer of eight packets is repaired, each byte delivered once") {
  const auto recovery = GENERATE(Recovery::go_back_n, Recovery::selective);
  const bool trims = GENERATE(false, true);
  const bool any_order = GENERATE(false, true);
  if (any_order && recovery == Recovery::go_back_n) return;
  auto kind = lossy_switch(Bytes{8 * 4'178});
  kind.trims = trims;
  const auto n = leaf_spine(1, 5, 0, kind, ethernet_400g(), lossy_lanes());
  auto t = on_data_lane(recovery);
  t.any_order = any_order;
  t.retransmit_timeout = Time::microseconds(100);
  Network net{n.fabric, {t}, {}};
  net.keep_times();
  std::vector<FlowId> flows;
  for (int h = 1; h < 5; ++h) flows.push_back(net.open(flow(n, h, 0)));
  for (const auto f : flows) {
    net.post(f, Time{}, Bytes{300 * mtu + 5});
    net.post(f, Time{}, Bytes{10});
  }
  CAPTURE(static_cast<int>(recovery), trims, any_order);
  REQUIRE_NOTHROW(net.run_all(Time::microseconds(1'000'000)));
  CHECK(net.idle());
  const auto totals = net.totals();
  std::uint64_t retransmits = 0;
  for (const auto f : flows) {
    CHECK(net.flow_stats(f).payload_bytes == 300 * mtu + 15);
    CHECK(net.times(f).size() == 2);
    CHECK(net.flow_stats(f).retransmits > 0);
    retransmits += net.flow_stats(f).retransmits;
  }
  CHECK(retransmits == totals.retransmits);
  if (trims) {
    CHECK(net.link_stats(n.down[0]).trims > 0);
  } else {
    CHECK(totals.drops > 0);
    CHECK(net.link_stats(n.down[0]).drops == totals.drops);
  }
  // Selective: what was lost is sent again, and not much more.
  if (recovery == Recovery::selective && !trims && !any_order) CHECK(totals.retransmits <= 2 * totals.drops);
  check_conservation(n.fabric, net);
}

TEST_CASE("loss: trimming tells of a loss within a round trip, silence costs a timeout") {
  // Sixteen hosts send one packet each in the same instant. One goes on at once, eight wait (a queue may have half of
  // 16 packets' memory), seven are lost. Trimmed, the headers say so and all is over in a few round trips of 1.3 us;
  // dropped, nobody knows before the timer of 500 us.
  const bool trims = GENERATE(true, false);
  auto kind = lossy_switch(Bytes{16 * 4'178});
  kind.trims = trims;
  const auto n = leaf_spine(1, 17, 0, kind, ethernet_400g(), lossy_lanes());
  Network net{n.fabric, {on_data_lane(Recovery::selective)}, {}};
  std::vector<FlowId> flows;
  for (int h = 1; h < 17; ++h) flows.push_back(net.open(flow(n, h, 0)));
  for (const auto f : flows) net.post(f, Time{}, Bytes{mtu});
  net.run_all();
  Time last;
  std::uint64_t timeouts = 0;
  for (const auto f : flows) {
    last = std::max(last, net.flow_stats(f).last_done);
    timeouts += net.flow_stats(f).timeouts;
    CHECK(net.flow_stats(f).payload_bytes == mtu);
  }
  CAPTURE(trims);
  const auto down = net.link_stats(n.down[0]);
  if (trims) {
    CHECK(down.trims == 7);
    CHECK(down.drops == 0);
    CHECK(timeouts == 0);
    CHECK(last < Time::microseconds(4));
    CHECK(last >= 2 * cable + 16 * packet_time);
  } else {
    CHECK(down.drops == 7);
    CHECK(timeouts == 7);
    CHECK(last > Time::microseconds(500));
    CHECK(last < Time::microseconds(504));
  }
}

TEST_CASE("loss: a timer that fires too early harms nobody") {
  // Eight hosts into one, endless buffer: the queue is 8 x 64 packets, 43 us; a timer of about 10 us fires again and
  // again while everything is only late. Acknowledgements of the first copies come when the sender has gone back.
  const auto recovery = GENERATE(Recovery::go_back_n, Recovery::selective);
  const auto timeout = Time::nanoseconds(GENERATE(range(9'000, 11'000, 83)));
  const auto n = leaf_spine(1, 9, 0, endless_switch());
  auto t = transport(recovery);
  t.retransmit_timeout = timeout;
  Network net{n.fabric, {t}, {}};
  std::vector<FlowId> flows;
  for (int h = 1; h < 9; ++h) flows.push_back(net.open(flow(n, h, 0)));
  for (const auto f : flows) net.post(f, Time{}, Bytes{64 * mtu});
  CAPTURE(static_cast<int>(recovery), timeout);
  REQUIRE_NOTHROW(net.run_all(Time::microseconds(100'000)));
  CHECK(net.idle());
  std::uint64_t timeouts = 0;
  for (const auto f : flows) {
    CHECK(net.flow_stats(f).payload_bytes == 64 * mtu);
    timeouts += net.flow_stats(f).timeouts;
  }
  CHECK(timeouts > 0);
  check_conservation(n.fabric, net);
}

TEST_CASE("loss: damaged packets are as many as the bit error rate says") {
  // 4,178 B are 33,424 bits: at 1e-7 a packet is damaged with p = 1 - (1 - 1e-7)^33424 = 0.003337. 65,536 packets over
  // two links: 437 in the mean, +-21.
  const auto recovery = GENERATE(Recovery::go_back_n, Recovery::selective);
  const auto n = leaf_spine(1, 2, 0, endless_switch(), with_errors(1e-7, false));
  Network net{n.fabric, {transport(recovery)}, {}};
  const auto f = net.open(flow(n, 0, 1));
  net.post(f, Time{}, mib(256));
  net.run_all(Time::microseconds(1'000'000));
  CHECK(net.idle());
  CHECK(net.flow_stats(f).payload_bytes == 256U << 20);
  double damaged = 0, expected = 0;
  for (const auto l : {n.up[0], n.down[1]}) {
    damaged += static_cast<double>(net.link_stats(l).damaged);
    expected += static_cast<double>(net.link_stats(l).packets) * 0.003337;
  }
  CHECK(std::abs(damaged - expected) < 4 * std::sqrt(expected));
  CHECK(net.flow_stats(f).retransmits >= static_cast<std::uint64_t>(damaged));
  if (recovery == Recovery::selective) CHECK(net.flow_stats(f).retransmits <= static_cast<std::uint64_t>(damaged) + 8);
  check_conservation(n.fabric, net);
}

TEST_CASE("loss: a link that repairs itself loses nothing and needs the time of its retries") {
  // At 1e-6 a packet needs another try with p = 1 - (1 - 1e-6)^33424 = 0.03287, and that one again: p / (1 - p) =
  // 0.03399 tries for each of 16,384 packets, 557 +- 24. Each is 2 x 300 ns and the packet once more: 683.56 ns.
  const auto n = leaf_spine(1, 2, 0, endless_switch(), with_errors(1e-6, true));
  Network net{n.fabric, {transport()}, {}};
  const auto f = net.open(flow(n, 0, 1));
  net.post(f, Time{}, mib(64));
  net.run_all();
  const auto first = net.link_stats(n.up[0]), second = net.link_stats(n.down[1]);
  for (const auto& s : {first, second}) {
    CHECK(static_cast<double>(s.link_retries) == Approx(557).margin(4 * 24));
    CHECK(s.packets == 16'384);
    CHECK(s.wire_bytes == (16'384 + s.link_retries) * 4'178);
    CHECK(s.payload_bytes == 16'384U * 4'096);
    CHECK(s.damaged == 0);
  }
  CHECK(net.flow_stats(f).retransmits == 0);
  const Time clean = 2 * cable + 16'384 * packet_time, retry = 2 * cable + packet_time;
  CHECK(net.flow_stats(f).last_done >= clean + static_cast<std::int64_t>(first.link_retries) * retry);
  CHECK(net.flow_stats(f).last_done <=
        clean + static_cast<std::int64_t>(first.link_retries + second.link_retries) * retry);
}

TEST_CASE("loss: a packet that a link sends again is late itself") {
  // One packet over two links, cut-through. Of many seeds some need a retry on the first link, some on the second:
  // each retry is 683.56 ns, wherever it was.
  const auto n = leaf_spine(1, 2, 0, endless_switch(), with_errors(1e-5, true));
  int first = 0, second = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Options o;
    o.seed = seed;
    Network net{n.fabric, {transport()}, o};
    const auto f = net.open(flow(n, 0, 1));
    net.post(f, Time{}, Bytes{mtu});
    net.run_all();
    const auto a = net.link_stats(n.up[0]).link_retries, b = net.link_stats(n.down[1]).link_retries;
    first += a > 0;
    second += b > 0;
    CAPTURE(seed, a, b);
    CHECK(net.flow_stats(f).last_done ==
          2 * cable + packet_time + static_cast<std::int64_t>(a + b) * (2 * cable + packet_time));
  }
  // p = 1 - (1 - 1e-5)^33424 = 0.284: 11.4 of 40 +- 2.9.
  CHECK(first > 2);
  CHECK(first < 22);
  CHECK(second > 2);
  CHECK(second < 22);
}

TEST_CASE("loss: a lossless fabric loses nothing, also where a lossy lane beside it does") {
  // Lane 1 lossless, lane 2 lossy; both overloaded.
  VirtualLane control, lossless, lossy;
  control.strict = true;
  lossy.lossless = false;
  auto kind = pfc_switch();
  kind.shared = kib(512);
  kind.alpha = 0.25;
  kind.lossy_alpha = 0.125;
  const auto n = leaf_spine(1, 7, 0, kind, ethernet_400g(), {control, lossless, lossy});
  auto safe = transport(), unsafe = transport(Recovery::selective);
  safe.lane = 1;
  unsafe.lane = 2;
  Network net{n.fabric, {safe, unsafe}, {}};
  std::vector<FlowId> flows;
  for (int h = 1; h < 7; ++h) {
    auto spec = flow(n, h, 0);
    spec.transport = static_cast<std::uint16_t>(h % 2);
    flows.push_back(net.open(spec));
    net.post(flows.back(), Time{}, mib(1));
  }
  REQUIRE_NOTHROW(net.run_all());
  CHECK(net.totals().drops > 0);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    CHECK(net.flow_stats(flows[i]).payload_bytes == 1U << 20);
    if (i % 2 == 1) CHECK(net.flow_stats(flows[i]).retransmits == 0);
  }
  check_conservation(n.fabric, net);
}

TEST_CASE("loss: what cannot lose is refused where it can be lost") {
  const auto lossy = leaf_spine(1, 2, 0, lossy_switch(mib(1)), ethernet_400g(), lossy_lanes());
  refused(lossy.fabric, on_data_lane(Recovery::none), "transport 't' cannot repair a loss, but switch may drop");
  const auto noisy = leaf_spine(1, 2, 0, endless_switch(), with_errors(1e-12, false));
  refused(noisy.fabric, transport(), "cannot repair a loss, but endpoint[0]->switch[2] damages packets");
  VirtualLane drops;
  drops.lossless = false;
  const auto pause = leaf_spine(1, 2, 0, pfc_switch(), ethernet_400g(), {drops, VirtualLane{}});
  refused(pause.fabric, transport(), "cannot repair a loss");
  // Its acknowledgements are in a lane that may lose them: nobody would ever send them again.
  auto t = transport();
  t.lane = 1;
  refused(pause.fabric, t, "cannot repair a loss");
  t.control_lane = 1;
  CHECK_NOTHROW(Network{pause.fabric, {t}, {}});
}

TEST_CASE("input: buffers, headroom, thresholds and links that cannot work are named, all at once") {
  const auto refuse_kind = [](const NodeKind& kind, const std::string& text) {
    const auto n = leaf_spine(1, 2, 0, kind);
    refused(n.fabric, transport(), text);
  };
  refuse_kind(credit_switch(Bytes{4'177}), "switch: an input buffer of 4177 B holds no packet of 4178 B");
  // 66 credits of 64 B are 4,224 B: with 4,200 the packet would wait for ever.
  refuse_kind(credit_switch(Bytes{4'200}), "make `input` at least 4224 B");
  refuse_kind(lossy_switch(Bytes{4'000}), "switch: a shared buffer of 4000 B holds no packet of 4178 B");
  auto kind = pfc_switch();
  kind.headroom = mib(65);
  refuse_kind(kind, "headroom of 68157440 B is larger than the buffer of 67108864 B");
  kind = pfc_switch();
  kind.headroom = kib(10);  // 2 x 300 ns x 50 GB/s are 30,000 B; and three packets
  refuse_kind(kind, "switch: headroom of 10240 B is too small for endpoint[");
  kind = pfc_switch();
  kind.alpha = 0;
  refuse_kind(kind, "alpha must be positive");
  kind = pfc_switch();
  kind.resume_offset = Bytes{-1};
  refuse_kind(kind, "none is negative");
  kind = pfc_switch();
  kind.marking = {true, kib(200), kib(100), 0.5};
  refuse_kind(kind, "kmin must not be above kmax");
  kind.marking = {true, kib(100), kib(200), 1.5};
  refuse_kind(kind, "pmax is a probability");

  const auto refuse_link = [](const LinkSpec& link, const std::string& text) {
    const auto n = leaf_spine(1, 2, 0, endless_switch(), link);
    refused(n.fabric, transport(Recovery::selective), text);
  };
  auto link = ethernet_400g();
  link.rate = Rate{};
  refuse_link(link, "endpoint[0]->switch[2] has no rate");
  link = ethernet_400g();
  link.delay = Time::picoseconds(-1);
  refuse_link(link, "negative delay or header");
  refuse_link(with_errors(0.5, false), "bit_error_rate must lie between 0 and 0.01");
  refuse_link(with_errors(-1, false), "bit_error_rate must lie between");
  refuse_link(with_errors(std::nan(""), false), "bit_error_rate must lie between");
  // 33,424 bits at 0.001: one packet of 10^14 comes through. Nothing would ever end.
  refuse_link(with_errors(0.001, false), "bit_error_rate");
  refuse_link(with_errors(0.001, true), "bit_error_rate");

  // All problems in one error.
  auto bad = pfc_switch();
  bad.alpha = -1;
  bad.headroom = kib(1);
  bad.marking = {true, kib(2), kib(1), 1};
  const auto n = leaf_spine(1, 2, 0, bad);
  try {
    n.fabric.check(Bytes{mtu});
    FAIL("accepted");
  } catch (const InputError& e) {
    CHECK(e.diagnostics().size() >= 4);  // and the hosts' headroom
  }
}

TEST_CASE("input: transports that cannot work are refused") {
  const auto n = leaf_spine(1, 2, 0, pfc_switch());
  const auto refuse = [&](const std::function<void(Transport&)>& change, const std::string& text) {
    auto t = transport(Recovery::selective);
    change(t);
    refused(n.fabric, t, text);
  };
  refuse([](Transport& t) { t.lane = 1; }, "transport 't' uses lane 1, but the network has 1");
  refuse([](Transport& t) { t.control_lane = 7; }, "uses lane 7");
  refuse([](Transport& t) { t.ack_every = 0; }, "an acknowledgement for 0 packets");
  refuse([](Transport& t) { t.ack_every = 256; }, "an acknowledgement for 256 packets");
  refuse([](Transport& t) { t.mtu = Bytes{65'536}; }, "an mtu of 65536 B");
  refuse([](Transport& t) { t.mtu = Bytes{0}; }, "mtu");
  refuse([](Transport& t) { t.mtu = Bytes{-5}; }, "mtu");
  refuse([](Transport& t) { t.retransmit_timeout = Time{}; }, "timeout");
  dcqcn::Settings bad;
  bad.rpg_threshold = -1;
  refuse([&](Transport& t) { t.control = bad; }, "rpg_threshold");

  auto spraying = pfc_switch();
  spraying.choice = GENERATE(Choice::spray, Choice::adaptive);
  const auto m = leaf_spine(2, 2, 2, spraying);
  refused(m.fabric, transport(), "wants packets in order, but the routing reorders them");
  auto t = transport();
  t.any_order = true;
  CHECK_NOTHROW(Network{m.fabric, {t}, {}});
  CHECK_THROWS_AS(Fabric{std::vector<VirtualLane>{}}, InputError);
  CHECK_THROWS_AS(Fabric{std::vector<VirtualLane>(9)}, InputError);
}

TEST_CASE("input: a host that no way leads to, and more packets than memory is allowed for") {
  Fabric f;
  const auto host = f.add_kind({}), sw = f.add_kind(endless_switch());
  const auto a = f.add_endpoint(host), b = f.add_endpoint(host);
  const auto s = f.add_switch(sw), t = f.add_switch(sw);
  f.add_cable(a, s, ethernet_400g());
  f.add_cable(b, t, ethernet_400g());
  f.route_shortest();
  Network net{f, {transport()}, {}};
  FlowSpec spec;
  spec.from = a;
  spec.to = b;
  CHECK_THROWS_WITH(net.open(spec), ContainsText("no way from endpoint[0] to endpoint[1]"));

  const auto n = leaf_spine(1, 5, 0, endless_switch());
  Options o;
  o.most_packets = 100;
  Network small{n.fabric, {transport()}, o};
  for (int h = 1; h < 5; ++h) small.post(small.open(flow(n, h, 0)), Time{}, mib(1));
  CHECK_THROWS_AS(small.run_all(), InputError);
  Network again{n.fabric, {transport()}, o};
  again.post(again.open(flow(n, 1, 0)), Time{}, mib(1));
  CHECK_NOTHROW(again.run_all());
  CHECK(again.totals().packets_peak <= 100);
}
