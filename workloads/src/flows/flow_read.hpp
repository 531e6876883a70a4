// Reads `workload.flows`: the groups, with all that is wrong with them. Knows no machine but its ends.
#pragma once

#include <vector>

#include "linkcast/workloads/flow_patterns.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {

/// `ends`: null where the machine could not be read; then only the keys are checked.
std::vector<FlowGroup> read_flow_groups(trace::Problems& problems, const trace::Value& v, const FlowEnds* ends);

}  // namespace linkcast::workloads
