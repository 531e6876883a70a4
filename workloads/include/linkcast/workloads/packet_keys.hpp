// The section `packet` of a scenario: what a run at fidelity packet changes in the usual settings of its network
// (docs/scenario.md). Knows no workload.
#pragma once

#include "linkcast/models/packet.hpp"
#include "linkcast/topologies/network.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {

/// The usual settings of that network, with the section over them. `section`: null where there is none. All that is
/// wrong goes to `problems`, with its place: unknown keys, units, and what cannot work together (a transport that
/// cannot lose on a lane that can, order under spraying, thresholds the wrong way round). It keeps its usual value.
models::PacketSettings read_packet_settings(trace::Problems& problems, const trace::Value* section,
                                            const topologies::Network& network);
/// The same without a network: over `settings`. `line`: the rate of a NIC's port.
void read_packet(trace::Problems& problems, const trace::Value& section, sim::Rate line,
                 models::PacketSettings& settings);

/// The map `control` within it, or the name of an algorithm: dcqcn with the names of mlx5 (`preset`: mlx5, paper2015,
/// hpcc_repo), the others with those of sim/packet/control/*.hpp. Of another algorithm than that of `control`, what is
/// not said has its default.
void read_packet_control(trace::Problems& problems, const trace::Value& value, sim::Rate line,
                         sim::packet::ControlSettings& control);

}  // namespace linkcast::workloads
