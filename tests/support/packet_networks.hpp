// Small packet networks for tests and benchmarks: hosts on one switch, leaves and spines. Numbers are those of a
// 400 Gb/s RoCE fabric: 20 ps a byte, so that times can be worked out by hand.
#pragma once

#include <vector>

#include "linkcast/sim/packet/network.hpp"

namespace linkcast::testing {

struct PacketNet {
  sim::packet::Fabric fabric;
  std::vector<sim::packet::NodeId> hosts, leaves, spines;
  std::vector<sim::packet::LinkId> up, down;  // of each host: to its leaf, from its leaf
};

/// 400 Gb/s, 300 ns, 82 B around each packet.
inline sim::packet::LinkSpec ethernet_400g() {
  sim::packet::LinkSpec l;
  l.rate = sim::Rate::bytes_per_second(50'000'000'000);
  l.delay = sim::Time::nanoseconds(300);
  l.header = sim::Bytes{82};
  return l;
}

/// Hosts (the first nodes, in order) on `leaves` switches, each joined to every spine by one link; no spines: one leaf.
inline PacketNet leaf_spine(int leaves, int hosts_per_leaf, int spines, const sim::packet::NodeKind& kind,
                            sim::packet::LinkSpec link = ethernet_400g(),
                            std::vector<sim::packet::VirtualLane> lanes = {sim::packet::VirtualLane{}}) {
  using namespace sim::packet;
  PacketNet n{Fabric{std::move(lanes)}, {}, {}, {}, {}, {}};
  NodeKind host;
  host.name = "host";
  host.control = kind.control;
  host.input = kind.input;
  host.headroom = kind.headroom;
  const auto host_kind = n.fabric.add_kind(host), switch_kind = n.fabric.add_kind(kind);
  for (int h = 0; h < leaves * hosts_per_leaf; ++h) n.hosts.push_back(n.fabric.add_endpoint(host_kind));
  for (int l = 0; l < leaves; ++l) n.leaves.push_back(n.fabric.add_switch(switch_kind));
  for (int s = 0; s < spines; ++s) n.spines.push_back(n.fabric.add_switch(switch_kind));
  for (int l = 0; l < leaves; ++l) {
    const NodeId leaf = n.leaves[static_cast<std::size_t>(l)];
    for (int h = 0; h < hosts_per_leaf; ++h) {
      const NodeId at = n.hosts[static_cast<std::size_t>(l * hosts_per_leaf + h)];
      n.up.push_back(n.fabric.add_cable(at, leaf, link));
      n.down.push_back(n.fabric.reverse(n.up.back()));
    }
    for (const auto spine : n.spines) n.fabric.add_cable(leaf, spine, link);
  }
  n.fabric.route_shortest();
  return n;
}

/// A switch with 64 MiB of shared buffer under PFC; pauses are rare in it.
inline sim::packet::NodeKind pfc_switch() {
  sim::packet::NodeKind k;
  k.name = "switch";
  k.control = sim::packet::FlowControl::pause;
  k.shared = sim::mib(64);
  k.headroom = sim::kib(100);
  k.alpha = 1;
  k.resume_offset = sim::kib(19);
  return k;
}

}  // namespace linkcast::testing
