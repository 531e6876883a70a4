// The parallelism plan of a scenario whose workload is a training step.
#pragma once

#include <optional>

#include "linkcast/workloads/scenario_file.hpp"
#include "linkcast/workloads/step.hpp"

namespace linkcast::planning {

/// Nothing for any other workload.
std::optional<workloads::Plan> plan_of(const workloads::ScenarioFile& scenario);

}  // namespace linkcast::planning
