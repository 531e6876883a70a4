// Two DCQCN flows on one bottleneck, without a packet network: a queue that fills by what both send and marks by RED.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "catch.hpp"
#include "linkcast/sim/packet/control/dcqcn.hpp"
#include "print.hpp"

using namespace linkcast::sim;
using namespace linkcast::sim::literals;
using namespace linkcast::sim::packet;

namespace {

struct Bottleneck {
  Rate line;
  double kmin, kmax, pmax;  // bytes
  Time cnp_interval;
};

struct Outcome {
  std::array<double, 2> start{}, share{};  // GB/s; mean of the last 100 of 400 ms
};

// The first flow has been cut twelve times before the second starts at the line. In each interval a flow gets a CNP if
// one of its packets of 1000 B is marked.
Outcome compete(const dcqcn::Settings& s, const Bottleneck& b, std::uint64_t seed) {
  const Path path{b.line, 10_us, 4, 1000_B};
  std::array<dcqcn::Flow, 2> flows{dcqcn::Flow{s, path}, dcqcn::Flow{s, path}};
  for (int k = 0; k < 12; ++k) flows[0].notified(50_us * k);
  std::mt19937_64 random{seed};
  Outcome out;
  double queue = 0;
  const double ns = static_cast<double>(b.cnp_interval.ps()) * 1e-3;
  const auto steps = Time::microseconds(400'000).ps() / b.cnp_interval.ps();
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto now = 600_us + b.cnp_interval * i;
    const std::array rates{flows[0].rate(now).GBps(), flows[1].rate(now).GBps()};
    if (i == 0) out.start = rates;
    queue = std::max(0.0, queue + (rates[0] + rates[1] - b.line.GBps()) * ns);
    const double p = queue < b.kmin ? 0 : queue > b.kmax ? 1 : b.pmax * (queue - b.kmin) / (b.kmax - b.kmin);
    for (std::size_t f = 0; f < 2; ++f) {
      const double bytes = rates[f] * ns;
      flows[f].sent(now, Bytes{static_cast<std::int64_t>(bytes)});
      const double draw = static_cast<double>(random() >> 11) * 0x1p-53;
      if (draw < 1 - std::pow(1 - p, bytes / 1000)) flows[f].notified(now);
      if (i >= steps - steps / 4) out.share[f] += rates[f] / static_cast<double>(steps / 4);
    }
  }
  return out;
}

void expect_fair(const dcqcn::Settings& s, const Bottleneck& b) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto out = compete(s, b, seed);
    const double line = b.line.GBps();
    INFO("seed " << seed << ": " << out.share[0] << " and " << out.share[1] << " GB/s");
    CHECK(out.start[0] < 0.1 * line);
    CHECK(out.start[1] == line);
    for (const double share : out.share) CHECK(share / line == Approx(0.5).margin(0.05));
    CHECK((out.share[0] + out.share[1]) / line == Approx(1).margin(0.02));
  }
}

}  // namespace

TEST_CASE("dcqcn: two flows that start unequal share a link evenly", "[sim][packet][control]") {
  // Marking: DCQCN paper at 40 Gb/s; SimAI's at 400 Gb/s.
  SECTION("paper") { expect_fair(dcqcn::Settings::paper2015(), {5_GBps, 5e3, 200e3, 0.01, 50_us}); }
  const Bottleneck fast{50_GBps, 800e3, 3200e3, 0.2, 4_us};
  SECTION("mlx5") { expect_fair(dcqcn::Settings::mlx5(), fast); }
  SECTION("HPCC repository") { expect_fair(dcqcn::Settings::hpcc_repo(50_GBps), fast); }
}
