// The search on one machine in one size: every layout is counted, those that fit get a bound, and the best bound is
// replayed until nothing that is left can be among the best. Knows no goals and no money.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "question.hpp"

namespace linkcast::planning {

struct FoundLayout {
  workloads::Plan plan;
  sim::Time time, bound;
  double mfu = 0, tokens_per_second = 0, exposed_share = 0, memory_bytes = 0;
  std::string bound_by;
  std::vector<std::string> notes;
};

struct CellAnswer {
  PlanCounts counts;
  std::vector<FoundLayout> found;  // the fastest first, at most as many as are kept
  bool complete = true;
  std::string why;  // nothing was found
};

struct CellOptions {
  bool exhaustive = false;
  std::function<void(double share)> progress;
  std::stop_token stop;
};
CellAnswer search_cell(const PlanMachine& machine, const PlanPlace& place, std::int64_t evaluations, std::size_t keep,
                       const CellOptions& options);

}  // namespace linkcast::planning
