#include "floors.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace linkcast::planning {

using models::nccl::Op;

namespace {

double per_us(sim::Rate r) { return static_cast<double>(r.bytes_per_second()) * 1e-6; }

/// Of all links of the device together: nothing of it can be faster.
double links_of(const topologies::Fabric& machine, topologies::DeviceId device) {
  double sum = 0;
  for (const auto& l : machine.links())
    if (l.a == device || l.b == device) sum += per_us(l.bare);
  return sum;
}

}  // namespace

WireFloors::WireFloors(const topologies::Cluster& cluster) : per_node_{cluster.gpus_per_node()} {
  for (int k = 0; k < cluster.kinds(); ++k) {
    const auto& machine = cluster.kind(k);
    for (const auto gpu : machine.gpus()) gpu_ = std::max(gpu_, links_of(machine, gpu));
    double nics = 0;
    for (std::size_t d = 0; d < machine.devices().size(); ++d)
      if (machine.devices()[d].kind == topologies::DeviceKind::nic)
        nics += links_of(machine, static_cast<topologies::DeviceId>(d));
    nics_ = std::max(nics_, nics);
  }
  const auto& network = cluster.network();
  if (network.empty()) return;
  std::map<int, double> cables;  // of a machine
  for (const auto& c : network.cables())
    if (c.a < network.ports())
      cables[network.place(static_cast<topologies::PortId>(c.a)).node] +=
          c.count * per_us(network.cable_models()[c.model].bare);
  double most = 0;
  for (const auto& [node, rate] : cables) most = std::max(most, rate);
  if (most > 0) nics_ = std::min(nics_, most);
}

std::size_t WireFloors::group(std::span<const int> ranks) {
  std::map<int, int> locals;
  for (const int r : ranks) ++locals[r / per_node_];
  Group g;
  g.nodes = static_cast<int>(locals.size());
  for (const auto& [node, n] : locals) g.locals = std::max(g.locals, n);  // as CallCosts takes uneven ones
  const auto [at, added] = known_.try_emplace({g.locals, g.nodes}, groups_.size());
  if (added) groups_.push_back(g);
  return at->second;
}

workloads::CallFloor WireFloors::call(std::size_t index, Op op, double bytes) {
  const auto& g = groups_[index];
  const double n = static_cast<double>(g.locals) * g.nodes;
  if (n < 2 || gpu_ <= 0) return {};
  const double off_gpu = (n - 1) / n, off_node = (g.nodes - 1.0) / g.nodes;
  double gpu = 0, node = 0;
  switch (op) {
    case Op::all_reduce:
      gpu = 1;
      node = g.nodes > 1 ? 1 : 0;
      break;
    case Op::all_gather:
    case Op::reduce_scatter:
      gpu = off_gpu;
      node = off_node;
      break;
    case Op::alltoall:
      gpu = off_gpu;
      node = off_node * g.locals;
      break;
    default:
      return {};
  }
  double us = gpu * bytes / gpu_;
  if (g.nodes > 1 && nics_ > 0) us = std::max(us, node * bytes / nics_);
  return {us, 0};
}

std::size_t CallFloorsOf::group(std::span<const int> ranks) {
  return ranks.size() < 2 ? alone : costs_.model_of(ranks);
}

workloads::CallFloor CallFloorsOf::call(std::size_t group, Op op, double bytes) {
  if (group == alone) return {};
  const auto& c = costs_.cost(group, op, sim::Bytes{std::llround(bytes)});
  return {c.time.us(), sms_ > 0 ? c.channels / static_cast<double>(sms_) : 0};
}

}  // namespace linkcast::planning
