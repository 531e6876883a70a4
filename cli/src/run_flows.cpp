// See run_flows.hpp.
#include "run_flows.hpp"

#include <fmt/format.h>

#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {

bool has_flows(const std::string& file, const std::vector<std::string>& set) {
  try {
    return workloads::workload_kind(workloads::open_scenario(file, set)) == workloads::WorkloadKind::flows;
  } catch (const sim::InputError&) {
    return false;
  }
}

void no_stats(const std::string& stats) {
  if (!stats.empty())
    throw sim::InputError("--stats belongs to scenarios with flows",
                          "`workload: {flows: …}` (docs/flows.md), such as configs/packet/incast.yaml");
}

int run_flows(const FlowsRun& run, Io& io) {
  const auto scenario = workloads::open_scenario(run.study.file, run.study.set);
  const auto flows = workloads::read_flow_scenario(scenario, run.study.profile);
  workloads::FlowsOptions options;
  if (!run.stats.empty()) {
    if (flows.fidelity != workloads::Fidelity::packet)
      throw sim::InputError(fmt::format("--stats at fidelity {}: it has no queues", workloads::name_of(flows.fidelity)),
                            "add --fidelity packet");
    check_writable("--stats", run.stats, Kind::table);
    options.samples = true;
  }
  const auto result = workloads::run_flows(flows, options);
  if (!run.stats.empty()) write_file("--stats", run.stats, flows_csv(result));
  const auto goals = goals_of(run.study);
  auto json = flows_json(result);
  if (!goals.json.empty()) json = json.substr(0, json.rfind('}')) + ",\n \"goals\": " + goals.json + "\n}\n";
  if (run.study.report != nullptr) {
    planning::ReportFacts facts;
    facts.inputs = report_inputs(scenario);
    facts.seed = report_seed(scenario);
    add_topology(facts, flows.cluster);
    run.study.report->write(json, std::move(facts), io);
  }
  if (run.study.json)
    io.out << json;
  else
    io.out << flows_text(result, run.all) << goals.text;
  return goals.missed ? check_failed : done;
}

}  // namespace linkcast::cli
