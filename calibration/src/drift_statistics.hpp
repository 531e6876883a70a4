// Robust statistics of a few numbers: where they lie, how far they scatter, how likely that is chance.
// Knows no measurement.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace linkcast::calibration {

/// A variance and the degrees of freedom that it was estimated with.
struct Variance {
  double value = 0, df = 0;
};

double median(std::vector<double> values);  // requires some

/// Hodges-Lehmann: the median of all pairwise means; up to 29 % of the values may be anything. Efficiency against
/// the mean of normal values is 3 / pi = 0.955. Above 64 values the median, whose efficiency is 2 / pi.
double location(const std::vector<double>& values);
/// Variance of location() of n values that each have variance 1.
double location_variance(std::size_t n);

/// From the differences of neighbours, which a smooth change leaves small: (1.4826 median |d|)^2 / 2. Nothing where
/// there are fewer than three differences.
std::optional<Variance> variance_of_neighbours(const std::vector<double>& differences);
/// From the deviations from the median, for at least four values.
std::optional<Variance> variance_around_median(const std::vector<double>& values);
/// Of the cells [from][to] of a square matrix (NaN: none, the diagonal is not looked at), free of effects of rows and
/// columns: the contrast y_ij - y_ik - y_lj + y_lk of four different i, j, k, l has variance 4 s^2. Nothing where
/// there are fewer than six contrasts.
std::optional<Variance> variance_of_contrasts(const std::vector<std::vector<double>>& cells);

/// An estimate drawn towards what is known beforehand, as limma does (Smyth 2004): (d0 s0^2 + d s^2) / (d0 + d).
Variance moderated(const std::optional<Variance>& estimated, double prior, double prior_df, double floor);

/// P(T <= t) of Student's t, and its inverse; df may be large.
double student_below(double t, double df);
double student_quantile(double probability, double df);

}  // namespace linkcast::calibration
