// Predictions against measurements: per series the median and 90th percentile of |predicted/measured - 1|, the
// bias (median of predicted/measured - 1), and a row per point; over many series one table.
#pragma once

#include <string>
#include <vector>

#include "linkcast/calibration/series.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::calibration {

enum class Floor { shipped, known };     // known: a series' smallest time is its host's launch floor

struct ValidateOptions {
  workloads::Fidelity fidelity = workloads::Fidelity::flow;
  Floor floor = Floor::shipped;
  int threads = 0;                       // 0: all cores; results do not depend on it
};

struct ErrorSummary {
  int points = 0;
  double median_abs_rel_error = 0, p90_abs_rel_error = 0, bias = 0;
};

struct ValidatedPoint {
  Point measured;
  sim::Time predicted;
  std::string algorithm, protocol;
};

struct ValidatedSeries {
  Series series;
  std::string skipped;                   // why there is no prediction; empty where there is one
  std::vector<ValidatedPoint> rows;
  ErrorSummary all, below_1M, from_1M_to_64M, from_64M;
};

struct Validation {
  std::vector<ValidatedSeries> series;
  ErrorSummary all, below_1M, from_1M_to_64M, from_64M;              // healthy series with a system
  std::map<std::string, ErrorSummary> families;                       // "dgx-h100 all_reduce"
};

ErrorSummary summarise(const std::vector<double>& relative_errors);
Validation validate(std::vector<Series> series, const ValidateOptions& options = {});

}  // namespace linkcast::calibration
