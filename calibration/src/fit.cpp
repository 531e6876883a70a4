// From measurements to a profile: the solution, what it says about each number, and the errors on both parts of the
// points.
#include "linkcast/calibration/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "fit_parts.hpp"

namespace linkcast::calibration {
namespace {

constexpr int fewest_points = 6;
// No machine that the model knows is missed by so much in the median: another unit, another machine, another test.
constexpr double hopeless_before = 30, hopeless_after = 3;

[[noreturn]] void refuse_few(std::size_t points, const std::vector<std::string>& notes) {
  std::string help =
      "measure one collective over a range of sizes, e.g. all_reduce_perf -b 8 -e 8G -f 2: a dozen sizes";
  std::string why = fmt::format("{} points can be used, a fit needs at least {}", points, fewest_points);
  for (const auto& n : notes) why += "; " + n;
  throw sim::InputError(why, help);
}

}  // namespace

namespace {

void refuse_hopeless(std::vector<double> log_ratios, double most, const char* when, const std::stop_token& stop) {
  if (log_ratios.empty() || stop.stop_requested()) return;
  const auto middle = log_ratios.begin() + static_cast<std::ptrdiff_t>(log_ratios.size() / 2);
  std::nth_element(log_ratios.begin(), middle, log_ratios.end());
  const double factor = std::exp(std::fabs(*middle));
  if (factor <= most) return;
  throw sim::InputError(
      fmt::format("{} misses the median point by a factor of {:.3g}", when, factor),
      "is a unit wrong (nccl-tests prints us and GB/s), or is it another machine than --system or the log says?");
}

}  // namespace

double FitPoint::log_ratio() const { return std::log(predicted / measured); }

FitResult fit(const Measurements& measurements, const FitOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  FitResult result;
  auto all = measurements;
  for (const auto& c : measurements.cases) {
    all.series.insert(all.series.end(), c.series.begin(), c.series.end());
    all.matrices.insert(all.matrices.end(), c.matrices.begin(), c.matrices.end());
    all.tests.insert(all.tests.end(), c.tests.begin(), c.tests.end());
  }
  const auto seen = observations(all, options.start, result.notes);
  auto parts = split_points(seen, options);
  std::size_t points = 0;
  for (const auto& u : parts.used) points += u.size();
  if (points < fewest_points) refuse_few(points, result.notes);
  check_only(seen, options);
  std::vector<double> misses;
  for (std::size_t o = 0; o < seen.size(); ++o) {
    if (parts.used[o].empty()) continue;
    const auto first = seen[o]->predict(options.start, parts.used[o]);
    for (std::size_t k = 0; k < first.size(); ++k)
      misses.push_back(std::log(first[k] / seen[o]->points()[parts.used[o][k]].measured));
  }
  refuse_hopeless(std::move(misses), hopeless_before, "the model as it is", options.stop);
  FitProblem problem{seen, parts.used, options.start, free_numbers(seen, options), options.shared};
  if (options.progress)
    options.progress(fmt::format("fit: which of {} numbers do {} points depend on?", problem.numbers().size(), points));
  const auto untouched = problem.drop_untouched();
  if (problem.numbers().empty())
    throw sim::InputError("no number of the model changes what was measured", "measure larger sizes as well");
  int round = 0;
  if (options.progress)
    problem.watch([&](int iteration, double cost) {
      if (iteration == 0) ++round;
      options.progress(fmt::format("fit: {} numbers, {} points; round {}, iteration {}, error {:.4g} per point",
                                   problem.numbers().size(), points, round, iteration,
                                   std::sqrt(2 * cost / static_cast<double>(points))));
    });
  problem.solve(options.stop);

  // What the data cannot tell goes back to its prior; one more solution lets the others settle.
  std::vector<FreeNumber> untold;
  for (auto dropped = problem.drop_untold(told_enough); !dropped.empty(); dropped = problem.drop_untold(told_enough)) {
    untold.insert(untold.end(), dropped.begin(), dropped.end());
    if (problem.numbers().empty()) break;
    problem.solve(options.stop);
  }
  std::map<std::string, double> fitted;
  for (const auto& n : problem.numbers()) {
    result.parameters.push_back(parameter_of(n));
    fitted[n.path] = result.parameters.back().value;
  }
  for (auto n : untold) {
    n.value = n.prior;
    auto p = parameter_of(n);
    p.status = FittedParameter::Status::prior;
    result.parameters.push_back(std::move(p));
  }
  std::sort(result.parameters.begin(), result.parameters.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  std::vector<std::string> silent;
  for (const auto& n : untouched) silent.push_back(n.path);
  if (!silent.empty())
    result.notes.push_back(fmt::format("nothing that was measured depends on: {}", fmt::join(silent, ", ")));
  result.profile = topologies::Profile::with(options.start, fitted, "fitted");

  ErrorsBySize before, seen_errors, held;
  const auto deviations = problem.deviations();
  result.deviations = deviations;
  for (std::size_t o = 0; o < seen.size(); ++o) {
    result.used.push_back(seen[o]->points().front().id);
    for (const bool judged : {false, true}) {
      const auto& which = judged ? parts.judged[o] : parts.used[o];
      if (which.empty()) continue;
      const auto first = seen[o]->predict(options.start, which);
      const auto now = seen[o]->predict(result.profile, which);
      for (std::size_t k = 0; k < which.size(); ++k) {
        auto p = seen[o]->points()[which[k]];
        p.predicted = now[k];
        p.held_back = judged;
        const auto c = static_cast<std::size_t>(size_class(p.size));
        p.outlier = std::fabs(p.log_ratio()) > 4 * std::hypot(deviations[c], seen[o]->rounding(which[k]));
        before.add(p.size, first[k] / p.measured - 1);
        (judged ? held : seen_errors).add(p.size, p.predicted / p.measured - 1);
        result.points.push_back(std::move(p));
      }
    }
  }
  misses.clear();
  for (const auto& p : result.points) misses.push_back(p.log_ratio());
  refuse_hopeless(std::move(misses), hopeless_after, "the best fit", options.stop);
  result.before = summarise(before.all);
  result.fitted = summarise(seen_errors.all);
  result.held_back = summarise(held.all);
  result.before_classes = before.classes();
  result.fitted_classes = seen_errors.classes();
  result.held_back_classes = held.classes();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace linkcast::calibration
