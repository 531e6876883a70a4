// The answer of `linkcast run`, printed: scenario_text.cpp for people, scenario_json.cpp for programs.
#pragma once

#include <string>

#include "linkcast/workloads/scenario.hpp"

namespace linkcast::cli {

struct ScenarioPrinting {
  std::size_t ranks = 16, totals = 20, links = 8;  // rows of each table; 0: all
};

std::string scenario_text(const workloads::ScenarioResult& result, const ScenarioPrinting& printing);
std::string scenario_json(const workloads::ScenarioResult& result);

}  // namespace linkcast::cli
