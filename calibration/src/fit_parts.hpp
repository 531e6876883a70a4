// What a fit and a cross-validation share: which numbers may move, which points are seen, and how errors are added up.
#pragma once

#include <array>
#include <vector>

#include "fit_problem.hpp"
#include "linkcast/calibration/expected_error.hpp"

namespace linkcast::calibration {

/// Of all numbers of all parts that the observations touch, those that rules let a fit change.
std::vector<FreeNumber> free_numbers(const std::vector<std::unique_ptr<Observation>>& observations,
                                     const FitOptions& options);

/// Every word of `only` must begin such a number. Throws sim::InputError with the nearest one.
void check_only(const std::vector<std::unique_ptr<Observation>>& observations, const FitOptions& options);

struct PointSplit {
  std::vector<std::vector<std::size_t>> used, judged;  // of each observation
};
/// A share of all points at random is held back; of a long series the rest is thinned evenly over the sizes.
PointSplit split_points(const std::vector<std::unique_ptr<Observation>>& observations, const FitOptions& options);

FittedParameter parameter_of(const FreeNumber& number);

struct ErrorsBySize {
  std::vector<double> all;
  std::array<std::vector<double>, 3> by_class;
  void add(sim::Bytes size, double relative) {
    all.push_back(relative);
    by_class[static_cast<std::size_t>(size_class(size))].push_back(relative);
  }
  ErrorSummary summary() const { return summarise(all); }
  SizeClasses classes() const { return {summarise(by_class[0]), summarise(by_class[1]), summarise(by_class[2])}; }
};

/// A number stays at its prior unless this share of the prior's variance is gone.
inline constexpr double told_enough = 0.25;

int threads_of(const FitOptions& options);

}  // namespace linkcast::calibration
