// What FailureRates holds.
#pragma once

#include <vector>

#include "linkcast/planning/failure_rates.hpp"

namespace linkcast::planning {

/// One cause. `part.part` may be the beginning of a part's name ("switch cable"); its count and rate are not set.
struct RatedCause {
  FailingPart part;
  Band per_part_year;
};

struct FailureRates::Data {
  std::vector<RatedCause> causes;
};

}  // namespace linkcast::planning
