// Observations and parameters as a least-squares problem, solved by Ceres: residuals are log(predicted / measured) in
// units of the uncertainty of their class of size, under a robust loss; each parameter is the logarithm of a number of
// a part and has a normal prior. Knows no report.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "observations.hpp"

namespace linkcast::calibration {

struct FreeNumber {
  std::string path;
  topologies::Unit unit = topologies::Unit::none;
  double prior = 0, spread = 0, low = 0, high = 0;  // natural logarithms of base units; spread its standard deviation
  double value = 0;                                 // logarithm; after solve() the estimate
  double deviation = 0;                             // standard deviation after solve()
};

class FitProblem {
 public:
  /// `used[o]`: which points of observation o take part; the others are only predicted.
  /// `sites`: the observations are of many sites, each with an offset of its own in each class of size.
  FitProblem(const std::vector<std::unique_ptr<Observation>>& observations, std::vector<std::vector<std::size_t>> used,
             std::shared_ptr<const topologies::Profile> start, std::vector<FreeNumber> numbers, bool sites = false);
  ~FitProblem();

  /// Removes numbers that change no prediction by more than a thousandth of their own change; says which.
  std::vector<FreeNumber> drop_untouched();
  /// After solve(): puts back to their priors the numbers of which less than this share of the prior's variance is
  /// gone, and takes them out of the problem; says which.
  std::vector<FreeNumber> drop_untold(double told);
  /// Uncertainties that are known from another solution: solve() then solves once, in at most `iterations` steps.
  void know(const std::array<double, 3>& deviations, int iterations);
  /// Called after each iteration of solve() with its number and the cost so far.
  void watch(std::function<void(int iteration, double cost)> progress);
  /// Solves twice: the uncertainty of each class of size is taken from the residuals of the first solution.
  void solve(std::stop_token stop);

  const std::vector<FreeNumber>& numbers() const;
  /// The start with the numbers as they are now.
  std::shared_ptr<const topologies::Profile> profile() const;
  /// Robust standard deviation of log(predicted / measured) by class of size, as of the last solution.
  const std::array<double, 3>& deviations() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Standard deviation of a normal distribution from the median absolute value (1.4826 times it).
double robust_deviation(std::vector<double> residuals);

}  // namespace linkcast::calibration
