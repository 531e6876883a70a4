// Small machines for tests of faults.
#pragma once

#include <string>

#include "linkcast/planning/faults.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {

inline workloads::ScenarioFile scenario_of(const std::string& text) {
  return workloads::open_scenario_text(text, LINKCAST_SOURCE_DIR "/configs/study.yaml");
}

/// Four DGX H100 in two units of two: 16 leaves, each with two machines.
inline const std::string two_units =
    "topology: dgx-h100\n"
    "nodes: 4\n"
    "network: {type: rail_optimised, switch: qm9700, nodes_per_unit: 2, uplinks: 2, spines: 2}\n";
inline const std::string all_reduce = "workload: {collective: {op: all_reduce, size: 256 MiB}}\n";
inline const std::string step =
    "workload: {step: {model: ../tests/data/models/llama3.1-8b.yaml, plan: {gpus: 32, tp: 8, pp: 2, global_batch: 8, "
    "sequence: 4096, recompute: full}}}\n";

/// With `faults: [...]`.
inline Evaluation with_faults(const std::string& scenario, const std::string& faults) {
  Evaluator evaluator;
  const auto s = scenario_of(scenario + "faults: [" + faults + "]\n");
  const Elements elements{evaluator.cluster(s)};
  return evaluate(evaluator, apply(s, elements, faults_of(s, elements)));
}

/// What is said about a scenario with these faults; empty: nothing.
inline std::string said_about(const std::string& scenario, const std::string& faults) {
  try {
    Evaluator evaluator;
    const auto s = scenario_of(scenario + "faults: " + faults + "\n");
    static_cast<void>(faults_of(s, Elements{evaluator.cluster(s)}));
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return {};
}

}  // namespace linkcast::planning
