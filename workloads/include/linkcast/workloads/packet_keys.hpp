// The section `packet` of a scenario: what a run at fidelity packet changes in the usual settings of its network
// (docs/scenario.md). Knows no cluster.
#pragma once

#include "linkcast/models/packet.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {

/// Reads the keys of the map `packet` over `settings`. All that is wrong with them goes to `problems`, with its place:
/// unknown keys, units, and what cannot work together (a lossy lane under a transport that cannot lose, order under
/// spraying, thresholds the wrong way round).
void read_packet(trace::Problems& problems, const trace::Value& packet, models::PacketSettings& settings);

/// The map `control` within it, or the name of an algorithm: dcqcn with the names of mlx5, the others with those of
/// sim/packet/control/*.hpp. What is not said of another algorithm than that of `control` has its default.
void read_packet_control(trace::Problems& problems, const trace::Value& value, sim::packet::ControlSettings& control);

}  // namespace linkcast::workloads
