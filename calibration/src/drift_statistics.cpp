// See drift_statistics.hpp.
#include "drift_statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>

namespace linkcast::calibration {
namespace {

constexpr std::size_t kMostPairwise = 64;
constexpr double kMadOfNormal = 1.4826;  // 1 / 0.6745, the upper quartile of a normal distribution
constexpr double kMadEfficiency = 0.37;  // of the MAD against the standard deviation (Rousseeuw and Croux 1993)
constexpr double kNearlyNormal = 1e4;    // degrees of freedom
constexpr std::size_t kMostContrasts = 20'000;

/// In double all the way, and with the limit instead of an exception where a chance is too small for one.
using Policy =
    boost::math::policies::policy<boost::math::policies::promote_double<false>,
                                  boost::math::policies::overflow_error<boost::math::policies::ignore_error>>;
using Normal = boost::math::normal_distribution<double, Policy>;
using Student = boost::math::students_t_distribution<double, Policy>;

std::optional<Variance> from_absolute(std::vector<double> deviations, double scale, double df) {
  for (auto& d : deviations) d = std::abs(d);
  const double sd = kMadOfNormal * median(std::move(deviations));
  return Variance{sd * sd * scale, std::max(df, 1.0)};
}

}  // namespace

double median(std::vector<double> values) {
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), values.begin() + half, values.end());
  const double upper = values[values.size() / 2];
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + half)) / 2;
}

double location(const std::vector<double>& values) {
  if (values.size() > kMostPairwise) return median(values);
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  return median(std::move(means));
}

double location_variance(std::size_t n) {
  const auto count = static_cast<double>(n);
  if (n < 3) return 1 / count;
  return (n > kMostPairwise ? std::numbers::pi / 2 : std::numbers::pi / 3) / count;
}

std::optional<Variance> variance_of_neighbours(const std::vector<double>& differences) {
  if (differences.size() < 3) return std::nullopt;
  // A difference shares a point with the next one: two thirds of them are worth as much as independent ones.
  const double df = kMadEfficiency * static_cast<double>(differences.size()) * 2 / 3;
  return from_absolute(differences, 0.5, df);
}

std::optional<Variance> variance_around_median(const std::vector<double>& values) {
  if (values.size() < 4) return std::nullopt;
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double v : values) deviations.push_back(v - middle);
  const auto n = static_cast<double>(values.size());
  return from_absolute(std::move(deviations), n / (n - 1), kMadEfficiency * (n - 1));
}

std::optional<Variance> variance_of_contrasts(const std::vector<std::vector<double>>& cells) {
  const std::size_t n = cells.size();
  std::vector<double> contrasts;
  // A large matrix has more contrasts than are needed: every so many first rows give a fixed sample.
  const double all = std::pow(static_cast<double>(n), 4) / 4;
  const auto step = static_cast<std::size_t>(std::max(1.0, std::sqrt(all / static_cast<double>(kMostContrasts))));
  std::size_t pair = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t l = i + 1; l < n; ++l) {
      if (++pair % step != 0) continue;
      std::size_t other = 0;
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = j + 1; k < n; ++k) {
          if (j == i || j == l || k == i || k == l) continue;
          if (++other % step != 0) continue;
          const double c = cells[i][j] - cells[i][k] - cells[l][j] + cells[l][k];
          if (std::isfinite(c)) contrasts.push_back(c);
        }
      }
    }
  }
  if (contrasts.size() < 6) return std::nullopt;
  // n (n - 1) cells less the 2 n - 1 that rows and columns take.
  const auto m = static_cast<double>(n);
  return from_absolute(std::move(contrasts), 0.25, kMadEfficiency * (m * m - 3 * m + 1));
}

Variance moderated(const std::optional<Variance>& estimated, double prior, double prior_df, double floor) {
  Variance out{prior, prior_df};
  if (estimated) {
    out.df = prior_df + estimated->df;
    out.value = (prior_df * prior + estimated->df * estimated->value) / out.df;
  }
  out.value = std::max(out.value, floor);
  return out;
}

double student_below(double t, double df) {
  if (df > kNearlyNormal) return boost::math::cdf(Normal{}, t);
  return boost::math::cdf(Student{df}, t);
}

double student_quantile(double probability, double df) {
  if (df > kNearlyNormal) return boost::math::quantile(Normal{}, probability);
  return boost::math::quantile(Student{df}, probability);
}

}  // namespace linkcast::calibration
