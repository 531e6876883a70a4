// Variables that forbid what a healthy machine uses, where nothing was measured: what they cost on this machine.
#pragma once

#include "observe.hpp"

namespace linkcast::calibration::diagnosis {

/// Simulates with and without each variable that is set; degraded where a collective loses by it.
void judge_variables(const Predictor& predictor, const DiagnoseOptions& options, Evidence& evidence, Diagnosis& out);

}  // namespace linkcast::calibration::diagnosis
