// Is a measurement of the machine that the caller names? By the GPUs that a log lists, or the system of a file.
#pragma once

#include "linkcast/calibration/measurements.hpp"

namespace linkcast::calibration {

/// Throws sim::InputError with everything that was measured on other GPUs than `system` has.
void refuse_other_machine(const std::string& system, const std::vector<Series>& series,
                          const std::vector<PairMatrix>& matrices = {});

}  // namespace linkcast::calibration
