// Cables that carry less than they should, for whoever asks what a fault would look like. Knows no cause.
#include <fmt/format.h>

#include <algorithm>

#include "cluster_data.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "network_data.hpp"
#include "network_ways.hpp"

namespace linkcast::topologies {
namespace {

/// Port of a machine's NIC at one end of the cable, or nothing.
const PortPlace* place_of(const Network::Data& network, const Cable& cable) {
  for (const auto end : {cable.a, cable.b})
    if (end < network.places.size()) return &network.places[end];
  return nullptr;
}

void slow(Network::Data& network, const SlowCable& wish) {
  bool any = false;
  for (auto& cable : network.cables) {
    const auto* place = place_of(network, cable);
    if (!place || (wish.node >= 0 && place->node != wish.node) || (wish.nic >= 0 && place->nic != wish.nic)) continue;
    any = true;
    auto model = network.cable_models[cable.model];
    const auto metres = network.metres_of(cable.model);
    model.payload = sim::Rate::from_GBps(model.payload.GBps() * wish.share);
    model.state = fmt::format("carries {:.0f} %", 100 * wish.share);
    const auto same = std::find_if(network.cable_models.begin(), network.cable_models.end(), [&](const CableModel& m) {
      const auto i = static_cast<std::uint16_t>(&m - network.cable_models.data());
      return network.metres_of(i) == metres && m.name == model.name && m.payload == model.payload &&
             m.latency == model.latency && m.state == model.state;
    });
    cable.model = static_cast<std::uint16_t>(same - network.cable_models.begin());
    if (same != network.cable_models.end()) continue;
    network.cable_models.push_back(std::move(model));
    network.cable_metres.resize(network.cable_models.size());
    network.cable_metres.back() = metres;
  }
  if (!any)
    throw sim::InputError(fmt::format("no cable of node[{}].nic[{}]", wish.node, wish.nic), "a NIC of the cluster");
}

}  // namespace

Cluster with_slow_cables(const Cluster& cluster, std::span<const SlowCable> cables) {
  if (cluster.nodes() < 2 || cables.empty()) return cluster;
  auto data = std::make_shared<Cluster::Data>(cluster.data());
  auto network = std::make_shared<Network::Data>(cluster.network().data());
  for (const auto& wish : cables) slow(*network, wish);
  network->cache = std::make_shared<Network::Data::WayCache>();
  data->network = Network{std::move(network)};
  return Cluster{std::move(data)};
}

}  // namespace linkcast::topologies
