// The public face of a PacketFabric: what is where. Building it and the ways through it are next door.
#include "linkcast/topologies/packet_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "packet_fabric_data.hpp"

namespace linkcast::topologies {

namespace {

template <typename Id>
std::optional<Id> unless(Id id, Id none) {
  return id == none ? std::nullopt : std::optional{id};
}

}  // namespace

PacketFabric::PacketFabric(const Cluster& cluster, const models::PacketSettings& settings, bool in_network) {
  const auto need = estimated_memory_bytes(cluster);
  const auto budget = static_cast<std::size_t>(settings.memory.count());
  if (need > budget)
    throw sim::InputError(
        fmt::format("{} at fidelity packet takes about {} MiB before the first packet: {} MiB are allowed",
                    cluster.name(), need >> 20, budget >> 20),
        "take fewer nodes or a smaller network, or allow more (packet.memory)");
  data_ = std::make_unique<Data>(cluster, settings);
  build_packet_fabric(*data_, in_network);
  data_->fabric.check(settings.mtu);
}
PacketFabric::~PacketFabric() = default;
PacketFabric::PacketFabric(PacketFabric&&) noexcept = default;

std::size_t PacketFabric::estimated_memory_bytes(const Cluster& cluster) {
  std::size_t links = 0, nodes = 0, leaves = 0, switches = 0, other = 0;
  if (cluster.nodes() > 1) {
    const auto& net = cluster.network();
    const auto ports = net.ports();
    std::vector<bool> leaf(net.switches().size(), false);
    for (const auto& c : net.cables()) {
      const bool trunk = c.a >= ports && c.b >= ports;
      links += trunk ? 2U * c.count : 2U;
      if (!trunk && c.b >= ports) leaf[c.b - ports] = true;
    }
    leaves = static_cast<std::size_t>(std::ranges::count(leaf, true));
    switches = net.switches().size();
    nodes += ports + switches;
    other += ports * 2;
  }
  for (int node = 0; node < cluster.nodes(); ++node) {
    const auto& machine = cluster.machine(node);
    nodes += machine.devices().size();
    for (const auto& l : machine.links()) (l.kind == models::LinkKind::nvlink ? links : other) += 4;
  }
  // Of a link: its data, its state and statistics in a run and those of a few lanes (sim/packet/fabric.cpp), and the
  // tables here. Of a node 160 there and 12 here. Of a station its name and rate.
  return links * (400 + 40) + nodes * 172 + switches * leaves * sizeof(std::uint32_t) + other * 100;
}

const packet::Fabric& PacketFabric::fabric() const { return data_->fabric; }
const Cluster& PacketFabric::cluster() const { return data_->cluster; }
const models::PacketSettings& PacketFabric::settings() const { return data_->settings; }

packet::Transport PacketFabric::transport() const { return data_->settings.transport(); }
packet::Transport PacketFabric::nvlink_transport() const {
  auto t = data_->settings.nvlink_transport();
  t.lane = t.control_lane = data_->nvlink_lane;
  return t;
}

packet::NodeId PacketFabric::endpoint(PortId port) const {
  const auto p = static_cast<std::size_t>(port);
  return p < data_->ports.size() ? data_->ports[p].node : packet::no_node;
}
packet::NodeId PacketFabric::gpu(int node, DeviceId device) const { return data_->device(node, device); }
std::optional<PortId> PacketFabric::port_of(packet::NodeId endpoint) const {
  const auto p = data_->port_of[static_cast<std::size_t>(endpoint)];
  return p == 0 ? std::nullopt : std::optional{PortId{p - 1}};
}

std::span<const packet::LinkId> PacketFabric::links_of(CableId cable, bool forward) const {
  if (data_->first_cable_link.empty()) return {};
  return data_->links_of_cable(static_cast<std::size_t>(cable), forward);
}
std::span<const packet::LinkId> PacketFabric::links_of(sim::ResourceId resource) const {
  const auto r = static_cast<std::size_t>(resource), machines = data_->machine_resources();
  if (r >= machines) return links_of(CableId{static_cast<std::uint32_t>((r - machines) / 2)}, (r - machines) % 2 == 0);
  const auto& link = data_->machine_links[r];
  return {&link, link == packet::no_link ? 0U : 1U};
}
std::optional<sim::ResourceId> PacketFabric::resource_of(packet::LinkId link) const {
  const auto r = data_->resource[static_cast<std::size_t>(link)];
  return r == no_resource ? std::nullopt : std::optional{sim::ResourceId{r}};
}

std::optional<packet::StationId> PacketFabric::station(sim::ResourceId resource) const {
  const auto r = static_cast<std::size_t>(resource);
  return r < data_->machine_station.size() ? unless(data_->machine_station[r], no_station) : std::nullopt;
}
std::optional<PacketWay> PacketFabric::host_way(int node) const {
  const auto l = data_->host_link.at(static_cast<std::size_t>(node));
  if (l == packet::no_link) return std::nullopt;
  const auto& link = data_->fabric.link(l);
  return PacketWay{1, link.from, link.to, {l}, {data_->fabric.reverse(l)}};
}
std::optional<packet::StationId> PacketFabric::port_station(PortId port) const {
  return unless(data_->ports.at(static_cast<std::size_t>(port)).sending, no_station);
}
std::optional<packet::StationId> PacketFabric::host_station(PortId port, bool sending) const {
  const auto& p = data_->ports.at(static_cast<std::size_t>(port));
  return unless(sending ? p.host_out : p.host_in, no_station);
}

}  // namespace linkcast::topologies
