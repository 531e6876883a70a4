// Which groups of points explain best what changed? Knows points and groups, not what they were measured on.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "drift_statistics.hpp"
#include "linkcast/calibration/drift.hpp"

namespace linkcast::calibration {

/// A group of points that could have changed together.
struct Suspect {
  DriftLevel level = DriftLevel::whole;
  std::vector<std::size_t> points;
};

/// Of the log ratios: of each point on its own, and of all of them together.
struct Spread {
  Variance point;
  double common = 0;  // variance
};

/// By how much a chance is multiplied for the number of tests: (levels in use) x (tests at this level).
using Corrections = std::map<DriftLevel, double>;

Change judge(double log_ratio, Variance variance, double correction, const DriftOptions& options);
/// Nine times in ten a slowdown of this size is found. As a log ratio.
double would_be_seen(Variance variance, double correction, const DriftOptions& options);
/// Nothing but chance, and beyond the tolerance: both excluded.
bool is_drift(const Change& change, const DriftOptions& options);

/// Variance of the location of `n` points, with Satterthwaite's degrees of freedom (the common part is taken as known).
Variance variance_of_location(std::size_t n, const Spread& spread);

struct Found {
  std::size_t suspect = 0;
  Change change;
  bool beyond = false;                 // holds points of one found before
  std::vector<double> residuals = {};  // of its points, before this change was taken out of them
};

/// Forward selection: of the suspects that drifted, the one that explains most is taken, its change is taken out of its
/// points, and the rest is looked at again. At most `most` are found.
std::vector<Found> search(std::vector<double> log_ratios, std::span<const Suspect> suspects, const Spread& spread,
                          const Corrections& corrections, const DriftOptions& options, std::size_t most = 200);

}  // namespace linkcast::calibration
