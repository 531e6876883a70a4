// See run_faults.hpp.
#include "run_faults.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linkcast/planning/fault_run.hpp"
#include "linkcast/planning/faults.hpp"
#include "linkcast/planning/goals.hpp"

namespace linkcast::cli {
namespace {

std::string title_of(const workloads::ScenarioFile& s) {
  const auto* title = s.root.get("title");
  return title != nullptr && title->is_scalar() ? title->text : s.path;
}

std::vector<planning::Goal> goals_of(const workloads::ScenarioFile& s) {
  const auto* v = s.root.get("goals");
  if (v == nullptr || v->kind == workloads::trace::Value::Kind::null) return {};
  workloads::trace::Problems problems;
  auto out = planning::read_goals(problems, *v);
  problems.throw_if_any();
  return out;
}

void say_outage(const workloads::ScenarioFile& scenario, const std::string& reason,
                const std::vector<planning::Judged>& goals, bool json, const ReportOption* report, Io& io) {
  nlohmann::ordered_json j;
  j["schema"] = "linkcast.run/1";
  j["title"] = title_of(scenario);
  j["outage"] = true;
  j["outage_reason"] = reason;
  if (!goals.empty()) j["goals"] = nlohmann::ordered_json::parse(planning::goals_json(goals));
  if (report != nullptr) {
    planning::ReportFacts facts;
    facts.inputs = report_inputs(scenario);
    report->write(j.dump(), std::move(facts), io);
  }
  if (!json) {
    io.out << fmt::format("{}\noutage: the job cannot run: {}\n", title_of(scenario), reason)
           << planning::goals_text(goals);
    return;
  }
  io.out << j.dump(1) << "\n";
}

/// A part of the scenario as a setting, where it has one.
void add_setting(const workloads::ScenarioFile& s, const std::string& path, std::vector<std::string>& set) {
  const auto* v = &s.root;
  std::size_t from = 0;
  while (v != nullptr && from <= path.size()) {
    const auto dot = std::min(path.find('.', from), path.size());
    v = v->is_map() ? v->get(path.substr(from, dot - from)) : nullptr;
    from = dot + 1;
  }
  if (v != nullptr) set.push_back(fmt::format("{}={}", path, workloads::written(*v)));
}

}  // namespace

FaultsAnswer run_faults(const StudyRun& run, Io& io) {
  FaultsAnswer out{std::nullopt, run.set};
  const auto scenario = workloads::open_scenario(run.file, run.set);
  const auto* said = scenario.root.is_map() ? scenario.root.get("faults") : nullptr;
  if (said == nullptr || said->kind == workloads::trace::Value::Kind::null) return out;
  planning::Evaluator evaluator{run.profile, io.stop};
  if (planning::has_timed_faults(scenario)) {
    const auto result = planning::run_with_faults(scenario, evaluator);
    if (io.stop.stop_requested()) {  // what was stopped half-way has no speed
      out.status = interrupted;
      return out;
    }
    if (run.report != nullptr) {
      planning::ReportFacts facts;
      facts.inputs = report_inputs(scenario);
      run.report->write(planning::to_json(result, title_of(scenario)), std::move(facts), io);
    }
    io.out << (run.json ? planning::to_json(result, title_of(scenario))
                        : planning::to_text(result, title_of(scenario)));
    out.status = planning::some_missed(result.goals) ? check_failed : done;
    return out;
  }
  const planning::Elements elements{evaluator.cluster(scenario)};
  const auto faults = planning::faults_of(scenario, elements);
  const auto goals = goals_of(scenario);
  const auto faulted = planning::apply(scenario, elements, faults);
  auto view = faulted.scenario;
  const auto answer = planning::evaluate(evaluator, faulted, &view);
  if (io.stop.stop_requested()) {
    out.status = interrupted;
    return out;
  }
  for (const auto& f : faults) io.log.note(planning::to_text(f));
  for (const auto& note : faulted.notes) io.log.note(note);
  if (answer.outage) {
    const auto judged = planning::judged_outage(goals);
    say_outage(scenario, answer.outage_reason, judged, run.json, run.report, io);
    out.status = planning::some_missed(judged) ? check_failed : done;
    return out;
  }
  for (const auto* path : {"overrides", "workload.step.plan.follow", "replay.slow_ranks"})
    add_setting(view, path, out.set);
  return out;
}

}  // namespace linkcast::cli
