// How far two measurements of the same, unchanged machine lie apart, before any data says so. Knows no statistics.
#pragma once

#include "linkcast/calibration/drift.hpp"

namespace linkcast::calibration {

/// Standard deviations of the logarithm of one measurement.
struct NoisePrior {
  double point = 0;  // of one point on its own
  double run = 0;    // of a whole run: all its points together
  double floor = 0;  // of one point; no data makes it believed to be smaller
  double lone = 0;   // of a point that nothing is known about
};

/// Between sites, the slowest of a few equal configurations (three, usually) takes 1.04 times as long as the fastest
/// from 64 MiB, 1.06 times from 1 MiB, 1.36 times below (tests/data/collectives, 21 configurations). The expected range
/// of three normal values is 1.69 standard deviations: 2.3 %, 3.4 %, 18 %. That is taken for a lone point. Within one
/// site it is taken for half of that, and below 1 MiB, where launch mode and versions make most of it, for a quarter.
inline NoisePrior prior_of(SizeClass c) {
  switch (c) {
    case SizeClass::below_1M:
      return {0.045, 0.045, 0.015, 0.18};
    case SizeClass::from_1M_to_64M:
      return {0.017, 0.017, 0.005, 0.034};
    case SizeClass::from_64M:
      break;
  }
  return {0.012, 0.012, 0.004, 0.023};
}

/// Copies between two GPUs or hosts have no launch and no schedule in them: alike links of one machine differ by less
/// than 1 % in published matrices. Where so few pairs are measured that they cannot show it, 3 % is taken. Latencies
/// are printed with two digits behind the point, of one to twenty us.
inline NoisePrior prior_of_pairs(bool latency) {
  return latency ? NoisePrior{0.03, 0.02, 0.01, 0.06} : NoisePrior{0.012, 0.005, 0.004, 0.03};
}

}  // namespace linkcast::calibration
