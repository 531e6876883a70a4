// Small arithmetic that the flow-level builders share: the rate of a flow that has the links for itself, and sums of
// link usages. The engine's own solver decides what really happens; this only sizes the latencies that depend on it.
#pragma once

#include <span>
#include <vector>

#include "linkcast/sim/fluid.hpp"

namespace linkcast::workloads {

/// Unlimited stays unlimited.
inline sim::Rate scaled(sim::Rate rate, double by) { return rate.is_unlimited() ? rate : rate * by; }

/// What a connection with so many slots carries over a hop: a slot is free again when the unit has gone there and word
/// of it has come back. Only long ways are held back by it.
sim::Rate window_rate(int slots, sim::Bytes unit, sim::Time hop, sim::Rate wire);

/// Adds `weight` times the usages of a lane, merging equal resources.
void add_usages(std::vector<sim::Usage>& to, std::span<const sim::Usage> lane, double weight);

/// A sum of many lanes' usages over a machine: linear in what is added, where add_usages looks for each resource.
class UsageSum {
 public:
  explicit UsageSum(const sim::ResourceTable& resources) : weights_(resources.size(), 0.0) {}
  void add(std::span<const sim::Usage> lane, double weight) {
    for (const auto& u : lane) weights_[static_cast<std::size_t>(u.resource)] += u.weight * weight;
  }
  void add(sim::ResourceId resource, double weight) { weights_[static_cast<std::size_t>(resource)] += weight; }
  void add(const UsageSum& other, double weight);
  std::vector<sim::Usage> take() const;                            // by resource
  const std::vector<double>& weights() const { return weights_; }  // by resource

 private:
  std::vector<double> weights_;
};

/// The rate of one flow that has all links for itself, from its weight on each.
sim::Rate rate_of(const sim::ResourceTable& resources, std::span<const double> weights);

/// min(cap, capacity / weight over the usages): nobody else on the links.
sim::Rate rate_alone(const sim::ResourceTable& resources, std::span<const sim::Usage> usages, sim::Rate cap);

/// The rates of several flows that share the links with each other and nobody else (max-min, one unit each).
std::vector<sim::Rate> rates_together(const sim::ResourceTable& resources,
                                      std::span<const std::vector<sim::Usage>> usages, std::span<const sim::Rate> caps);

}  // namespace linkcast::workloads
