// The bank of flows, and what holds for all algorithms: rates and windows within their bounds, whatever happens, and
// being asked more often changes nothing.
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "linkcast/sim/packet/control.hpp"
#include "print.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;
using namespace linkcast::sim::packet;

namespace {

const Path path{50_GBps, 10_us, 4, 4160_B};

std::vector<ControlSettings> all() {
  auto tight = dcqcn::Settings::mlx5();
  tight.rpg_time_reset = 20_us;
  tight.rpg_byte_reset = 100000_B;
  auto slow = infiniband_cct::Settings{};
  slow.table = infiniband_cct::linear_table();
  return {Uncontrolled{},
          dcqcn::Settings::mlx5(),
          dcqcn::Settings::paper2015(),
          dcqcn::Settings::hpcc_repo(50_GBps),
          tight,
          slow,
          dctcp::Settings{},
          timely::Settings{},
          swift::Settings{},
          hpcc::Settings{},
          nscc::Settings{}};
}

// One life of a flow: sends, acknowledgements good and bad, CNPs, losses and rests, from a seed.
template <class See>
void live(ControlBank& bank, std::uint32_t flow, std::uint64_t seed, See see) {
  std::mt19937_64 random{seed};
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  Time now;
  std::array<Hop, 3> hops;
  for (auto& hop : hops) hop.rate = 50_GBps;
  for (int step = 0; step < 4000; ++step) {
    now += Time::picoseconds(1 + below(below(50) == 0 ? 2'000'000'000 : 400'000));
    switch (below(8)) {
      case 0:
        bank.notified(flow, now);
        break;
      case 1:
        bank.lost(flow, now, Bytes{1 + below(4160)});
        break;
      case 2:
        if (below(20) == 0) bank.timed_out(flow, now);
        break;
      case 3:
      case 4: {
        Ack a;
        a.now = now;
        a.rtt = 10_us + Time::picoseconds(below(below(2) == 0 ? 1'000'000 : 400'000'000));
        a.newly = Bytes{below(20'000)};
        a.in_flight = Bytes{below(700'000)};
        a.marked = below(2) == 0;
        a.round = below(8) == 0;
        for (auto& hop : hops) {
          hop.at = now;
          hop.sent_bytes += static_cast<std::uint64_t>(below(100'000));
          hop.queue = static_cast<std::uint32_t>(below(1'000'000));
        }
        a.hops = hops;
        bank.acked(flow, a);
        break;
      }
      default:
        see(now, bank.sent(flow, now, Bytes{64 + below(4097)}));
        break;
    }
  }
}

}  // namespace

TEST_CASE("control: rate within (0, line], window at least a packet, gaps not negative", "[sim][packet][control]") {
  for (const auto& settings : all()) {
    ControlBank bank{settings};
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto flow = bank.add(path);
      bool good = true, slowed = false;
      live(bank, flow, seed, [&](Time now, Time gap) {
        const auto rate = bank.rate(flow, now);
        good = good && rate > Rate{} && rate <= path.line && bank.window(flow) >= path.packet && gap >= Time{};
        slowed = slowed || rate < path.line;
      });
      INFO("algorithm " << settings.index() << ", seed " << seed);
      CHECK(good);
      CHECK(slowed == (settings.index() != 0));
    }
  }
}

TEST_CASE("control: asked often or seldom, the same answers", "[sim][packet][control]") {
  for (const auto& settings : all()) {
    ControlBank seldom{settings}, often{settings};
    seldom.add(path), often.add(path);
    std::vector<Time> first, second;
    live(seldom, 0, 7, [&](Time, Time gap) { first.push_back(gap); });
    live(often, 0, 7, [&](Time now, Time gap) {
      second.push_back(gap);
      for (int k = 0; k < 3; ++k) often.rate(0, now);
    });
    INFO("algorithm " << settings.index());
    CHECK(first == second);
    CHECK(seldom.rate(0, Time::microseconds(20'000'000)) == often.rate(0, Time::microseconds(20'000'000)));
  }
}

TEST_CASE("control: dcqcn asked at every timer is dcqcn asked at the end", "[sim][packet][control]") {
  auto s = dcqcn::Settings::mlx5();
  s.rpg_time_reset = 7_us;
  s.clamp_tgt_rate = true;
  std::mt19937_64 random{11};
  for (int life = 0; life < 50; ++life) {
    dcqcn::Flow seldom{s, path}, often{s, path};
    Time now;
    for (int cnp = 0; cnp < 20; ++cnp) {
      seldom.notified(now), often.notified(now);
      const auto until = now + Time::picoseconds(static_cast<std::int64_t>(random() % 300'000'000));
      for (; now < until; now += 500_ns) {
        often.rate(now);
        if (random() % 2 == 0) often.alpha(now);
      }
    }
    CHECK(seldom.rate(now) == often.rate(now));
    CHECK(seldom.target() == often.target());
    CHECK(seldom.alpha(now) == Approx(often.alpha(now)));
  }
}

TEST_CASE("control: what each algorithm wants", "[sim][packet][control]") {
  const auto wants = [](const ControlSettings& s) {
    const ControlBank bank{s};
    return std::array{bank.wants_every_ack(), bank.wants_telemetry(), bank.wants_notifications()};
  };
  CHECK(wants(Uncontrolled{}) == std::array{false, false, false});
  CHECK(wants(dcqcn::Settings{}) == std::array{false, false, true});
  CHECK(wants(infiniband_cct::Settings{}) == std::array{false, false, true});
  CHECK(wants(dctcp::Settings{}) == std::array{true, false, false});
  CHECK(wants(timely::Settings{}) == std::array{true, false, false});
  CHECK(wants(swift::Settings{}) == std::array{true, false, false});
  CHECK(wants(hpcc::Settings{}) == std::array{true, true, false});
  CHECK(wants(nscc::Settings{}) == std::array{true, false, false});
}

TEST_CASE("control: flows are their own, and a bank may be moved", "[sim][packet][control]") {
  ControlBank bank{dcqcn::Settings::mlx5()};
  CHECK(bank.add(path) == 0);
  CHECK(bank.add(path) == 1);
  bank.notified(1, Time{});
  ControlBank moved{std::move(bank)};
  CHECK(moved.rate(0, 1_us) == path.line);
  CHECK(moved.rate(1, 1_us).GBps() == Approx(50 * (1 - 1023.0 / 2048)));
  moved.notified(1, 10_us);
  CHECK(moved.rate(1, 10_us) < 14_GBps);

  ControlBank free{Uncontrolled{1000000_B}};
  free.add(path);
  CHECK(free.window(0) == 1000000_B);
  CHECK(free.rate(0, Time{}) == path.line);
}

TEST_CASE("control: parameters that make no sense are named, all of them", "[sim][packet][control]") {
  for (const auto& settings : all()) CHECK(problems(settings).empty());
  dcqcn::Settings d;
  d.dce_tcp_rtt = Time{};
  d.rpg_gd = 9;
  d.rpg_min_dec_fac = 101;
  REQUIRE(problems(d).size() == 3);
  CHECK(problems(d)[0] == "rpg_gd: 10 (a cut by alpha) to 15 (by alpha / 32)");
  d = {};
  d.rpg_time_reset = Time{}, d.rpg_byte_reset = Bytes{};
  CHECK(problems(d).size() == 1);
  infiniband_cct::Settings i;
  i.table.clear();
  CHECK(problems(i).size() == 2);  // and ccti_min is no entry of it
  timely::Settings t;
  t.t_high = t.t_low;
  CHECK(problems(t) == std::vector<std::string>{"t_high: more than t_low"});
}
