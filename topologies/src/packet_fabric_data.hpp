// What a PacketFabric is made of: the packet network, and which of its parts stands for which part of the cluster.
// Filled once by packet_fabric_build.cpp, then only read.
#pragma once

#include <limits>
#include <vector>

#include "cluster_data.hpp"
#include "linkcast/topologies/packet_fabric.hpp"
#include "network_data.hpp"

namespace linkcast::topologies {

namespace packet = sim::packet;

inline constexpr packet::StationId no_station{std::numeric_limits<std::uint32_t>::max()};
inline constexpr std::uint32_t no_resource = std::numeric_limits<std::uint32_t>::max();

struct PacketFabric::Data {
  Data(const Cluster& c, const models::PacketSettings& s) : cluster{c}, settings{s} {}

  Cluster cluster;
  models::PacketSettings settings;
  packet::Fabric fabric;
  std::uint8_t nvlink_lane = 0;

  struct Port {  // of a NIC of the job's machines
    packet::NodeId node = packet::no_node;
    packet::StationId sending = no_station, host_out = no_station, host_in = no_station;
  };
  std::vector<Port> ports;                         // by PortId
  std::vector<packet::NodeId> switches;            // by SwitchId; no_node: down
  std::vector<std::uint32_t> first_cable_link;     // by cable * 2 + direction; one more at the end
  std::vector<packet::LinkId> cable_links;         // direction by direction
  std::vector<packet::LinkId> machine_links;       // by resource of a machine; no_link: a station, or nothing
  std::vector<packet::StationId> machine_station;  // as machine_links
  std::vector<packet::LinkId> host_link;           // by node of the job; no_link: it has no stations
  std::vector<std::uint32_t> first_device;         // by node of the job: in `devices`
  std::vector<packet::NodeId> devices;             // GPUs and NVSwitches
  std::vector<std::uint32_t> resource;             // by link; no_resource: of a tap
  std::vector<std::uint32_t> port_of;              // by node: PortId + 1; 0: no port

  /// Beside every NVLink of an NVSwitch a link to an endpoint of that chip, where what it reduces ends, and one from
  /// there, where what it multicasts begins. By resource of a machine: before the link and after it.
  std::vector<packet::LinkId> tap_from, tap_to;
  std::vector<packet::LinkId> cable_tap_from, cable_tap_to;  // the same by link, between machines
  std::vector<packet::NodeId> tap_node;                      // by device, as `devices`

  packet::NodeId& device(int node, DeviceId id) {
    return devices[first_device[static_cast<std::size_t>(node)] + static_cast<std::size_t>(id)];
  }
  std::size_t machine_resources() const { return cluster.data().first_resource.back(); }
  std::span<const packet::LinkId> links_of_cable(std::size_t cable, bool forward) const {
    const auto at = 2 * cable + (forward ? 0 : 1);
    return std::span{cable_links}.subspan(first_cable_link[at], first_cable_link[at + 1] - first_cable_link[at]);
  }
  packet::LinkId link_of_arc(std::uint32_t arc, std::uint32_t which) const {
    const auto links = links_of_cable(arc / 2, (arc & 1) == 0);
    return links.empty() ? packet::no_link : links[which % links.size()];
  }
};

/// Fills everything. Throws sim::InputError.
void build_packet_fabric(PacketFabric::Data& data, bool in_network);

}  // namespace linkcast::topologies
