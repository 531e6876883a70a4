// A scenario as read from its file: the fabric is loaded, the trace is open, nothing is simulated yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkcast/topologies/fabric.hpp"
#include "linkcast/workloads/collective.hpp"
#include "linkcast/workloads/trace_value.hpp"

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

}  // namespace linkcast::workloads::trace
