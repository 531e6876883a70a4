// A kind of network between machines, with the software that drives it: packet format, latency, what a message costs.
// "ib", "roce", "efa", "tcp", "tcpx", "tcpxo", "slingshot"; the numbers and their sources stand in
// topologies/catalog/parts/networks.yaml. Knows no topology and no collective.
#pragma once

#include <string>
#include <string_view>

#include "linkcast/models/link.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::models {

/// How switches choose among equally short ways.
enum class Routing : unsigned char {
  adaptive,        // the least loaded way, again and again: in steady state an even split
  spray,           // packet by packet over all ways: an even split by construction
  ecmp,            // one way for each flow (queue pair, socket), by a hash of its five-tuple
  by_destination,  // one way for each destination port (InfiniBand's static routing, d-mod-k)
};
std::string_view name_of(Routing r);

struct NetworkModel {
  std::string name;
  std::string packets;    // whose settings it has at fidelity packet: "ib", "roce", "efa", … (models/packet.hpp)
  PacketFormat packet;    // one_way_efficiency(): acknowledgements are few and travel in large windows
  double residual = 1.0;  // measured / derived
  sim::Time latency;      // from a GPU's last store until the next GPU sees it: proxy threads, NICs, hosts; no switch
  sim::Time simple;       // more in Simple: the receiving proxy must see the completion and tell the GPU
  sim::Time message;      // what a message occupies its flow (queue pair, endpoint) besides its bytes
  double p2p_efficiency = 1;  // what send/recv, whose many peers share buffers, reaches of the rate of a ring
  sim::Time flush;            // a receiving GPU before Hopper reads back before it trusts what the NIC wrote (Simple)
  sim::Time reduction;        // in its switches, there and back (SHARP)
  sim::Rate flow_rate = sim::Rate::unlimited();  // most that one flow carries: a TCP socket, an EFA endpoint
  bool gpudirect = true;                         // NICs reach GPU memory; else every byte is staged through the host
  Routing routing = Routing::adaptive;           // when the file does not say

  double efficiency() const { return packet.one_way_efficiency() * residual; }
};

}  // namespace linkcast::models
