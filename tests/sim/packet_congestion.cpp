// Congestion control in a network: DCQCN shares fairly and keeps the queue short, and is slow to come back after a
// burst with its default timers; the others keep the queue from where it would go without them.
#include <vector>

#include "packet_runs.hpp"
#include "print.hpp"

using namespace linkcast;
using namespace linkcast::sim;
using namespace linkcast::sim::packet;
using namespace linkcast::testing;

namespace {

NodeKind marking_switch(Bytes kmin, Bytes kmax) {
  auto k = pfc_switch();
  k.marking = {true, kmin, kmax, 0.2};
  return k;
}

Transport controlled(const ControlSettings& control) {
  auto t = transport();
  t.control = control;
  return t;
}

}  // namespace

TEST_CASE("congestion: two DCQCN flows into one 100 Gb/s link converge to fair shares and a short queue") {
  // The second comes half a millisecond later. 12.5 GB/s of wire are 12.25 of payload: 6.13 each.
  auto link = ethernet_400g();
  link.rate = Rate::bytes_per_second(12'500'000'000);
  const auto n = leaf_spine(1, 3, 0, marking_switch(kib(100), kib(400)), link);
  Network net{n.fabric, {controlled(dcqcn::Settings::mlx5())}, {}};
  const auto f = net.open(flow(n, 1, 0)), g = net.open(flow(n, 2, 0));
  net.post(f, Time{}, mib(400));
  net.post(g, Time::microseconds(500), mib(400));
  net.run_all(Time::microseconds(5'000));
  const auto f0 = net.flow_stats(f).payload_bytes, g0 = net.flow_stats(g).payload_bytes;
  const auto queue0 = net.link_stats(n.down[0]).queue_byte_seconds;
  net.run_all(Time::microseconds(15'000));
  const double x = static_cast<double>(net.flow_stats(f).payload_bytes - f0) / 10e6;  // GB/s
  const double y = static_cast<double>(net.flow_stats(g).payload_bytes - g0) / 10e6;
  CHECK(x == Approx(y).epsilon(0.05));
  CHECK(x + y > 0.95 * 12.25);
  CHECK(x + y < 12.26);
  const auto s = net.link_stats(n.down[0]);
  // In the mean the queue stands where marking is rare: below or about kmin. At the worst, before the first CNP, it is
  // what both send at the line rate until one is marked for sure, kmax, and a round trip more (15 kB).
  CHECK((s.queue_byte_seconds - queue0) / 0.010 < 150e3);
  CHECK(s.queue_peak <= kib(400) + Bytes{30'000});
  CHECK(s.marks > 0);
  CHECK(net.flow_stats(f).marked + net.flow_stats(g).marked == s.marks);
  for (const auto l : {n.up[1], n.up[2]}) CHECK(net.link_stats(l).paused == Time{});
}

TEST_CASE("congestion: without control the same flows fill the buffer until pauses stop them") {
  auto link = ethernet_400g();
  link.rate = Rate::bytes_per_second(12'500'000'000);
  auto kind = marking_switch(kib(100), kib(400));
  kind.shared = mib(8);
  const auto n = leaf_spine(1, 3, 0, kind, link);
  Network net{n.fabric, {transport()}, {}};
  for (int h = 1; h < 3; ++h) net.post(net.open(flow(n, h, 0)), Time{}, mib(20));
  net.run_all();
  // alpha 1, two inputs: each a third of the pool.
  CHECK(net.link_stats(n.down[0]).queue_peak > mib(5));
  CHECK(net.link_stats(n.up[1]).paused > Time{});
}

TEST_CASE("congestion: after a burst DCQCN needs milliseconds with its default timer, a tenth with a tenth of it") {
  // 400 Gb/s. From 100 us on seven others send 1 MiB each: 8 MiB in all, over before 500 us. By then CNPs every 4 us
  // have cut the rate to next to nothing, the target is still the line: each rpg_time_reset (300 us) halves what is
  // missing. 90 % of the line, 1/16 missing, is reached with the fourth: 1.2 ms later.
  const bool fast = GENERATE(false, true);
  auto settings = dcqcn::Settings::mlx5();
  if (fast) settings.rpg_time_reset = Time::microseconds(30);
  const auto n = leaf_spine(1, 9, 0, marking_switch(kib(400), kib(1600)));
  Network net{n.fabric, {controlled(settings)}, {}};
  const auto f = net.open(flow(n, 1, 0));
  net.post(f, Time{}, mib(400));
  std::vector<FlowId> burst;
  for (int h = 2; h < 9; ++h) {
    burst.push_back(net.open(flow(n, h, 0)));
    net.post(burst.back(), Time::microseconds(100), mib(1));
  }
  Time back, over;
  for (std::int64_t us = 150; us < 4'000 && back == Time{}; us += 25) {
    net.run_all(Time::microseconds(us));
    over = Time{};
    bool all = true;
    for (const auto b : burst) {
      all = all && net.flow_stats(b).payload_bytes == 1U << 20;
      over = std::max(over, net.flow_stats(b).last_done);
    }
    if (all && net.flow_rate(f).GBps() > 45) back = Time::microseconds(us);
  }
  CAPTURE(fast, over, back);
  CHECK(net.flow_stats(f).notifications > 10);
  REQUIRE(back > Time{});
  if (fast) {
    CHECK(back < Time::microseconds(1'000));
  } else {
    CHECK(back > Time::microseconds(1'000));
    CHECK(back < Time::microseconds(3'000));
  }
}

TEST_CASE("congestion: windows and rates keep two equal flows busy, even and out of the buffer") {
  // Two hosts of one leaf to one of the other. The link between the leaves' spine and the receiver's leaf is shared:
  // 49.02 GB/s of payload. From 1 ms to 4 ms (the second
  // flow is still catching up: shares are even to 25 % at the worst); without control the queue would be at the pause
  // threshold (32 MiB).
  struct Expected {
    ControlSettings control;
    double busy, even;
  };
  const auto e = GENERATE(Expected{dctcp::Settings{}, 0.98, 0.25}, Expected{swift::Settings{}, 0.98, 0.2},
                          Expected{hpcc::Settings{}, 0.9, 0.15}, Expected{nscc::Settings{}, 0.98, 0.05});
  const auto n = leaf_spine(2, 2, 1, marking_switch(kib(100), kib(400)));
  Network net{n.fabric, {controlled(e.control)}, {}};
  const auto f = net.open(flow(n, 2, 0)), g = net.open(flow(n, 3, 0));
  net.post(f, Time{}, mib(400));
  net.post(g, Time::microseconds(100), mib(400));
  net.run_all(Time::microseconds(1'000));
  const auto f0 = net.flow_stats(f).payload_bytes, g0 = net.flow_stats(g).payload_bytes;
  net.run_all(Time::microseconds(4'000));
  const double x = static_cast<double>(net.flow_stats(f).payload_bytes - f0) / 3e6;
  const double y = static_cast<double>(net.flow_stats(g).payload_bytes - g0) / 3e6;
  CAPTURE(e.control.index(), x, y);
  CHECK(x + y > e.busy * 49.02);
  CHECK(x + y < 49.03);
  CHECK(x == Approx(y).epsilon(e.even));
  CHECK(net.link_stats(link_between(n.fabric, n.leaves[1], n.spines[0])).queue_peak < mib(2));
  CHECK(net.link_stats(n.up[2]).paused == Time{});
  CHECK(net.totals().drops == 0);
}
