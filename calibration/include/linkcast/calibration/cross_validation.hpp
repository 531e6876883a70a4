// Leave one source out: each source's measurements predicted by a fit that never saw anything of that source. It is the
// error to expect on a cluster whose measurements nobody has given to us.
#pragma once

#include <string>
#include <vector>

#include "linkcast/calibration/fit.hpp"

namespace linkcast::calibration {

/// Who measured: the owner of a public repository ("github.com/eth-cscs"), the site of another address, or, where the
/// address is not known, the series alone.
std::string source_of(const Series& series);

struct LeftOut {
  std::string source;
  int series = 0;
  std::vector<double> predicted_seen;  // of the same points, by the fit with all sources
  std::vector<FitPoint> points;        // predicted by the fit without this source
  ErrorSummary seen, unseen;           // by the fit with all sources; by the one without this source
  SizeClasses seen_classes, unseen_classes;
};

struct CrossValidation {
  FitResult all;  // the fit with every source
  std::vector<LeftOut> sources;
  ErrorSummary seen, unseen;  // over all points of series
  SizeClasses seen_classes, unseen_classes;
};

/// As fit() with `shared` and nothing held back, then once for each source. A number that only the source left out
/// tells goes back to its prior. Throws sim::InputError as fit() does.
CrossValidation cross_validate(const Measurements& measurements, const FitOptions& options);

std::string text_report(const CrossValidation& v);
/// Every point with both predictions: schema `linkcast.cross_validation/1`.
std::string json_report(const CrossValidation& v);

}  // namespace linkcast::calibration
