// See run_study.hpp.
#include "run_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linkcast/planning/study.hpp"

namespace linkcast::cli {
namespace {

/// The scenario itself, without its variants.
planning::Study study_of(const StudyRun& run) {
  auto scenario = workloads::open_scenario(run.file, run.set);
  std::erase_if(scenario.root.entries, [](const auto& e) {
    return e.first.text == "variants" || e.first.text == "options" || e.first.text == "baseline";
  });
  return planning::Study{std::move(scenario), {run.profile, LINKCAST_VERSION}};
}

/// The machine, with what the collective's bytes took of each link's rate where the model says that.
void add_collective_topology(planning::ReportFacts& facts, const workloads::ScenarioFile& scenario,
                             planning::Evaluator& evaluator) {
  const auto cluster = evaluator.cluster(scenario);
  const auto answer = evaluator.run(scenario);
  sim::ReplayResult carried;
  if (answer.collective && answer.collective->row.carried.size() == cluster.resource_count()) {
    carried.carried = answer.collective->row.carried;
    carried.end = answer.time;
  }
  auto links = sim::link_use(cluster.resources(), carried);
  for (auto& l : links) l.name = cluster.resource_name(l.resource);
  add_topology(facts, cluster, links);
}

}  // namespace

bool has_collective(const std::string& file, const std::vector<std::string>& set) {
  try {
    return workloads::workload_kind(workloads::open_scenario(file, set)) == workloads::WorkloadKind::collective;
  } catch (const sim::InputError&) {
    return false;
  }
}

bool has_key(const std::string& file, const std::vector<std::string>& set, std::string_view key) {
  try {
    const auto scenario = workloads::open_scenario(file, set);
    const auto* v = scenario.root.is_map() ? scenario.root.get(key) : nullptr;
    return v != nullptr && v->kind != workloads::trace::Value::Kind::null;
  } catch (const sim::InputError&) {
    return false;
  }
}

int run_collective(const StudyRun& run, Io& io) {
  const auto study = study_of(run);
  planning::Evaluator evaluator{run.profile, io.stop};
  const std::vector<planning::Row> rows{study.row(0, evaluator)};
  const auto goals = planning::judged(study, rows.front());
  if (rows.front()[study.column("status")] == "error") throw sim::InputError(rows.front()[study.column("error")], "");
  std::string command = "linkcast run " + run.file;
  for (const auto& s : run.set) command += " --set " + s;
  if (run.report != nullptr) {
    const auto scenario = workloads::open_scenario(run.file, run.set);
    planning::ReportFacts facts;
    facts.inputs = report_inputs(scenario);
    facts.seed = report_seed(scenario);
    if (rows.front()[study.column("status")] == "done") add_collective_topology(facts, scenario, evaluator);
    run.report->write(planning::json_table(study, rows, command), std::move(facts), io);
  }
  if (run.json) {
    io.out << planning::json_table(study, rows, command);
  } else {
    io.out << study.title() << "\n\n"
           << planning::text_table(study, rows) << planning::parts_table(study, rows.front())
           << planning::goals_text(goals);
  }
  return planning::some_missed(goals) ? check_failed : done;
}

GoalsAnswer goals_of(const StudyRun& run) {
  const auto scenario = workloads::open_scenario(run.file, run.set);
  if (!scenario.root.is_map() || scenario.root.get("goals") == nullptr) return {};
  const auto study = study_of(run);
  planning::Evaluator evaluator{run.profile};
  const auto row = study.row(0, evaluator);
  const auto goals = planning::judged(study, row);
  GoalsAnswer out{planning::goals_text(goals), {}, planning::some_missed(goals)};
  const auto table = nlohmann::ordered_json::parse(planning::json_table(study, std::span{&row, 1}, ""));
  out.json = table["rows"][0]["goals"].dump();
  return out;
}

}  // namespace linkcast::cli
