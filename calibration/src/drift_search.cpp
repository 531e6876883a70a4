// See drift_search.hpp.
#include "drift_search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace linkcast::calibration {
namespace {

constexpr double kFoundNineInTen = 0.9;
constexpr double kOutlier = 3;  // standard deviations from which on a point's misfit counts no more

std::vector<double> at(const std::vector<double>& values, const Suspect& suspect) {
  std::vector<double> out;
  out.reserve(suspect.points.size());
  for (const auto i : suspect.points) out.push_back(values[i]);
  return out;
}

/// A group is judged by pairwise means; the whole by the median, which half of its points cannot move far.
double centre(const std::vector<double>& values, DriftLevel level) {
  return level == DriftLevel::whole ? median(values) : location(values);
}

struct Judged {
  Change change;
  double explained = 0;
};

Judged judge_suspect(const std::vector<double>& residual, const Suspect& suspect, const Spread& spread,
                     double correction, const DriftOptions& options) {
  const auto values = at(residual, suspect);
  const double shift = centre(values, suspect.level);
  Judged out;
  // Within the tolerance it is no drift, whatever the chances are (they are costly).
  if (std::abs(shift) <= std::log1p(options.tolerance)) return out;
  out.change = judge(shift, variance_of_location(values.size(), spread), correction, options);
  const double most = kOutlier * kOutlier * spread.point.value;
  for (const double v : values) out.explained += std::min(v * v, most) - std::min((v - shift) * (v - shift), most);
  return out;
}

}  // namespace

Change judge(double log_ratio, Variance variance, double correction, const DriftOptions& options) {
  const double sd = std::sqrt(variance.value);
  const double size = std::abs(log_ratio);
  const double half = student_quantile((1 + options.confidence) / 2, variance.df) * sd;
  Change out;
  out.log_ratio = log_ratio;
  out.low = log_ratio - half;
  out.high = log_ratio + half;
  out.probability = student_below((size - std::log1p(options.tolerance)) / sd, variance.df);
  out.false_alarm = std::min(1.0, 2 * student_below(-size / sd, variance.df) * correction);
  return out;
}

double would_be_seen(Variance variance, double correction, const DriftOptions& options) {
  const double beyond_chance = -student_quantile(options.false_alarms / correction / 2, variance.df);
  const double beyond_tolerance =
      std::log1p(options.tolerance) / std::sqrt(variance.value) + student_quantile(options.confidence, variance.df);
  return (std::max(beyond_chance, beyond_tolerance) + student_quantile(kFoundNineInTen, variance.df)) *
         std::sqrt(variance.value);
}

bool is_drift(const Change& change, const DriftOptions& options) {
  return change.false_alarm <= options.false_alarms && change.probability >= options.confidence;
}

Variance variance_of_location(std::size_t n, const Spread& spread) {
  const double of_points = spread.point.value * location_variance(n);
  const double all = of_points + spread.common;
  return {all, spread.point.df * (all / of_points) * (all / of_points)};
}

std::vector<Found> search(std::vector<double> log_ratios, std::span<const Suspect> suspects, const Spread& spread,
                          const Corrections& corrections, const DriftOptions& options, std::size_t most) {
  std::vector<std::vector<std::size_t>> holding(log_ratios.size());  // suspects by point
  for (std::size_t s = 0; s < suspects.size(); ++s)
    for (const auto i : suspects[s].points) holding[i].push_back(s);

  std::vector<std::optional<Judged>> judged(suspects.size());
  std::vector<char> taken(suspects.size(), 0), explained(log_ratios.size(), 0);
  std::vector<Found> out;
  while (out.size() < most) {
    std::optional<std::size_t> best;
    for (std::size_t s = 0; s < suspects.size(); ++s) {
      if (taken[s] != 0) continue;
      if (!judged[s])
        judged[s] = judge_suspect(log_ratios, suspects[s], spread, corrections.at(suspects[s].level), options);
      if (!is_drift(judged[s]->change, options)) continue;
      if (!best || judged[s]->explained > judged[*best]->explained) best = s;
    }
    if (!best || judged[*best]->explained <= 0) return out;
    taken[*best] = 1;
    Found found{*best, judged[*best]->change, false, at(log_ratios, suspects[*best])};
    for (const auto i : suspects[*best].points) {
      found.beyond = found.beyond || explained[i] != 0;
      explained[i] = 1;
      log_ratios[i] -= found.change.log_ratio;
      for (const auto s : holding[i]) judged[s].reset();
    }
    out.push_back(found);
  }
  return out;
}

}  // namespace linkcast::calibration
