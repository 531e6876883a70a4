// Reads one operation, or a loop of them, and the communicators: what the YAML and the JSON Lines form share.
// Knows no file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads::trace {

/// An operation, or `count` times a body.
struct Step {
  std::shared_ptr<const TraceOp> op;
  std::int64_t count = 1;
  std::vector<Step> body;
};

struct OpContext {
  Problems& problems;
  std::span<const TraceCommunicator> communicators;
  std::span<const int> ranks;  // that do it
};

/// `extra` keys belong to the caller (`rank` and `ranks` of a line). Null where it could not be read.
std::shared_ptr<const TraceOp> read_op(const OpContext& context, const Value& v,
                                       std::span<const std::string_view> extra);
std::vector<Step> read_steps(const OpContext& context, const Value& list);

/// "world" and those of the map `v` (null: none). `count`: ranks there are; negative: not known, nothing is checked.
std::vector<TraceCommunicator> read_communicators(Problems& problems, const Value* v, int count);

}  // namespace linkcast::workloads::trace
