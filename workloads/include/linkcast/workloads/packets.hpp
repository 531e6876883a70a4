// The network of packets that a cluster is at fidelity `packet`, and how a replay moves bytes over it. Made once and
// shared by all communicators over (parts of) the same machines. Knows no collective.
#pragma once

#include <optional>

#include "linkcast/models/packet.hpp"
#include "linkcast/sim/packet/ways.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/packet_fabric.hpp"

namespace linkcast::workloads {

/// The usual settings of this cluster's network, at the rate of its first NIC's port.
models::PacketSettings packet_settings(const topologies::Cluster& cluster);

class Packets {
 public:
  /// Throws sim::InputError, as PacketFabric does.
  explicit Packets(const topologies::Cluster& cluster, const std::optional<models::PacketSettings>& settings = {});
  Packets(const Packets&) = delete;

  const topologies::PacketFabric& fabric() const { return fabric_; }
  /// For sim::ReplayOptions, over Cluster::resources().
  const sim::packet::Setting& setting() const { return setting_; }

  /// That way as part of a connection's flows: between machines, inside one.
  sim::packet::Part between(const topologies::PacketWay& way) const { return part(way, 0); }
  sim::packet::Part inside(const topologies::PacketWay& way) const { return part(way, 1); }

 private:
  sim::packet::Part part(const topologies::PacketWay& way, std::uint16_t transport) const;

  topologies::PacketFabric fabric_;
  sim::packet::Setting setting_;
};

}  // namespace linkcast::workloads
