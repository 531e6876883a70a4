// What tests of the packet engine have in common: transports by name, flows between hosts, links by their ends, and the
// times of the 400 Gb/s fabric of packet_networks.hpp: a byte takes 20 ps, a full packet of 4,096 + 82 B 83,560 ps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "packet_networks.hpp"

namespace linkcast::testing {

inline constexpr sim::Time packet_time = sim::Time::picoseconds(4'178 * 20);
inline constexpr sim::Time cable = sim::Time::nanoseconds(300);
inline constexpr std::int64_t mtu = 4'096;

inline sim::packet::Transport transport(sim::packet::Recovery recovery = sim::packet::Recovery::none) {
  sim::packet::Transport t;
  t.name = "t";
  t.recovery = recovery;
  return t;
}

inline sim::packet::FlowSpec flow(const PacketNet& net, int from, int to, std::uint64_t hash = 0) {
  sim::packet::FlowSpec f;
  f.from = net.hosts[static_cast<std::size_t>(from)];
  f.to = net.hosts[static_cast<std::size_t>(to)];
  f.hash = hash;
  return f;
}

inline sim::packet::LinkId link_between(const sim::packet::Fabric& fabric, sim::packet::NodeId from,
                                        sim::packet::NodeId to) {
  for (std::uint32_t l = 0; l < fabric.links(); ++l) {
    const sim::packet::LinkId id{l};
    if (fabric.link(id).from == from && fabric.link(id).to == to) return id;
  }
  return sim::packet::no_link;
}

/// Switches without flow control and with endless buffers.
inline sim::packet::NodeKind endless_switch() {
  sim::packet::NodeKind k;
  k.name = "switch";
  return k;
}

inline sim::packet::NodeKind credit_switch(sim::Bytes input) {
  sim::packet::NodeKind k;
  k.name = "switch";
  k.control = sim::packet::FlowControl::credit;
  k.input = input;
  return k;
}

/// At every switch as many packets leave as come, but for those that were dropped there or came damaged; where nothing
/// is dropped, the bytes are the same too. Acknowledgements included.
inline void check_conservation(const sim::packet::Fabric& fabric, const sim::packet::Network& net) {
  using namespace sim::packet;
  std::map<NodeId, std::int64_t> packets, bytes, payload, lost;
  for (std::uint32_t l = 0; l < fabric.links(); ++l) {
    const auto& link = fabric.link(LinkId{l});
    const LinkStats s = net.link_stats(LinkId{l});
    if (!fabric.is_endpoint(link.to)) {
      packets[link.to] += static_cast<std::int64_t>(s.packets - s.damaged);
      bytes[link.to] += static_cast<std::int64_t>(s.wire_bytes);
      payload[link.to] += static_cast<std::int64_t>(s.payload_bytes);
      lost[link.to] += static_cast<std::int64_t>(s.damaged + s.link_retries);
    }
    if (!fabric.is_endpoint(link.from)) {
      packets[link.from] -= static_cast<std::int64_t>(s.packets + s.drops);
      bytes[link.from] -= static_cast<std::int64_t>(s.wire_bytes);
      payload[link.from] -= static_cast<std::int64_t>(s.payload_bytes);
      lost[link.from] += static_cast<std::int64_t>(s.drops + s.trims + s.link_retries);
    }
  }
  for (const auto& [node, sum] : packets) {
    INFO(fabric.name_of(node));
    CHECK(sum == 0);
    if (lost[node] != 0) continue;
    CHECK(bytes[node] == 0);
    CHECK(payload[node] == 0);
  }
}

}  // namespace linkcast::testing
