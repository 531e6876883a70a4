// Where to say what another reader found wrong: at the place that names its file, or at its own place in this one.
// Knows no schema. (trace::relocate, for what a room below says without a place, is in trace_fields.hpp.)
#pragma once

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::workloads::trace {

/// Problems of another file or of a room below, said at `at`, the place that names it, with their own in the text.
void add_foreign(Problems& problems, const Value& at, const sim::InputError& error);
/// Problems of this file by a reader that knows its lines, at their own places; at `near` where it knows none.
void add_own(Problems& problems, const Value& near, const sim::InputError& error);

}  // namespace linkcast::workloads::trace
