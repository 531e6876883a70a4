// From single faults to the goodput of weeks: what was found about each kind of part, laid over how often it fails.
#pragma once

#include "linkcast/planning/resilience.hpp"

namespace linkcast::planning {

/// Fills `goodput`, and says what was assumed. Throws sim::InputError (`rates`, `reliability`).
void add_goodput(Resilience& r, const workloads::ScenarioFile& scenario, const topologies::Cluster& cluster,
                 const ResilienceOptions& options);

}  // namespace linkcast::planning
