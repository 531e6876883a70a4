// How probable each hypothesis is, given all observations. Every group of observations (one collective, one class of
// sizes) shares an unknown bias of the prediction; around it points scatter with heavy tails. Knows no physics.
#pragma once

#include <vector>

#include "faults.hpp"

namespace linkcast::calibration::diagnosis {

struct Judged {
  bool possible = false;
  double log_evidence = 0;        // ln p(points | hypothesis)
  double probability = 0;         // of all hypotheses
  std::vector<double> predicted;  // of each observation, as Observation::measured
};

/// In the order of `hypotheses`; does not depend on the number of threads.
std::vector<Judged> judge(const std::vector<Hypothesis>& hypotheses, const Evidence& evidence,
                          const Predictor& predictor, int threads);

}  // namespace linkcast::calibration::diagnosis
