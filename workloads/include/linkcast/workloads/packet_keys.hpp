// The `packet` section of a scenario: what a run at fidelity `packet` sets over the usual settings of its kind of
// network (docs/flows.md). Knows no workload.
#pragma once

#include "linkcast/models/packet.hpp"
#include "linkcast/topologies/network.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {

/// The usual settings of that network, with the section over them. `section`: null where there is none. Problems go to
/// `problems`; what is wrong keeps its usual value.
models::PacketSettings read_packet_settings(trace::Problems& problems, const trace::Value* section,
                                            const topologies::Network& network);

}  // namespace linkcast::workloads
