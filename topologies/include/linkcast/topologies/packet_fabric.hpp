// A cluster as packets see it: NIC ports and GPUs are endpoints, boxes and NVSwitches are switches, every physical
// cable is a link each way. Built once for a run, from the machines that a job has and the whole network. Everything
// that the fluid network calls a resource (Cluster::resources) is here a link, several parallel links, or a station.
// Knows no collective and no NCCL choice.
//
// Rates. A cable's link has its bare rate and the network's header around every packet. What a NIC loses besides
// (NetworkModel::residual) is a station of its port (`port_station`): bare x efficiency x residual of payload, for all
// that the port sends. So a flow with nothing in its way has the payload rate that the fluid network gives it. A link
// of NVLink has the payload rate of the topology and no header.
//
// Delays. Of a link: its cable and passing the switch at its far end, so that the sum over a way is Network::way (for
// NVLink: Route::latency).
//
// Rings of switches (torus, dragonfly) can lock up when packets hold one lane's buffers and wait for the same lane's
// further on. Where nothing is dropped, a packet's lane there rises at every switch (sim::packet::Fabric::
// set_lane_by_hop; Guenther 1981, Dally and Seitz 1987): waiting then leads to higher lanes only and ends. That takes a
// lane more than the longest way has cables between switches (a torus: its diameter; a dragonfly: 3, or 6 where
// adaptive routing goes round); where a port's 8 are fewer, the last is for all further ones and a circle is possible:
// the engine finds it and says so. Acknowledgements stay on their lane: they are few and small.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "linkcast/models/packet.hpp"
#include "linkcast/sim/fluid.hpp"
#include "linkcast/sim/packet/fabric.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

/// One of the ways of a flow: `share` of its bytes from endpoint to endpoint.
struct PacketWay {
  double share = 1;
  sim::packet::NodeId from = sim::packet::no_node, to = sim::packet::no_node;
  std::vector<sim::packet::LinkId> links;  // all, in order; empty: by the routing tables
  std::vector<sim::packet::LinkId> back;   // of acknowledgements, where `links` is whole
};

class PacketFabric {
 public:
  struct Data;  // src/packet_fabric_data.hpp
  /// `in_network`: the boxes between machines reduce (SHARP), so that `alone` is asked for cables too.
  /// Throws sim::InputError: more memory than settings.memory, buffers that cannot work.
  PacketFabric(const Cluster& cluster, const models::PacketSettings& settings, bool in_network = false);
  ~PacketFabric();
  PacketFabric(PacketFabric&&) noexcept;
  /// What the constructor would take, before it is built.
  static std::size_t estimated_memory_bytes(const Cluster& cluster);

  const sim::packet::Fabric& fabric() const;
  const Cluster& cluster() const;
  const models::PacketSettings& settings() const;
  /// Those of the settings, on the lanes that this fabric has for them.
  sim::packet::Transport transport() const;
  sim::packet::Transport nvlink_transport() const;

  /// A port of a NIC of the job's machines; no_node for others.
  sim::packet::NodeId endpoint(PortId port) const;
  /// A GPU of the job's node, if it has NVLinks; else no_node.
  sim::packet::NodeId gpu(int node, DeviceId device) const;
  std::optional<PortId> port_of(sim::packet::NodeId endpoint) const;

  /// One link for each of the bundle's cables; a NIC's bundle is one link. Empty where the cable is down or leads to a
  /// machine that the job has not.
  std::span<const sim::packet::LinkId> links_of(CableId cable, bool forward) const;
  /// The same by resource of the cluster; empty for what is a station.
  std::span<const sim::packet::LinkId> links_of(sim::ResourceId resource) const;
  /// The resource that a link is part of; nothing for links that are none (see `alone`).
  std::optional<sim::ResourceId> resource_of(sim::packet::LinkId link) const;

  /// PCIe, C2C, inter-socket and memory links; nothing for what is a link here, or where settings.host is off.
  std::optional<sim::packet::StationId> station(sim::ResourceId resource) const;
  /// A way in that node's host that holds nothing back, for flows that pass stations only; nothing where it has none.
  std::optional<PacketWay> host_way(int node) const;
  /// What the port sends goes through; see above.
  std::optional<sim::packet::StationId> port_station(PortId port) const;
  /// The host of the port's NIC, where settings.host_rate says one.
  std::optional<sim::packet::StationId> host_station(PortId port, bool sending) const;

  /// The ways of a flow between two NICs of the job's machines: one for each pair of their ports that
  /// Network::add(NicPlace, …) takes, with its share. Under ecmp and by_destination exactly the cables that it takes;
  /// else by tables. `node`: of the whole network (Cluster::original_node). Empty where nothing connects them.
  std::vector<PacketWay> ways(NicPlace from, NicPlace to, std::uint64_t flow) const;
  /// The same between two ports.
  std::optional<PacketWay> way(PortId from, PortId to, std::uint64_t flow) const;

  /// The ways of a lane over NVLink from GPU to GPU of one node, out of the resources of the cluster that it uses and
  /// their weights: each way with its part of the weight, largest first. The shares are parts of a byte of the lane's:
  /// where a protocol sends more than the data (LL: twice), they sum to more than 1. Empty where the usages are no such
  /// ways: then each is a flow of its own (`alone`).
  std::vector<PacketWay> lane_ways(int node, DeviceId from, DeviceId to, std::span<const sim::Usage> usages) const;
  /// A flow over that one resource and nothing else: what a multicast or a reduction in a switch loads, whose order on
  /// the way is not known. It begins or ends at an endpoint of the switch's own, whose links hold nothing back.
  /// Parallel cables: one way for each. Empty for stations, and for cables unless `in_network`.
  std::vector<PacketWay> alone(sim::ResourceId resource) const;

 private:
  std::unique_ptr<Data> data_;
};

}  // namespace linkcast::topologies
