// What `linkcast run` does with the faults of a scenario.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "form.hpp"
#include "run_study.hpp"

namespace linkcast::cli {

struct FaultsAnswer {
  std::optional<int> status;     // everything is said: faults at a time, or an outage
  std::vector<std::string> set;  // else the run's settings, with what the faults change
};
FaultsAnswer run_faults(const StudyRun& run, Io& io);

}  // namespace linkcast::cli
