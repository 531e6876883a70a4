// See resilience_targets.hpp.
#include "resilience_targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "linkcast/planning/jobs.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/step.hpp"
#include "scenario_plan.hpp"

namespace linkcast::planning {

std::vector<Fault> Target::own(std::span<const Fault> faults) const {
  std::vector<Fault> out;
  for (const auto& f : faults) {
    auto element = elements->find(f.element.name);
    if (!element) continue;
    out.push_back(f);
    out.back().element = std::move(*element);
  }
  return out;
}

namespace {

using workloads::ScenarioFile;
using workloads::trace::Value;

std::string title_of(const ScenarioFile& s) {
  const auto* title = s.root.is_map() ? s.root.get("title") : nullptr;
  return title != nullptr && title->is_scalar() ? title->text : s.path;
}

/// Faults for the whole run; those at a time are not of a study.
std::vector<Fault> standing_faults(const ScenarioFile& s, const Elements& elements, TargetSet& set) {
  auto faults = faults_of(s, elements);
  if (std::erase_if(faults, [](const Fault& f) { return f.at.has_value(); }) > 0)
    set.assumptions.push_back("faults at a time are left out: `linkcast run` follows them");
  return faults;
}

void add_target(TargetSet& set, Evaluator& evaluator, std::string name, const ScenarioFile& scenario,
                std::span<const Fault> standing) {
  Target t{std::move(name), {}, std::make_shared<const Elements>(evaluator.cluster(scenario)), {}};
  t.scenario = apply(scenario, *t.elements, t.own(standing));
  t.baseline = evaluate(evaluator, t.scenario);
  if (t.baseline.outage)
    throw sim::InputError(
        fmt::format("{} cannot run as the scenario has it: {}",
                    t.name.empty() ? "the job" : fmt::format("job '{}'", t.name), t.baseline.outage_reason),
        "take the faults and overrides out that stop it");
  // What broke already is another part than those that still work.
  if (!standing.empty()) t.elements = std::make_shared<const Elements>(evaluator.cluster(t.scenario.scenario));
  set.targets.push_back(std::move(t));
}

/// The scenario as it stands. Slow GPUs are no change of the machine: they are roles.
ScenarioFile with_standing(const ScenarioFile& s, const Elements& elements, std::span<const Fault> standing) {
  std::vector<Fault> parts;
  std::ranges::copy_if(standing, std::back_inserter(parts), [](const Fault& f) { return f.kind != FaultKind::slow; });
  return apply(s, elements, parts).scenario;
}

/// `role`, and ranks that standing faults make slow are alike only where they are as slow.
std::function<int(int)> with_slow(const std::function<int(int)>& role, const Elements& elements,
                                  std::span<const Fault> standing) {
  const int each = elements.cluster().gpus_per_node();
  std::map<int, double> slow;
  for (const auto& f : standing) {
    if (f.kind != FaultKind::slow || f.element.job_node < 0) continue;
    auto ranks = elements.nearest_ranks(f.element);
    if (f.element.kind == ElementKind::node) {
      ranks.clear();
      for (int i = 0; i < each; ++i) ranks.push_back(f.element.job_node * each + i);
    }
    for (const int rank : ranks) slow[rank] = std::max(slow[rank], f.factor);
  }
  if (slow.empty()) return role;
  std::map<std::pair<int, double>, int> known;
  std::vector<int> out;
  for (int rank = 0; rank < elements.cluster().ranks(); ++rank) {
    const auto at = slow.find(rank);
    const std::pair key{role(rank), at == slow.end() ? 1.0 : at->second};
    out.push_back(known.try_emplace(key, static_cast<int>(known.size())).first->second);
  }
  return [out = std::move(out)](int rank) { return out[static_cast<std::size_t>(rank)]; };
}

/// A pipeline stage of a step; -1: a GPU that the workload does not use.
int stage_of(const std::optional<workloads::Plan>& plan, int rank) {
  if (!plan) return 0;
  return plan->gpus > 0 && rank >= plan->gpus ? -1 : workloads::place_of(*plan, rank).stage;
}

/// The scenario of one of several jobs: its nodes by name, its workload.
ScenarioFile alone(const ScenarioFile& all, const JobSet& set, std::size_t job) {
  auto out = all;
  auto& entries = out.root.entries;
  const auto* item = &all.root.get("jobs")->items[job];
  const auto drop = [&](std::string_view key) {
    std::erase_if(entries, [&](const auto& e) { return e.first.text == key; });
  };
  for (const auto* key : {"jobs", "gpus", "placement", "seed", "hosts"}) drop(key);
  const auto add = [&](std::string_view key, Value value) {
    drop(key);
    Value name;
    name.kind = Value::Kind::scalar;
    name.place = item->place;
    name.text = key;
    entries.push_back({std::move(name), std::move(value)});
  };
  std::vector<std::string> names;
  for (const int node : set.jobs[job].nodes) names.push_back(set.cluster.node_name(node));
  Value hosts;
  hosts.kind = Value::Kind::scalar;
  hosts.place = item->place;
  hosts.text = fmt::format("{}", fmt::join(names, ","));
  add("hosts", std::move(hosts));
  if (const auto* workload = item->get("workload")) add("workload", *workload);
  return out;
}

TargetSet of_jobs(const ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile,
                  Evaluator& evaluator) {
  TargetSet out;
  const auto jobs = read_jobs(scenario, profile);
  out.title = title_of(scenario);
  out.elements = std::make_shared<const Elements>(jobs.cluster);
  const auto standing = standing_faults(scenario, *out.elements, out);
  const int each = jobs.cluster.gpus_per_node();
  std::vector<std::pair<int, int>> place(static_cast<std::size_t>(jobs.cluster.ranks()), {-1, 0});
  std::vector<std::optional<workloads::Plan>> plans;
  for (std::size_t j = 0; j < jobs.jobs.size(); ++j) {
    auto s = alone(scenario, jobs, j);
    plans.push_back(plan_of(s));
    const auto& nodes = jobs.jobs[j].nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (int l = 0; l < each; ++l)
        place[static_cast<std::size_t>(nodes[n] * each + l)] = {static_cast<int>(j), static_cast<int>(n) * each + l};
    out.computes = out.computes || plans.back().has_value();
    add_target(out, evaluator, jobs.jobs[j].name, s, standing);
  }
  if (!standing.empty())
    out.elements = std::make_shared<const Elements>(
        read_jobs(with_standing(scenario, *out.elements, standing), std::move(profile)).cluster);
  // Each job has its stages; GPUs that nobody has are alike.
  out.role = [place = std::move(place), plans = std::move(plans)](int rank) {
    const auto [job, own] = place[static_cast<std::size_t>(rank)];
    return job < 0 ? -1 : job * 100'000 + stage_of(plans[static_cast<std::size_t>(job)], own);
  };
  out.role = with_slow(out.role, *out.elements, standing);
  out.assumptions.push_back(
      "each job is timed alone on its nodes: what jobs do to each other is `linkcast run`'s answer");
  return out;
}

}  // namespace

TargetSet targets_of(const ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile,
                     std::stop_token stop) {
  Evaluator evaluator{profile, std::move(stop)};
  if (has_jobs(scenario)) return of_jobs(scenario, profile, evaluator);
  TargetSet out;
  out.title = title_of(scenario);
  out.elements = std::make_shared<const Elements>(evaluator.cluster(scenario));
  const auto standing = standing_faults(scenario, *out.elements, out);
  add_target(out, evaluator, {}, scenario, standing);
  const auto plan = plan_of(scenario);
  out.computes = plan.has_value();
  out.role = with_slow([plan](int rank) { return stage_of(plan, rank); }, *out.elements, standing);
  out.elements = out.targets.front().elements;
  if (!plan && workloads::workload_kind(scenario) == workloads::WorkloadKind::recording)
    out.assumptions.push_back(
        "a trace shows what its recorded ranks meet: a fault that only the others would meet is not seen, and no GPU "
        "is "
        "made slow");
  return out;
}

}  // namespace linkcast::planning
