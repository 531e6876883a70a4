// From single faults to the goodput of weeks: what was found about each kind of part, laid over how often it fails.
#pragma once

#include <memory>
#include <vector>

#include "linkcast/planning/cost.hpp"
#include "linkcast/planning/failure_rates.hpp"
#include "linkcast/planning/goals.hpp"
#include "linkcast/planning/resilience.hpp"

namespace linkcast::planning {

/// What the scenario says beside the faults: read before anything is evaluated, so that mistakes are said at once.
struct Expectations {
  Reliability reliability;
  std::shared_ptr<const FailureRates> rates;
  std::vector<Goal> goals;
  std::shared_ptr<const Prices> prices;
};
/// Throws sim::InputError.
Expectations read_expectations(const workloads::ScenarioFile& scenario);

/// Fills `goodput`.
void add_goodput(Resilience& r, const Expectations& expected, const topologies::Cluster& cluster, int threads);
/// Judges the goals by what is known here. `scenario`, `evaluator`: for goals on a collective; `cluster`: for those on
/// what it costs.
void add_goals(Resilience& r, const Expectations& expected, const workloads::ScenarioFile& scenario,
               const topologies::Cluster& cluster, Evaluator& evaluator);

}  // namespace linkcast::planning
