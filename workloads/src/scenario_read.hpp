// A scenario as read from its file: the fabric is loaded, the trace is open, nothing is simulated yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkcast/topologies/fabric.hpp"
#include "linkcast/workloads/collective.hpp"
#include "trace_value.hpp"

namespace linkcast::workloads::trace {

struct Scenario {
  std::string title;
  topologies::Fabric fabric;  // its ranks are the trace's
  CommunicatorOptions options;
  Trace trace;
  Place topology_place;
};

/// Throws sim::InputError with everything that is wrong.
/// `profile`: instead of the file's; null: as the file says.
Scenario read_scenario(const Source& file, const std::vector<std::string>& set,
                       std::shared_ptr<const topologies::Profile> profile = nullptr);

/// `setting`: "workload.programs.0.do.0.compute=5ms", over what stands there or beside it.
void override_one(Value& root, const std::string& setting, Problems& problems);

/// Says at `place` what a room below says without a place; what has one already is thrown on.
void relocate(Problems& problems, const Place& place, const sim::InputError& error);

}  // namespace linkcast::workloads::trace
