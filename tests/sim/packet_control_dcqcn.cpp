// DCQCN: the published rules step by step, with numbers worked out by hand; rates in GB/s on a line of 50 (400 Gb/s).
#include <cmath>

#include "catch.hpp"
#include "linkcast/sim/packet/control/dcqcn.hpp"
#include "print.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;
using namespace linkcast::sim::packet;
using dcqcn::Flow;
using dcqcn::Settings;

namespace {

const Path path{50_GBps, 10_us, 4, 4096_B};

// Round numbers: a starts at 1 and stays there for long, the byte counter is far away, every cut sets the target.
Settings round_numbers() {
  Settings s;
  s.rpg_time_reset = 100_us;
  s.rpg_byte_reset = 1000000000_B;
  s.rpg_threshold = 2;
  s.rpg_ai_rate = 0.5_GBps;
  s.rpg_hai_rate = 5_GBps;
  s.rpg_min_dec_fac = 0;
  s.initial_alpha_value = 1024;
  s.dce_tcp_rtt = Time::microseconds(100'000);
  s.clamp_tgt_rate = true;
  return s;
}

}  // namespace

TEST_CASE("dcqcn: without a CNP a flow is at the line and has no gaps", "[sim][packet][control]") {
  const auto s = Settings::mlx5();
  Flow f{s, path};
  CHECK(f.sent(1_us, 4096_B) == Time{});
  CHECK(f.rate(Time::microseconds(5'000'000)) == 50_GBps);
  CHECK(f.window() == no_window);
}

TEST_CASE("dcqcn: cut by alpha/2, decay of alpha, fast recovery, additive increase", "[sim][packet][control]") {
  auto s = round_numbers();
  s.dce_tcp_rtt = 10_us;
  s.dce_tcp_g = 512;  // one half
  Flow f{s, path};
  f.notified(Time{});  // R = 50 (1 - 1/2)
  CHECK(f.rate(Time{}) == 25_GBps);
  CHECK(f.target() == 50_GBps);
  CHECK(f.alpha(10_us) == 1);      // 1/2 x 1 + 1/2, for the CNP
  CHECK(f.alpha(20_us) == 0.5);    // no CNP since
  CHECK(f.alpha(45_us) == 0.125);  // at 30 and 40
  f.notified(45_us);               // T = 25, R = 25 (1 - 1/16)
  CHECK(f.rate(45_us) == 23.4375_GBps);
  CHECK(f.target() == 25_GBps);
  CHECK(f.alpha(50_us) == 0.5625);  // 1/2 x 1/8 + 1/2

  // The timer starts anew at the cut: 145, 245, ...; two rounds of fast recovery, then T grows by 0.5.
  CHECK(f.rate(Time::picoseconds(144'999'999)) == 23.4375_GBps);
  CHECK(f.rate(145_us) == 24.21875_GBps);   // (23.4375 + 25) / 2
  CHECK(f.rate(245_us) == 24.609375_GBps);  // (24.21875 + 25) / 2
  CHECK(f.target() == 25_GBps);
  CHECK(f.rate(345_us) == 25.0546875_GBps);  // (24.609375 + 25.5) / 2
  CHECK(f.target() == 25.5_GBps);
  CHECK(f.rate(445_us) == 25.52734375_GBps);  // (25.0546875 + 26) / 2
}

TEST_CASE("dcqcn: byte counter, and hyper increase when both counters are past the threshold",
          "[sim][packet][control]") {
  auto s = round_numbers();
  s.rpg_threshold = 1;
  s.rpg_byte_reset = 1000000_B;
  Flow f{s, path};
  f.notified(Time{});
  f.notified(4_us);  // R = 12.5, T = 25, timer at 104, 204, ...
  CHECK(f.rate(4_us) == 12.5_GBps);

  CHECK(f.sent(5_us, 400000_B) == 32_us);  // 400,000 B / 12.5 GB/s
  f.sent(5_us, 599999_B);
  CHECK(f.rate(5_us) == 12.5_GBps);  // one byte is missing
  f.sent(5_us, 1_B);
  CHECK(f.rate(5_us) == 18.75_GBps);  // b = 1: fast recovery
  // b = 2, t = 0: additive, T = 25.5, R = (18.75 + 25.5) / 2 = 22.125; 10^6 B / 22.125 GB/s = 45.197740.. us
  CHECK(f.sent(5_us, 1000000_B) == 45'197'741_ps);
  CHECK(f.rate(5_us) == 22.125_GBps);
  CHECK(f.rate(104_us) == 24.0625_GBps);   // t = 1, b = 2: T = 26, (22.125 + 26) / 2
  CHECK(f.rate(204_us) == 27.53125_GBps);  // t = 2, b = 2: hyper, T = 31, (24.0625 + 31) / 2
  CHECK(f.target() == 31_GBps);
  f.notified(204_us);  // both counters start anew: 1 B short of the reset changes nothing
  CHECK(f.rate(204_us) == 13.765625_GBps);
  f.sent(205_us, 999999_B);
  CHECK(f.rate(205_us) == 13.765625_GBps);
}

TEST_CASE("dcqcn: without a byte counter one additive increase, then hyper", "[sim][packet][control]") {
  auto s = round_numbers();
  s.rpg_byte_reset = 0_B;
  s.rpg_threshold = 1;
  Flow f{s, path};
  f.notified(Time{});
  f.notified(4_us);
  f.sent(5_us, Bytes{1'000'000'000'000});      // counts nothing
  CHECK(f.rate(104_us) == 18.75_GBps);         // fast
  CHECK(f.rate(204_us) == 22.125_GBps);        // T = 25.5
  CHECK(f.rate(304_us) == 26.3125_GBps);       // T = 30.5
  CHECK(f.rate(404_us) == 30.90625_GBps);      // T = 35.5
  CHECK(f.rate(504_us) == 35.703125_GBps);     // T = 40.5
  CHECK(f.rate(604_us) == 40.6015625_GBps);    // T = 45.5
  CHECK(f.rate(704_us) == 45.30078125_GBps);   // T = 50
  CHECK(f.rate(804_us) == 47.650390625_GBps);  // T stays at the line
  CHECK(f.rate(904_us) == 48.8251953125_GBps);
}

TEST_CASE("dcqcn: one cut in a monitor period; what comes meanwhile counts once at its end", "[sim][packet][control]") {
  const auto s = round_numbers();
  Flow f{s, path};
  f.notified(Time{});
  for (const auto at : {1_us, 2_us, 3_us}) f.notified(at);
  CHECK(f.rate(Time::picoseconds(3'999'999)) == 25_GBps);
  CHECK(f.rate(4_us) == 12.5_GBps);
  CHECK(f.rate(50_us) == 12.5_GBps);
  f.notified(50_us);  // long after the last cut: at once
  CHECK(f.rate(50_us) == 6.25_GBps);
}

TEST_CASE("dcqcn: the target after a cut", "[sim][packet][control]") {
  auto s = round_numbers();
  s.rpg_byte_reset = 1000000_B;
  const auto after = [&](bool timer, bool bytes) {
    Flow f{s, path};
    f.notified(Time{});
    if (timer) CHECK(f.rate(100_us) == 37.5_GBps);
    if (bytes) f.sent(100_us, 1000000_B);
    f.notified(150_us - (timer ? Time{} : 60_us));
    return f.target();
  };
  SECTION("clamp_tgt_rate: always the rate before it") { CHECK(after(false, false) == 25_GBps); }
  s.clamp_tgt_rate = false;
  SECTION("else only if the rate has risen since the last cut") {
    CHECK(after(false, false) == 50_GBps);
    CHECK(after(true, false) == 37.5_GBps);
    CHECK(after(true, true) == 43.75_GBps);
  }
  SECTION("clamp_tgt_rate_after_time_inc off: risen by the byte counter") {
    s.clamp_tgt_rate_after_time_inc = false;
    CHECK(after(true, false) == 50_GBps);
    CHECK(after(true, true) == 43.75_GBps);
  }
}

TEST_CASE("dcqcn: the two readings of dce_tcp_g", "[sim][packet][control]") {
  auto s = Settings::mlx5();
  const double start = 1023.0 / 1024;
  SECTION("weight of the old value: g = 5/1024") {
    Flow f{s, path};
    f.notified(Time{});
    CHECK(f.rate(Time{}).GBps() == Approx(50 * (1 - start / 2)));
    const double first = start * 1019 / 1024 + 5.0 / 1024;
    CHECK(f.alpha(1_us) == Approx(first));
    CHECK(f.alpha(10_us) == Approx(first * std::pow(1019.0 / 1024, 9)));  // 0.9560: the next cut is by 0.478
    const double before = f.rate(10_us).GBps();
    f.notified(10_us);
    CHECK(f.rate(10_us).GBps() == Approx(before * (1 - first * std::pow(1019.0 / 1024, 9) / 2)));
  }
  SECTION("weight of the new value: g = 1019/1024, and all is forgotten in 10 us") {
    s.dce_tcp_g_reading = dcqcn::GainReading::new_weight;
    Flow f{s, path};
    f.notified(Time{});
    const double first = start * 5 / 1024 + 1019.0 / 1024;
    CHECK(f.alpha(1_us) == Approx(first));
    CHECK(f.alpha(2_us) == Approx(first * 5 / 1024));
    const double before = f.rate(10_us).GBps();
    f.notified(10_us);
    CHECK(f.rate(10_us).GBps() == Approx(before));
  }
}

TEST_CASE("dcqcn: bounds of a cut", "[sim][packet][control]") {
  auto s = round_numbers();
  SECTION("rpg_min_dec_fac") {
    s.rpg_min_dec_fac = 80;
    Flow f{s, path};
    f.notified(Time{});
    CHECK(f.rate(Time{}) == 40_GBps);
  }
  SECTION("rpg_min_rate") {
    s.rpg_min_rate = 20_GBps;
    Flow f{s, path};
    for (int k = 0; k < 5; ++k) f.notified(4_us * k);
    CHECK(f.rate(20_us) == 20_GBps);
  }
  SECTION("rpg_gd: 10 cuts by all of alpha") {
    s.rpg_gd = 10;
    s.initial_alpha_value = 256;
    Flow f{s, path};
    f.notified(Time{});
    CHECK(f.rate(Time{}) == 37.5_GBps);
  }
  SECTION("rate_to_set_on_first_cnp instead of a cut, for target and rate") {
    s.rate_to_set_on_first_cnp = 10_GBps;
    Flow f{s, path};
    f.notified(Time{});
    CHECK(f.rate(Time{}) == 10_GBps);
    CHECK(f.target() == 10_GBps);
    f.notified(4_us);
    CHECK(f.rate(4_us) == 5_GBps);
  }
}

TEST_CASE("dcqcn: a gap that timers fall into is sent at the rate that rises", "[sim][packet][control]") {
  auto s = round_numbers();
  s.rpg_time_reset = 10_us;
  s.rpg_threshold = 5;
  Flow f{s, Path{1_GBps, 10_us, 1, 10000_B}};
  f.notified(Time{});
  // 0.5 B/ns until 10 us: 5000 B; then 0.75 B/ns: 5000 B more in 6.666.. us.
  CHECK(f.sent(Time{}, 10000_B) == 16'666'667_ps);
  CHECK(f.rate(Time{}) == 0.5_GBps);  // asking ahead changes nothing
  // 5000, 7500, then 0.875 B/ns from 20 us: 7500 B in 8.571428.. us.
  CHECK(f.sent(Time{}, 20000_B) == 28'571'429_ps);
}

TEST_CASE("dcqcn: the limiter lets go at the line, and the next CNP is a first one", "[sim][packet][control]") {
  // 50 x 1023/2048 = 24.976 GB/s are missing; a half of it each 300 us: below 1 Mb/s = 125 kB/s after 18 periods
  // (24.976e9 / 2^18 = 95,275; / 2^17 = 190,551).
  auto s = Settings::mlx5();
  const auto last = 300_us * 18;
  const auto cut_after = [&](const Settings& settings) {
    Flow f{settings, path};
    f.notified(Time{});
    CHECK(f.sent(last - 1_ps, 4096_B) > transfer_time(4096_B, 50_GBps));
    CHECK(f.sent(last, 4096_B) == Time{});
    CHECK(f.rate(last) == 50_GBps);
    f.notified(last + 1_us);
    return f.rate(last + 1_us).GBps() / 50;
  };
  CHECK(cut_after(s) == Approx(1 - 1023.0 / 2048));
  s.first_cnp_once = true;  // alpha went on falling meanwhile: (1019/1024)^5400 is 3e-12
  CHECK(cut_after(s) == Approx(1).margin(1e-9));
}

TEST_CASE("dcqcn: years of idleness cost nothing", "[sim][packet][control]") {
  auto s = round_numbers();
  s.rpg_ai_rate = s.rpg_hai_rate = Rate{};
  s.rpg_time_reset = 1_us;
  Flow f{s, path};
  f.notified(Time{});
  f.notified(4_us);  // from 50 - 25/16, four periods after the first: that is the target now
  CHECK(f.rate(4_us) == 24.21875_GBps);
  const auto late = Time::microseconds(5'000'000'000'000);  // 5 x 10^12 periods
  CHECK(f.rate(late) == 48.4375_GBps);
  f.notified(late);
  CHECK(f.rate(late) == 48.4375_GBps);  // alpha is gone, too
}

namespace {

// Two CNPs a monitor period apart, then sends without pause: when is it at 95 % of the line?
double seconds_to_recover(const Settings& s) {
  Flow f{s, path};
  f.notified(Time{});
  f.notified(4_us);
  Time now = 4_us;
  while (f.rate(now) < 47.5_GBps) now += f.sent(now, 65536_B);
  return now.seconds();
}

}  // namespace

TEST_CASE("dcqcn: recovery with default timers takes the better part of a second", "[sim][packet][control]") {
  auto s = Settings::mlx5();
  SECTION("after one cut the target is still the line: halves of what is missing") {
    Flow f{s, path};
    f.notified(Time{});
    CHECK(f.rate(900_us) < 47.5_GBps);  // 50 - 24.976 / 8 = 46.88
    CHECK(f.rate(1200_us) > 47.5_GBps);
  }
  SECTION("after two, with the target clamped, it has to be climbed") {
    s.clamp_tgt_rate = true;
    // T = 25.02. Until b = 2 (65.5 MB at 25 GB/s, and 7.4 MB that the first periods are behind): 2.9 ms, where T hardly
    // moves. Then hyper, 6.25 MB/s for each period of 300 us and each 32.767 MB: dT/dt = A + K T, A = 6.25e6 / 300 us,
    // K = 6.25 / 32.767; from 25.03 to 47.5: ln((20.833 + 9.060) / (20.833 + 4.774)) / 0.19074 = 0.8115 s.
    CHECK(seconds_to_recover(s) == Approx(0.8115 + 0.0029).epsilon(0.01));
    // Aggressive, 75/50/500: 65.5 + 1.85 MB at 25 GB/s: 2.7 ms, in which 36 additive steps make 0.23 GB/s. Then
    // A = 62.5e6 / 75 us, K = 62.5 / 32.767: ln((833.3 + 90.6) / (833.3 + 48.2)) / 1.9074 = 0.0247 s.
    s.rpg_time_reset = 75_us;
    s.rpg_ai_rate = megabits(50);
    s.rpg_hai_rate = megabits(500);
    CHECK(seconds_to_recover(s) == Approx(0.0247 + 0.0027).epsilon(0.02));
  }
}

TEST_CASE("dcqcn: presets", "[sim][packet][control]") {
  SECTION("paper: five rounds of fast recovery") {
    const auto s = Settings::paper2015();
    Flow f{s, Path{5_GBps, 10_us, 4, 1000_B}};
    f.notified(Time{});
    CHECK(f.rate(Time{}) == 2.5_GBps);
    f.notified(50_us);  // alpha: one update, for the CNP at 0: 1; T = 2.5
    CHECK(f.rate(50_us) == 1.25_GBps);
    CHECK(f.rate(50_us + 55_us * 5) == Rate::bytes_per_second(2'460'937'500));  // 2.5 - 1.25 / 32
    CHECK(f.target() == 2.5_GBps);
    CHECK(f.rate(50_us + 55_us * 6) == Rate::bytes_per_second(2'482'968'750));  // T = 2.505: (2.4609375 + 2.505) / 2
  }
  SECTION("HPCC repository: rates grow with the line") {
    const auto s = Settings::hpcc_repo(50_GBps);
    CHECK(s.rpg_ai_rate == megabits(80));  // 5 x 400 / 25
    CHECK(s.rpg_hai_rate == megabits(800));
    CHECK(s.rpg_byte_reset == 0_B);
  }
}
