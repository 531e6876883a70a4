// See packets.hpp.
#include "linkcast/workloads/packets.hpp"

#include <algorithm>

namespace linkcast::workloads {

using topologies::Cluster;

models::PacketSettings packet_settings(const Cluster& cluster) {
  const auto& network = cluster.network();
  if (network.empty() || network.cables().empty()) return {};
  const auto& cable = network.cables().front();
  return models::packet_settings(network.model(), network.routing(), network.cable_models()[cable.model].bare);
}

Packets::Packets(const Cluster& cluster, const std::optional<models::PacketSettings>& settings)
    : fabric_{cluster, settings ? *settings : packet_settings(cluster),
              cluster.nodes() > 1 && cluster.network().sharp()} {
  const auto& f = fabric_.fabric();
  setting_.fabric = &f;
  setting_.transports = {fabric_.transport(), fabric_.nvlink_transport()};
  setting_.options = fabric_.settings().options();
  setting_.resource_of_link.assign(f.links(), sim::packet::Setting::no_resource);
  for (std::uint32_t l = 0; l < f.links(); ++l)
    if (const auto r = fabric_.resource_of(sim::packet::LinkId{l}))
      setting_.resource_of_link[l] = static_cast<std::uint32_t>(*r);
  setting_.resources.resize(cluster.resource_count());
  int node = 0;
  for (std::uint32_t r = 0; r < setting_.resources.size(); ++r) {
    auto& place = setting_.resources[r];
    const sim::ResourceId id{r};
    while (node + 1 < cluster.nodes() && cluster.resource(node + 1, sim::ResourceId{0}) <= id) ++node;
    if (const auto station = fabric_.station(id)) {
      place.station = station;
      if (const auto way = fabric_.host_way(node)) place.alone = {inside(*way)};
      continue;
    }
    for (const auto& way : fabric_.alone(id)) place.alone.push_back(inside(way));
  }
}

sim::packet::Part Packets::part(const topologies::PacketWay& way, std::uint16_t transport) const {
  sim::packet::Part part;
  part.weight = way.share;
  part.flow.from = way.from;
  part.flow.to = way.to;
  part.flow.way = way.links;
  part.flow.way_back = way.back;
  part.flow.transport = transport;
  for (const auto l : way.links) part.latency += fabric_.fabric().link(l).delay;
  return part;
}

}  // namespace linkcast::workloads
