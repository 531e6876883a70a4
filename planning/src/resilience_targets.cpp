// See resilience_targets.hpp.
#include "resilience_targets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/step.hpp"
#include "scenario_plan.hpp"

namespace linkcast::planning {

TargetSet targets_of(const workloads::ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile,
                     std::stop_token stop) {
  TargetSet out;
  Evaluator evaluator{std::move(profile), std::move(stop)};
  Target t;
  t.scenario = scenario;
  t.elements = std::make_shared<const Elements>(evaluator.cluster(scenario));
  t.standing = faults_of(scenario, *t.elements);
  const bool timed = std::ranges::any_of(t.standing, [](const Fault& f) { return f.at.has_value(); });
  if (timed) out.assumptions.push_back("faults at a time are left out: `linkcast run` follows them");
  std::erase_if(t.standing, [](const Fault& f) { return f.at.has_value(); });
  t.baseline = evaluate(evaluator, apply(scenario, *t.elements, t.standing));
  if (t.baseline.outage)
    throw sim::InputError(fmt::format("the job cannot run as the scenario has it: {}", t.baseline.outage_reason),
                          "take the faults and overrides out that stop it");
  const auto* title = scenario.root.is_map() ? scenario.root.get("title") : nullptr;
  out.title = title != nullptr && title->is_scalar() ? title->text : scenario.path;
  out.computes = workloads::workload_kind(scenario) == workloads::WorkloadKind::recording;
  const auto plan = plan_of(scenario);
  const int world = plan && plan->gpus > 0 ? plan->gpus : t.elements->cluster().ranks();
  out.role = [plan, world](int rank) {
    if (rank >= world) return -1;
    return plan ? workloads::place_of(*plan, rank).stage : 0;
  };
  if (out.computes && !plan) {
    out.computes = false;  // only recorded ranks can be slow
    out.assumptions.push_back(
        "a trace shows what its recorded ranks meet: a fault that only the others would meet is not seen");
  }
  out.elements = t.elements;
  out.targets.push_back(std::move(t));
  return out;
}

}  // namespace linkcast::planning
