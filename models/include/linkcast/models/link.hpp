// A link: a rate after coding, a latency, and a packet format from which the payload efficiency follows.
// Source of the packet sizes: the fact sheets cited in topologies/catalog/parts.
#pragma once

#include <string>
#include <string_view>

#include "linkcast/sim/units.hpp"

namespace linkcast::models {

enum class LinkKind : unsigned char { nvlink, c2c, pcie, inter_socket, memory, network };
std::string_view name_of(LinkKind k);

/// How payload is framed. In steady state a collective drives both directions of a link at once, so each packet of
/// one direction is joined by the responses to the packets of the other:
///   efficiency = payload / (payload + header + response).
struct PacketFormat {
  sim::Bytes payload{1};
  sim::Bytes header{0};
  sim::Bytes response{0};  // what one packet costs in the opposite direction: acknowledgement, credits
  double efficiency() const;
  /// When only one direction carries data: payload / (payload + header).
  double one_way_efficiency() const;
};

/// One kind of link ("nvlink4", "pcie-gen4"): rates are of ONE link (NVLink) or ONE lane (PCIe), one direction.
struct LinkModel {
  std::string name;
  LinkKind kind = LinkKind::nvlink;
  sim::Rate rate;                  // after coding, before packet headers
  sim::Time latency;               // propagation and processing, one way
  PacketFormat packet;             // of SM-driven stores (what NCCL kernels send)
  double residual = 1.0;           // measured / derived: what the format does not explain; fitted, with its source
  sim::Rate payload_rate() const;  // rate * packet.efficiency() * residual
};

}  // namespace linkcast::models
