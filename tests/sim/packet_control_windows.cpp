// The other congestion control algorithms: each rule by hand, in a few steps.
#include <array>
#include <cmath>

#include "catch.hpp"
#include "linkcast/sim/packet/control.hpp"
#include "print.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;
using namespace linkcast::sim::packet;

namespace {

Ack ack(Time now, Time rtt, std::int64_t newly, bool marked = false, bool round = false, std::int64_t in_flight = 0) {
  Ack a;
  a.now = now, a.rtt = rtt, a.newly = Bytes{newly}, a.in_flight = Bytes{in_flight}, a.marked = marked, a.round = round;
  return a;
}

}  // namespace

TEST_CASE("infiniband: BECNs up, the timer down, a delay after each packet", "[sim][packet][control]") {
  infiniband_cct::Settings s;
  s.table = infiniband_cct::linear_table();
  const Path path{50_GBps, 10_us, 4, 4096_B};  // a packet takes 81.92 ns
  infiniband_cct::Flow f{s, path};
  CHECK(f.sent(Time{}, 4096_B) == Time{});
  f.notified(Time{});
  CHECK(f.sent(Time{}, 4096_B) == 163'840_ps);
  CHECK(f.rate(Time{}) == 25_GBps);
  f.notified(10_us);
  CHECK(f.sent(10_us, 4096_B) == 245'760_ps);
  // The timer, 150 x 1.024 us = 153.6 us, started with the first.
  CHECK(f.ccti(Time::nanoseconds(153'600) - 1_ps) == 2);
  CHECK(f.ccti(Time::nanoseconds(153'600)) == 1);
  CHECK(f.ccti(Time::nanoseconds(307'200)) == 0);
  CHECK(f.sent(308_us, 4096_B) == Time{});
  f.notified(400_us);  // it had stopped: starts again here
  CHECK(f.ccti(553_us) == 1);
  CHECK(f.ccti(554_us) == 0);

  SECTION("no further than ccti_limit, and from there one step at a time however late it is asked") {
    for (int k = 0; k < 200; ++k) f.notified(600_us);
    CHECK(f.ccti(600_us) == 127);
    CHECK(f.rate(600_us) == Rate::bytes_per_second(390'625'000));  // 50 / 128
    CHECK(f.ccti(600_us + Time::nanoseconds(153'600) * 100) == 27);
    CHECK(f.ccti(Time::microseconds(1'000'000'000'000)) == 0);
  }
}

TEST_CASE("infiniband: ccti_min, and the default table", "[sim][packet][control]") {
  infiniband_cct::Settings s;
  // 7 i^2 / (95^2 x 0.218): 0.91 at 16, 1.03 at 17, 57.4 at 127.
  REQUIRE(s.table.size() == 128);
  CHECK(s.table[16] == 0);
  CHECK(s.table[17] == 1);
  CHECK(s.table[127] == 57);
  s.ccti_min = 20;  // 7 x 400 / 1967.45 = 1.4
  s.ccti_increase = 4;
  infiniband_cct::Flow f{s, Path{50_GBps, 10_us, 4, 4096_B}};
  CHECK(f.rate(Time{}) == 25_GBps);
  f.notified(Time{});
  CHECK(f.ccti(Time{}) == 24);
  CHECK(f.ccti(Time::microseconds(1'000'000)) == 20);
}

TEST_CASE("dctcp: the window falls by alpha/2 once an RTT and grows once a round", "[sim][packet][control]") {
  dctcp::Settings s;
  s.g = 0.5;
  const Path path{1.25_GBps, 100_us, 4, 1500_B};  // bandwidth-delay product 125,000 B
  dctcp::Flow f{s, path};
  CHECK(f.window() == 125000_B);
  f.acked(ack(100_us, 100_us, 50'000));
  f.acked(ack(110_us, 100_us, 50'000, true, true));  // F = 1/2: alpha = 1/2 x 1 + 1/2 x 1/2; W (1 - 0.375)
  CHECK(f.alpha() == 0.75);
  CHECK(f.window() == 78125_B);
  f.acked(ack(150_us, 100_us, 50'000, true));  // within the RTT
  CHECK(f.window() == 78125_B);
  // alpha = (0.75 + 1/2) / 2 (50,000 of 100,000 marked); W + 615 Mb/s x 100 us = 7687.5 B
  f.acked(ack(210_us, 100_us, 50'000, false, true, 70'000));
  CHECK(f.alpha() == 0.625);
  CHECK(f.window() == 85812_B);
  f.acked(ack(310_us, 100_us, 1'500, false, true, 0));  // the window is not used: no growth
  CHECK(f.window() == 85812_B);
  CHECK(f.rate(310_us) == Rate::bytes_per_second(858'125'000));

  f.lost(400_us, 1500_B);
  CHECK(f.window() == 42906_B);
  f.lost(450_us, 1500_B);  // the same RTT
  CHECK(f.window() == 42906_B);
  f.timed_out(1000_us);
  CHECK(f.window() == 1500_B);
  f.acked(ack(1200_us, 100_us, 1'500));  // slow start, to half of 42,906.25
  f.acked(ack(1300_us, 100_us, 3'000));
  CHECK(f.window() == 6000_B);
  f.acked(ack(1400_us, 100_us, 60'000));
  CHECK(f.window() == 21453_B);
}

TEST_CASE("timely: by the gradient between two thresholds", "[sim][packet][control]") {
  const timely::Settings s;
  const Path path{10_GBps, 20_us, 4, 4096_B};  // step 10 MB/s
  timely::Flow f{s, path};
  const auto round = [&](Time rtt) {
    f.acked(ack(Time{}, rtt, 4096, false, true));
    return f.rate(Time{});
  };
  CHECK(round(100_us) == 10_GBps);  // the first is only remembered
  CHECK(f.sent(Time{}, 4096_B) == Time{});
  // D = 7/8 x 4 us = 3.5 us, G = 3.5 / 20: R (1 - 0.8 x 0.175)
  CHECK(round(104_us) == 8.6_GBps);
  CHECK(f.sent(Time{}, 4096_B) == 476'280_ps);  // 4096 / 8.6 = 476.279 ns
  f.acked(ack(Time{}, 300_us, 4096));           // not a round
  CHECK(f.rate(Time{}) == 8.6_GBps);
  CHECK(round(100_us) == 8.61_GBps);  // D = 3.5/8 - 3.5 < 0
  for (int k = 0; k < 3; ++k) round(100_us);
  CHECK(f.rate(Time{}) == 8.64_GBps);
  CHECK(round(100_us) == 8.69_GBps);                                   // the fifth in a row: five steps
  CHECK(round(600_us).GBps() == Approx(8.69 * (1 - 0.8 / 6)));         // above t_high
  CHECK(round(40_us).GBps() == Approx(8.69 * (1 - 0.8 / 6) + 0.010));  // below t_low
  CHECK(round(490_us) == megabits(100));                               // a steep gradient: no less than min_rate
}

TEST_CASE("swift: a window from the delay against a target that grows as the window falls", "[sim][packet][control]") {
  swift::Settings s;
  s.per_hop = 5_us;
  s.initial_window = 100;
  const Path path{10_GBps, 20_us, 2, 4000_B};
  swift::Flow f{s, path};
  CHECK(f.target() == 30_us);  // 20 + 2 x 5; no scaling from 100 packets
  f.acked(ack(100_us, 25_us, 4000));
  CHECK(f.window() == 400040_B);  // + 1/100 packet
  f.acked(ack(200_us, 40_us, 4000));
  CHECK(f.window() == 320032_B);      // 1 - 0.8 x 10/40
  f.acked(ack(201_us, 40_us, 4000));  // the same RTT
  CHECK(f.window() == 320032_B);
  f.acked(ack(300_us, 500_us, 4000));  // 1 - 0.8 x 0.94 is less than 1 - 0.5
  CHECK(f.window() == 160016_B);
  f.lost(500_us, 4000_B);
  CHECK(f.window() == 80008_B);

  // A = 100 us / (1/sqrt(0.1) - 1/10) = 32.6554 us, B = -A/10.
  const auto target = [&](double window) {
    s.initial_window = window;
    return swift::Flow{s, path}.target().us();
  };
  CHECK(target(25) == Approx(30 + 32.65537 / 5 - 3.265537));
  CHECK(target(0.25) == Approx(30 + 32.65537 * 2 - 3.265537));
  CHECK(target(0.1) == Approx(130));
}

TEST_CASE("swift: below one packet the window is a pace; timeouts in a row", "[sim][packet][control]") {
  swift::Settings s;
  s.initial_window = 0.5;
  swift::Flow f{s, Path{10_GBps, 20_us, 2, 4000_B}};
  CHECK(f.window() == 4000_B);
  CHECK(f.sent(Time{}, 4000_B) == 40_us);  // RTT / 0.5
  f.acked(ack(20_us, 20_us, 4000));        // + 1
  CHECK(f.sent(20_us, 4000_B) == Time{});
  CHECK(f.window() == 6000_B);
  for (int k = 0; k < 4; ++k) f.timed_out(100_us + 100_us * k);  // halves: 0.75, 0.375, 0.1875, and the least, 0.1
  CHECK(f.sent(500_us, 4000_B) == 200_us);

  s.initial_window = 100;
  swift::Flow g{s, Path{10_GBps, 20_us, 2, 4000_B}};
  for (int k = 0; k < 4; ++k) g.timed_out(100_us + 1_us * k);  // one RTT: one cut
  CHECK(g.window() == 200000_B);
  g.timed_out(105_us);  // the fifth
  CHECK(g.sent(105_us, 4000_B) == 200_us);
}

TEST_CASE("hpcc: the window that would bring the busiest hop to eta", "[sim][packet][control]") {
  hpcc::Settings s;
  s.additive = 0.1_GBps;
  const Path path{10_GBps, 10_us, 2, 4000_B};
  hpcc::Flow f{s, path};
  std::array<Hop, 2> hops{Hop{0, 100_us, 50'000, 10_GBps}, Hop{0, 101_us, 0, 10_GBps}};
  const auto feed = [&](Time later, std::int64_t bytes, std::uint32_t queue, bool round) {
    for (auto& hop : hops) hop.at += later;
    hops[0].sent_bytes += static_cast<std::uint64_t>(bytes);
    hops[0].queue = queue;
    auto a = ack(hops[1].at, 12_us, 4000, false, round);
    a.hops = hops;
    f.acked(a);
  };
  feed(Time{}, 0, 50'000, true);  // the first record
  CHECK(f.window() == 100000_B);
  CHECK(f.sent(Time{}, 4000_B) == Time{});
  // Hop 0 sent 100,000 B in 10 us: 1; the smaller queue 30,000 of 100,000 B: 0.3. Hop 1: 0.
  feed(10_us, 100'000, 30'000, false);
  CHECK(f.utilisation() == Approx(1.3));
  CHECK(f.rate(Time{}).GBps() == Approx(10 * 0.95 / 1.3 + 0.1));
  CHECK(f.sent(Time{}, 4000_B).us() == Approx(4 / (10 * 0.95 / 1.3 + 0.1)).epsilon(1e-5));
  // 2 us at one half, a fifth of the base RTT: U = 1.3 + (0.5 - 1.3) / 5 = 1.14; still from 10, as no round was over.
  feed(2_us, 10'000, 0, true);
  CHECK(f.utilisation() == Approx(1.14));
  const double reference = 10 * 0.95 / 1.14 + 0.1;
  CHECK(f.rate(Time{}).GBps() == Approx(reference));
  // U = 0.5 < eta: five additive stages, then one jump, at most to the line.
  feed(10_us, 50'000, 0, false);
  CHECK(f.rate(Time{}).GBps() == Approx(reference + 0.1));
  for (int k = 0; k < 5; ++k) feed(10_us, 50'000, 0, true);
  CHECK(f.rate(Time{}).GBps() == Approx(reference + 0.5));
  feed(10_us, 80'000, 0, true);  // U = 0.8
  CHECK(f.rate(Time{}).GBps() == Approx(std::min(10.0, (reference + 0.5) * 0.95 / 0.8 + 0.1)));
  feed(10_us, 90'000, 0, true);
  CHECK(f.rate(Time{}) == 10_GBps);
  SECTION("a record of another way says nothing") {
    hops[0].sent_bytes = 5;
    hops[1].at = Time{};
    feed(10_us, 0, 1'000'000, true);
    CHECK(f.rate(Time{}) == 10_GBps);
  }
}

TEST_CASE("nscc: four cases of mark and delay", "[sim][packet][control]") {
  nscc::Settings s;
  s.delay_weight = 1;                            // the mean is the last
  const Path path{12.5_GBps, 12_us, 4, 4000_B};  // a = 1; bandwidth-delay product 150,000 B; Q = 9 us
  nscc::Flow f{s, path};
  CHECK(f.target() == 9_us);
  CHECK(f.window() == 225000_B);
  // Marked, d = 18 us: W (1 - 0.8 (18 - 9) / 18) = 0.6 W = 135,000; an RTT since the last adjustment: + 0.15 x 4000.
  f.acked(ack(100_us, 30_us, 4000, true));
  CHECK(f.window() == 135600_B);
  f.acked(ack(105_us, 30_us, 4000, true));  // the same RTT
  CHECK(f.window() == 135600_B);
  f.acked(ack(107_us, 15_us, 4000, true));  // marked, d < Q: another path's matter
  CHECK(f.window() == 135600_B);
  // Not marked, d = 10 us: I = 5 x 4000 x 4000 = 8e7. Its delay counts as 12/4 us in the mean.
  f.acked(ack(108_us, 22_us, 4000));
  CHECK(f.mean_delay() == 3_us);
  CHECK(f.window() == 135600_B);
  // Not marked, d = 3 us: I += 4 x 4000 / 12 us x 4000 x 6 us = 3.2e7; 13 us since: W += 1.12e8 / W + 600.
  f.acked(ack(113_us, 15_us, 4000));
  CHECK(f.window() == Bytes{137'025});  // 135,600 + 825.96 + 600
}

TEST_CASE("nscc: no cut below half, and none while the mean delay is low", "[sim][packet][control]") {
  nscc::Settings s;
  nscc::Flow f{s, Path{12.5_GBps, 12_us, 4, 4000_B}};
  f.acked(ack(1_us, 30_us, 4000, true));  // the mean is 18 us / 80
  CHECK(f.window() == 225000_B);
  s.delay_weight = 1;
  s.gamma = 2;
  nscc::Flow g{s, Path{12.5_GBps, 12_us, 4, 4000_B}};
  g.acked(ack(1_us, 30_us, 4000, true));  // 1 - 2 x 1/2 is less than 1/2
  CHECK(g.window() == 112500_B);
}

TEST_CASE("nscc: fast increase after a window without delay", "[sim][packet][control]") {
  nscc::Settings s;
  s.delay_weight = 1;
  s.eta = s.proportional = 0;
  nscc::Flow f{s, Path{12.5_GBps, 12_us, 4, 4000_B}};
  f.acked(ack(100_us, 30_us, 4000, true));
  CHECK(f.window() == 135000_B);
  f.acked(ack(120_us, 12_us, 100'000));
  CHECK(f.window() == 135000_B);  // 100,000 B of 135,000
  f.acked(ack(121_us, 12_us, 36'000));
  CHECK(f.window() == 144000_B);  // + 36,000 / 4
  f.acked(ack(122_us, 12_us, 4'000));
  CHECK(f.window() == 145000_B);
  f.acked(ack(123_us, 14_us, 4'000));  // 2 us: over
  f.acked(ack(124_us, 12_us, 4'000));
  CHECK(f.window() == 145000_B);
}

TEST_CASE("nscc: losses, and quick adapt to what came through", "[sim][packet][control]") {
  nscc::Settings s;
  s.eta = s.proportional = s.fast = 0;
  const Path path{12.5_GBps, 12_us, 4, 4000_B};
  nscc::Flow f{s, path};
  f.acked(ack(1_us, 12_us, 4000, false, false, 100'000));  // the period ends at 1 + 12 + 9 us
  f.lost(3_us, 4000_B);
  CHECK(f.window() == 221000_B);
  f.acked(ack(5_us, 12_us, 8000, false, false, 100'000));
  f.lost(30_us, 4000_B);  // 8000 B in the period, less than 225,000 / 8
  CHECK(f.window() == 8000_B);
  // What was under way then: 100,000 B of marks and losses change nothing.
  f.acked(ack(60_us, 200_us, 4000, true, false, 90'000));
  f.lost(61_us, 4000_B);
  CHECK(f.window() == 8000_B);
  f.acked(ack(62_us, 13_us, 96'000, false, false, 0));  // now it has all come
  f.lost(63_us, 2000_B);
  CHECK(f.window() == 6000_B);
  f.timed_out(64_us);  // no less than a packet
  CHECK(f.window() == 4000_B);

  SECTION("none where enough came through") {
    nscc::Flow g{s, path};
    g.acked(ack(1_us, 12_us, 4000));
    g.acked(ack(5_us, 12_us, 28'125));
    g.lost(30_us, 4000_B);
    CHECK(g.window() == 221000_B);
  }
  SECTION("or by a delay of four targets") {
    nscc::Flow g{s, path};
    g.acked(ack(1_us, 12_us, 4000));
    g.acked(ack(30_us, 49_us, 5000));  // d = 37 us
    CHECK(g.window() == 5000_B);
  }
}
