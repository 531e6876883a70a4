// From measurements to a profile: which numbers the data can touch, which points the fit may see, the solution, what it
// says about each number, and the errors on both parts of the points.
#include "linkcast/calibration/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "fit_problem.hpp"
#include "fit_rules.hpp"
#include "linkcast/calibration/expected_error.hpp"

namespace linkcast::calibration {
namespace {

constexpr int fewest_points = 6;
constexpr double told_enough = 0.25;  // of the prior's variance must be gone, or the data say nothing

/// Counter-based: the n-th number of a seed, the same whatever was asked before (SplitMix64).
double uniform(std::uint64_t seed, std::uint64_t n) {
  auto z = seed * 0x9e3779b97f4a7c15ULL + (n + 1) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

/// Of all numbers of all parts, those that rules let a fit change.
std::vector<FreeNumber> free_numbers(const std::vector<std::unique_ptr<Observation>>& observations,
                                     const FitOptions& options) {
  std::set<std::string> parts;
  for (const auto& o : observations)
    for (auto& p : o->parts()) parts.insert(p);
  std::set<std::string> seen;
  std::vector<FreeNumber> out;
  for (const auto& part : parts) {
    for (const auto& rule : fit_rules()) {
      if (part.compare(0, part.find('.'), rule.kind) != 0) continue;
      auto path = fmt::format("{}.{}", part, rule.key);
      const auto number = topologies::number_at(path, options.start.get());
      if (!number) continue;
      if (options.shared) path = topologies::origin_of(path, options.start.get());
      if (!seen.insert(path).second) continue;
      const auto starts = [&](const std::string& prefix) { return path.starts_with(prefix); };
      if (!options.only.empty() && std::none_of(options.only.begin(), options.only.end(), starts)) continue;
      FreeNumber n;
      n.path = path;
      n.unit = number->unit;
      n.low = std::log(rule.low);
      n.high = std::log(rule.high);
      // A prior of nothing at all (a hop of 0 ns) means: below what can be told. A few times the least that is
      // possible.
      n.prior = std::clamp(std::log(std::max(number->value, rule.low)), n.low, n.high);
      n.value = n.prior;
      n.spread = rule.spread;
      out.push_back(std::move(n));
    }
  }
  return out;
}

struct Split {
  std::vector<std::vector<std::size_t>> used, judged;
};

/// A share of all points at random is held back; of a long series the rest is thinned evenly over the sizes.
Split split(const std::vector<std::unique_ptr<Observation>>& observations, const FitOptions& options) {
  Split s;
  std::uint64_t n = 0;
  for (const auto& o : observations) {
    auto& used = s.used.emplace_back();
    auto& judged = s.judged.emplace_back();
    for (std::size_t i = 0; i < o->points().size(); ++i)
      (uniform(options.seed, n++) < options.hold_back ? judged : used).push_back(i);
    const auto most = static_cast<std::size_t>(std::max(1, options.points_per_series));
    if (used.size() > most) {
      std::vector<std::size_t> kept;
      const auto& points = o->points();
      const auto log_size = [&](std::size_t k) { return std::log2(static_cast<double>(points[used[k]].size.count())); };
      double next = -1;
      const double stride = (log_size(used.size() - 1) - log_size(0)) / static_cast<double>(most);
      for (std::size_t k = 0; k < used.size(); ++k) {
        if (log_size(k) < next) continue;
        kept.push_back(used[k]);
        next = log_size(k) + stride;
      }
      std::vector<std::size_t> rest;
      std::set_difference(used.begin(), used.end(), kept.begin(), kept.end(), std::back_inserter(rest));
      used = std::move(kept);
      if (options.hold_back > 0) judged.insert(judged.end(), rest.begin(), rest.end());
    }
    std::sort(judged.begin(), judged.end());
  }
  return s;
}

struct Errors {
  std::vector<double> all;
  std::array<std::vector<double>, 3> by_class;
  void add(sim::Bytes size, double relative) {
    all.push_back(relative);
    by_class[static_cast<std::size_t>(size_class(size))].push_back(relative);
  }
  SizeClasses classes() const { return {summarise(by_class[0]), summarise(by_class[1]), summarise(by_class[2])}; }
};

[[noreturn]] void refuse_few(std::size_t points, const std::vector<std::string>& notes) {
  std::string help =
      "measure one collective over a range of sizes, e.g. all_reduce_perf -b 8 -e 8G -f 2: a dozen sizes";
  std::string why = fmt::format("{} points can be used, a fit needs at least {}", points, fewest_points);
  for (const auto& n : notes) why += "; " + n;
  throw sim::InputError(why, help);
}

FittedParameter parameter_of(const FreeNumber& n) {
  FittedParameter p;
  p.path = n.path;
  p.unit = n.unit;
  p.status = FittedParameter::Status::fitted;
  p.prior = std::exp(n.prior);
  p.told = 1 - std::pow(std::min(1.0, n.deviation / n.spread), 2);
  p.value = std::exp(n.value);
  p.low = std::exp(std::max(n.low, n.value - 1.96 * n.deviation));
  p.high = std::exp(std::min(n.high, n.value + 1.96 * n.deviation));
  return p;
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
  auto parts = split(seen, options);
  std::size_t points = 0;
  for (const auto& u : parts.used) points += u.size();
  if (points < fewest_points) refuse_few(points, result.notes);
  const int threads =
      options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));

  FitProblem problem{seen, parts.used, options.start, free_numbers(seen, options), threads, options.shared};
  const auto untouched = problem.drop_untouched();
  if (problem.numbers().empty())
    throw sim::InputError("no number of the model changes what was measured", "measure larger sizes as well");
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

  Errors before, seen_errors, held;
  const auto deviations = problem.deviations();
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
