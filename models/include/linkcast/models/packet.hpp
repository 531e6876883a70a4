// What a run at fidelity `packet` may set: packets, lanes, buffers, marking, choice of links, transport, congestion
// control, faults of cables. The usual settings of each kind of network ("ib", "roce", …) are functions here, with the
// source of every number beside it in packet.cpp; a scenario's `packet` section lies over them. Knows no topology.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/models/network.hpp"
#include "linkcast/sim/packet/fabric.hpp"
#include "linkcast/sim/packet/network.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::models {

/// Buffers of the network's switches and NICs. What is not said follows from the hardware: the switch's part where it
/// is known, else what full rate needs on the cables that are there (credit_input, pause_headroom).
struct PacketBuffers {
  std::optional<sim::Bytes> shared;    // pause, none: one pool for all ports
  std::optional<sim::Bytes> input;     // credit: of each link that comes in, for each lane
  std::optional<sim::Bytes> headroom;  // pause: of each link that comes in and lossless lane
  sim::Bytes reserve{0};               // pause: the same, before it takes from the pool
  double alpha = 1;                    // pause: an input may take that x what is free of the pool
  sim::Bytes resume_offset{0};
  double lossy_alpha = 1;  // an output queue of a lossy lane may take that x what is free
};

struct PacketSettings {
  sim::Bytes mtu{4096};    // payload of a full packet between machines
  sim::Bytes train{4096};  // payload that travels as one over NVLink

  /// Lane 0 carries what is short and urgent (acknowledgements, notifications, trimmed headers) where there are two.
  std::vector<sim::packet::VirtualLane> lanes{sim::packet::VirtualLane{}};
  std::uint8_t data_lane = 0;
  sim::packet::FlowControl flow_control = sim::packet::FlowControl::none;
  PacketBuffers buffer;
  sim::packet::Marking marking;
  sim::packet::Choice routing = sim::packet::Choice::hash;
  sim::Time flowlet_gap = sim::Time::microseconds(100);
  bool trim = false;

  sim::packet::Recovery recovery = sim::packet::Recovery::none;
  int ack_every = 16;
  sim::Time retransmit_timeout = sim::Time::microseconds(500);
  int paths = 0;  // entropies that a sender gives its packets in turn; 0: the flow's only
  bool any_order = false;
  sim::packet::ControlSettings control = sim::packet::Uncontrolled{};

  double bit_error_rate = 0;  // of every cable
  bool link_retry = false;

  bool host = true;                    // PCIe and memory of the machines hold traffic back
  std::optional<sim::Rate> host_rate;  // besides: most that one NIC's host takes or gives, each way

  std::uint64_t seed = 1;
  int threads = 0;         // 0: as many as the machine has; answers do not depend on it
  int partitions = 8;      // of plain flows; fixed, so that answers do not depend on the machine that runs them
  sim::Time sample_every;  // zero: no time series
  sim::Bytes memory{std::int64_t{8} << 30};  // most that the fabric and its packets may take

  /// Of a QP between machines.
  sim::packet::Transport transport() const;
  /// Of a lane of NVLink: trains, no acknowledgements, nothing is lost.
  sim::packet::Transport nvlink_transport() const;
  sim::packet::Options options() const;
};

/// The usual settings of that kind of network at that rate of a NIC's port. Of a kind that is not known: by its
/// routing, and lossy, as Ethernet is where nobody set up more.
PacketSettings packet_settings(const NetworkModel& network, Routing routing, sim::Rate port_rate);

/// Room that a receiver must have for each lane so that a link with credits never waits: what arrives while a byte
/// comes and its credit goes back; the packet that is passed on, the next one that must fit as a whole before it
/// starts, and one more where a switch passes on only what it has whole. In InfiniBand's credits of 64 B.
sim::Bytes credit_input(sim::Rate rate, sim::Time round_trip, sim::Bytes packet);
/// The same on 100 m of cable between two InfiniBand switches: what a switch has that is bought before its cables are.
sim::Bytes usual_credit_input(sim::Rate rate, sim::Bytes packet);
/// What still comes after a pause was sent: on the cable there and back, the packet that the sender had begun, the one
/// that crossed the threshold, and one more (sim::packet::Fabric::headroom_needed).
sim::Bytes pause_headroom(sim::Rate rate, sim::Time round_trip, sim::Bytes packet);

/// "hash", "by_destination", "spray", "adaptive", "flowlet", as a scenario says them; and so on.
std::string_view name_of(sim::packet::Choice c);
std::string_view name_of(sim::packet::FlowControl c);
std::string_view name_of(sim::packet::Recovery r);
/// "none", "dcqcn", … of the algorithm that is set.
std::string_view name_of(const sim::packet::ControlSettings& c);

}  // namespace linkcast::models
