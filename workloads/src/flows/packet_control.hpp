// Reads `packet.control`: which algorithm, and its parameters under the names that its authors (DCQCN: mlx5) give them.
#pragma once

#include "linkcast/sim/packet/control.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {

/// Over `control`, which keeps its algorithm where none is named. `line`: of a port, for presets that scale with it.
void read_packet_control(trace::Problems& problems, const trace::Value& v, sim::Rate line,
                         sim::packet::ControlSettings& control);

}  // namespace linkcast::workloads
