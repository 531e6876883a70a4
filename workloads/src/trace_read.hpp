// The two written forms of Linkcast's trace format (docs/trace.md). Knows no topology but its number of GPUs.
#pragma once

#include <string>

#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads::trace {

/// Programs of operations with loops. `available`: ranks that the fabric has; negative: not known.
Trace read_program_trace(Problems& problems, const Value& v, int available);

/// One operation a line. Only the head is read here; the rest as it is asked for.
Trace read_line_trace(Problems& problems, const std::string& path, int available);

}  // namespace linkcast::workloads::trace
