#include "rates.hpp"

#include <algorithm>

namespace linkcast::workloads {

void add_usages(std::vector<sim::Usage>& to, std::span<const sim::Usage> lane, double weight) {
  for (const auto& u : lane) {
    const auto it = std::find_if(to.begin(), to.end(), [&](const auto& x) { return x.resource == u.resource; });
    if (it == to.end())
      to.push_back({u.resource, u.weight * weight});
    else
      it->weight += u.weight * weight;
  }
}

std::vector<sim::Usage> UsageSum::take() const {
  std::vector<sim::Usage> out;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i] > 0) out.push_back({sim::ResourceId{static_cast<std::uint32_t>(i)}, weights_[i]});
  return out;
}

sim::Rate window_rate(int slots, sim::Bytes unit, sim::Time hop, sim::Rate wire) {
  const auto round_trip = 2 * hop + transfer_time(unit, wire);
  if (round_trip <= sim::Time{}) return sim::Rate::unlimited();
  return sim::Rate::from_GBps(static_cast<double>(unit.count()) * slots / round_trip.us() * 1e-3);
}

void UsageSum::add(const UsageSum& other, double weight) {
  for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] += other.weights_[i] * weight;
}

sim::Rate rate_of(const sim::ResourceTable& resources, std::span<const double> weights) {
  double seconds = 0;  // of the slowest link, for one byte
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    const auto& r = resources[sim::ResourceId{static_cast<std::uint32_t>(i)}];
    seconds = std::max(seconds, weights[i] / static_cast<double>(r.capacity.bytes_per_second()));
  }
  return seconds > 0 ? sim::Rate::bytes_per_second(static_cast<std::int64_t>(1 / seconds)) : sim::Rate::unlimited();
}

sim::Rate rate_alone(const sim::ResourceTable& resources, std::span<const sim::Usage> usages, sim::Rate cap) {
  sim::Rate rate = cap;
  for (const auto& u : usages) rate = std::min(rate, resources[u.resource].capacity * (1.0 / u.weight));
  return rate;
}

std::vector<sim::Rate> rates_together(const sim::ResourceTable& resources,
                                      std::span<const std::vector<sim::Usage>> usages,
                                      std::span<const sim::Rate> caps) {
  // The engine's solver on unit flows that never end: start all, read the rates.
  sim::FluidNetwork network{resources};
  std::vector<sim::FlowId> ids;
  ids.reserve(usages.size());
  for (std::size_t i = 0; i < usages.size(); ++i)
    ids.push_back(network.start(sim::Time{}, usages[i], sim::gib(1), caps[i]));
  std::vector<sim::Rate> rates;
  rates.reserve(ids.size());
  for (const auto id : ids) rates.push_back(network.rate(id));
  return rates;
}

}  // namespace linkcast::workloads
