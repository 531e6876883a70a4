// From probabilities to sentences: causes with what they explain, and what on a healthy machine surprises people.
#pragma once

#include "posterior.hpp"

namespace linkcast::calibration::diagnosis {

/// Causes, most probable first. Of a healthy machine the reasons why its numbers look as they do come first.
std::vector<Cause> causes_of(const std::vector<Hypothesis>& hypotheses, const std::vector<Judged>& judged,
                             const Evidence& evidence, const Predictor& predictor, const Scene& scene, bool healthy);

}  // namespace linkcast::calibration::diagnosis
