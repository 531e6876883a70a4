#include "jitter.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::workloads {

sim::Time jitter(sim::Time diffusion, sim::Time transfer, sim::Rate share, sim::Rate own) {
  double busy = 1.0;
  if (!own.is_unlimited()) busy = std::min(1.0, share.GBps() / own.GBps());
  return sim::Time::from_us(std::sqrt(diffusion.us() * transfer.us()) * busy * busy * busy * busy);
}

sim::Time bounded_jitter(sim::Time diffusion, sim::Time transfer, sim::Time bound) {
  return sim::Time::from_us(std::sqrt(diffusion.us() * transfer.us() / (1 + transfer.us() / bound.us())));
}

}  // namespace linkcast::workloads
