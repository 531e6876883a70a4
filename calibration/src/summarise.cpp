// From relative errors to the few numbers that are printed. Knows no series.
#include <algorithm>
#include <cmath>
#include <vector>

#include "linkcast/calibration/validate.hpp"

namespace linkcast::calibration {

SizeClass size_class(sim::Bytes size) {
  if (size < sim::mib(1)) return SizeClass::below_1M;
  return size < sim::mib(64) ? SizeClass::from_1M_to_64M : SizeClass::from_64M;
}
namespace {

/// The q-quantile with linear interpolation between order statistics. Requires sorted, not empty.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

ErrorSummary summarise(const std::vector<double>& relative_errors) {
  ErrorSummary out;
  if (relative_errors.empty()) return out;
  auto sorted = relative_errors;
  std::sort(sorted.begin(), sorted.end());
  out.points = static_cast<int>(sorted.size());
  out.bias = quantile(sorted, 0.5);
  for (auto& e : sorted) e = std::abs(e);
  std::sort(sorted.begin(), sorted.end());
  out.median_abs_rel_error = quantile(sorted, 0.5);
  out.p90_abs_rel_error = quantile(sorted, 0.9);
  return out;
}

}  // namespace linkcast::calibration
