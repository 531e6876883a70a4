// What a study of faults looks at: the workload of the scenario, or each of its jobs, with its time without the faults
// that are studied.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "linkcast/planning/elements.hpp"
#include "linkcast/planning/evaluate.hpp"
#include "linkcast/planning/faults.hpp"

namespace linkcast::planning {

struct Target {
  std::string name;                          // of the job
  Faulted scenario;                          // with its own faults, those for the whole run
  std::shared_ptr<const Elements> elements;  // of that
  Evaluation baseline;

  /// The faults as this job's machines and nodes are counted; a part that it does not know is none of it.
  std::vector<Fault> own(std::span<const Fault> faults) const;
};

struct TargetSet {
  std::string title;
  std::vector<Target> targets;
  std::shared_ptr<const Elements> elements;  // of all of them, with the scenario's own faults
  std::function<int(int rank)> role;         // of a rank of those: job, pipeline stage, how slow it is already
  bool computes = false;
  std::vector<std::string> assumptions;
};

/// Throws sim::InputError, also where the baseline cannot run.
TargetSet targets_of(const workloads::ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile,
                     std::stop_token stop);

}  // namespace linkcast::planning
