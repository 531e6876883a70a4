// See pair_rates.hpp. Shares with their sources: corpus p2p (A100 274 to 276 of 300, H100 375 to 393 of 450, V100 48 of
// 50 on two links, RTX A6000 26.3 on PCIe gen 4, RTX PRO 6000 56.6 on gen 5; staged: A100 16 to 21, H100 37, P100 10).
#include "pair_rates.hpp"

#include <algorithm>

namespace linkcast::calibration::diagnosis {
namespace {

constexpr double both_ways = 1.96;     // A100 538 of 2 x 275, H100 742 of 2 x 376, PCIe gen 4 51 of 2 x 26.3
constexpr double staged_share = 0.70;  // of the slot, one way: the two copies overlap in part
constexpr double staged_both = 1.15;   // H100 PCIe 35 after 26, A100 19 to 20 after 18

using models::LinkKind;

}  // namespace

PairRates::PairRates(topologies::Fabric fabric) : fabric_{std::move(fabric)} {
  const auto first = fabric_.gpus()[0];
  for (const auto& link : fabric_.links()) {
    if (link.a != first && link.b != first) continue;
    if (link.kind == LinkKind::nvlink) {
      nvlink_total_ += link.bare.GBps();
      nvlink_one_ = link.payload.GBps() / link.width;
    } else if (link.kind == LinkKind::pcie || link.kind == LinkKind::c2c) {
      pcie_ = std::max(pcie_, link.payload.GBps());
    }
  }
}

int PairRates::gpus() const { return static_cast<int>(fabric_.gpus().size()); }

bool PairRates::nvlink(int from, int to) const {
  return fabric_
      .route(fabric_.gpus()[static_cast<std::size_t>(from)], fabric_.gpus()[static_cast<std::size_t>(to)],
             topologies::Transport::nvlink)
      .has_value();
}

double PairRates::pair(int from, int to, bool bidirectional) const {
  const auto a = fabric_.gpus()[static_cast<std::size_t>(from)], b = fabric_.gpus()[static_cast<std::size_t>(to)];
  const double times = bidirectional ? both_ways : 1;
  const auto narrowest = [&](const topologies::Route& route, bool bare) {
    double least = 1e9;
    for (const auto& hop : route.hops) {
      const auto& link = fabric_.links()[static_cast<std::size_t>(hop.link)];
      least = std::min(least, (bare ? link.bare : link.payload).GBps() / hop.weight);
    }
    return least;
  };
  if (const auto route = fabric_.route(a, b, topologies::Transport::nvlink)) {
    const double share = std::min(1.0, narrowest(*route, true) / nvlink_total_);
    return times * share * fabric_.gpu_model(a).copy_engine.GBps();
  }
  if (const auto route = fabric_.route(a, b, topologies::Transport::pcie_p2p))
    return times * 1.01 * narrowest(*route, false);
  return staged(bidirectional);
}

double PairRates::best_pair(bool bidirectional) const {
  double best = 0;
  for (int to = 1; to < gpus(); ++to) best = std::max(best, pair(0, to, bidirectional));
  if (gpus() == 1 && nvlink_total_ > 0)
    return (bidirectional ? both_ways : 1) * fabric_.gpu_model(fabric_.gpus()[0]).copy_engine.GBps();
  return best;
}

double PairRates::staged(bool bidirectional) const { return staged_share * (bidirectional ? staged_both : 1) * pcie_; }
double PairRates::host() const { return pcie_; }
double PairRates::one_nvlink() const { return nvlink_one_; }

}  // namespace linkcast::calibration::diagnosis
