// The answer of `linkcast run`, printed: scenario_text.cpp for people, scenario_json.cpp for programs.
#pragma once

#include <string>

#include "expected.hpp"
#include "linkcast/workloads/scenario.hpp"

namespace linkcast::cli {

struct ScenarioPrinting {
  std::size_t ranks = 16, totals = 20, links = 8;  // rows of each table; 0: all
};

/// Of all calls of one kind; nothing where nothing is known of the operation.
std::optional<calibration::ExpectedError> error_of(const workloads::ScenarioResult& result,
                                                   const workloads::CollectiveTotal& total, const Expected& expected);
std::string scenario_text(const workloads::ScenarioResult& result, const ScenarioPrinting& printing,
                          const Expected& expected);
std::string scenario_json(const workloads::ScenarioResult& result, const Expected& expected);

}  // namespace linkcast::cli
