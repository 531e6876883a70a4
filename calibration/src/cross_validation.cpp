// See cross_validation.hpp. Leaving a source out changes only the numbers that its observations touch: those are solved
// again, starting from the solution with everything, on all the other observations that touch any of them; the rest of
// the numbers stays. Six steps of Gauss-Newton are far more than the change needs.
#include "linkcast/calibration/cross_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fit_parts.hpp"
#include "on_threads.hpp"

namespace linkcast::calibration {
namespace {

constexpr int steps = 6;

/// Numbers of each observation, as indices into `numbers`.
std::vector<std::set<std::string>> touched(const std::vector<std::unique_ptr<Observation>>& observations,
                                           const std::vector<FreeNumber>& numbers, const FitOptions& options) {
  std::vector<std::set<std::string>> out;
  for (const auto& o : observations) {
    auto& mine = out.emplace_back();
    for (const auto& part : o->parts()) {
      for (const auto& n : numbers) {
        const auto second = n.path.find('.', n.path.find('.') + 1);
        if (part.substr(0, part.find('.')) != n.path.substr(0, n.path.find('.'))) continue;
        if (topologies::origin_of(part + n.path.substr(second), options.start.get()) == n.path) mine.insert(n.path);
      }
    }
  }
  return out;
}

bool meets(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& x) { return b.contains(x); });
}

struct Whole {
  const std::vector<std::unique_ptr<Observation>>& seen;
  const PointSplit& parts;
  const std::vector<FreeNumber>& numbers;
  const std::vector<std::set<std::string>>& touching;
  const std::map<std::string, double>& solution;
  const FitResult& all;
  const FitOptions& options;
};

LeftOut leave_out(const std::string& source, const std::vector<std::size_t>& mine, const Whole& w) {
  std::set<std::string> moved;
  for (const auto o : mine) moved.insert(w.touching[o].begin(), w.touching[o].end());
  std::vector<std::vector<std::size_t>> used(w.seen.size());
  for (std::size_t o = 0; o < w.seen.size(); ++o)
    if (std::find(mine.begin(), mine.end(), o) == mine.end() && meets(w.touching[o], moved)) used[o] = w.parts.used[o];
  auto fixed = w.solution;
  std::vector<FreeNumber> again;
  for (const auto& n : w.numbers) {
    if (!moved.contains(n.path)) continue;
    again.push_back(n);
    fixed.erase(n.path);
  }
  FitProblem problem{w.seen, used, topologies::Profile::with(w.options.start, fixed, "fitted"), std::move(again), true};
  problem.know(w.all.deviations, steps);
  problem.solve(w.options.stop);
  problem.drop_untold(told_enough);
  const auto without = problem.profile();
  LeftOut left;
  left.source = source;
  left.series = static_cast<int>(mine.size());
  ErrorsBySize errors, errors_seen;
  for (const auto o : mine) {
    const auto& which = w.parts.used[o];
    const auto unseen = w.seen[o]->predict(without, which);
    const auto known = w.seen[o]->predict(w.all.profile, which);
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto p = w.seen[o]->points()[which[k]];
      p.predicted = unseen[k];
      p.held_back = true;
      errors.add(p.size, p.predicted / p.measured - 1);
      errors_seen.add(p.size, known[k] / p.measured - 1);
      left.points.push_back(std::move(p));
      left.predicted_seen.push_back(known[k]);
    }
  }
  left.unseen = errors.summary();
  left.unseen_classes = errors.classes();
  left.seen = errors_seen.summary();
  left.seen_classes = errors_seen.classes();
  return left;
}

}  // namespace

std::string source_of(const Series& s) {
  const auto at = s.source.find("://");
  if (at == std::string::npos) return s.id;
  const auto host_end = s.source.find('/', at + 3);
  auto out = s.source.substr(at + 3, host_end == std::string::npos ? std::string::npos : host_end - at - 3);
  if (out == "github.com" && host_end != std::string::npos) {
    const auto owner_end = s.source.find('/', host_end + 1);
    out += s.source.substr(host_end, owner_end == std::string::npos ? std::string::npos : owner_end - host_end);
  }
  return out;
}

CrossValidation cross_validate(const Measurements& measurements, const FitOptions& given) {
  auto options = given;
  options.shared = true;
  options.hold_back = 0;
  CrossValidation out;
  out.all = fit(measurements, options);

  std::map<std::string, std::string> source_of_id;
  for (const auto& s : measurements.series) source_of_id[s.id] = source_of(s);
  std::vector<std::string> notes;
  const auto seen = observations(measurements, options.start, notes);
  const auto parts = split_points(seen, options);
  std::map<std::string, double> solution;
  for (const auto& p : out.all.parameters)
    if (p.status == FittedParameter::Status::fitted) solution[p.path] = p.value;
  std::vector<FreeNumber> numbers;
  for (auto n : free_numbers(seen, options)) {
    const auto it = solution.find(n.path);
    if (it == solution.end()) continue;
    n.value = std::log(it->second);
    numbers.push_back(std::move(n));
  }
  const auto touching = touched(seen, numbers, options);

  std::map<std::string, std::vector<std::size_t>> by_source;
  for (std::size_t o = 0; o < seen.size(); ++o) {
    const auto it = source_of_id.find(seen[o]->points().front().id);
    if (it != source_of_id.end()) by_source[it->second].push_back(o);
  }
  const std::vector<std::pair<std::string, std::vector<std::size_t>>> sources(by_source.begin(), by_source.end());
  out.sources.resize(sources.size());
  on_threads(sources.size(), threads_of(options), [&](std::size_t i) {
    if (options.stop.stop_requested()) return;
    const auto& [source, mine] = sources[i];
    out.sources[i] = leave_out(source, mine, {seen, parts, numbers, touching, solution, out.all, options});
  });

  ErrorsBySize all_seen, all_unseen;
  for (const auto& s : out.sources) {
    for (std::size_t k = 0; k < s.points.size(); ++k) {
      all_unseen.add(s.points[k].size, s.points[k].predicted / s.points[k].measured - 1);
      all_seen.add(s.points[k].size, s.predicted_seen[k] / s.points[k].measured - 1);
    }
  }
  out.seen = all_seen.summary();
  out.seen_classes = all_seen.classes();
  out.unseen = all_unseen.summary();
  out.unseen_classes = all_unseen.classes();
  return out;
}

std::string json_report(const CrossValidation& v) {
  nlohmann::json out{{"schema", "linkcast.cross_validation/1"},
                     {"columns", {"size_bytes", "measured_us", "predicted_us", "predicted_seen_us"}},
                     {"series", nlohmann::json::array()}};
  const auto rounded = [](double seconds) { return std::round(seconds * 1e8) / 100; };
  for (const auto& s : v.sources) {
    std::map<std::string, nlohmann::json> by_id;
    for (std::size_t k = 0; k < s.points.size(); ++k) {
      const auto& p = s.points[k];
      auto& series = by_id[p.id];
      if (series.is_null())
        series = {{"source", s.source},
                  {"id", p.id},
                  {"system", p.system},
                  {"collective", name_of(p.op)},
                  {"rows", nlohmann::json::array()}};
      series["rows"].push_back(
          {p.size.count(), rounded(p.measured), rounded(p.predicted), rounded(s.predicted_seen[k])});
    }
    for (auto& [id, series] : by_id) out["series"].push_back(std::move(series));
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string text_report(const CrossValidation& v) {
  const auto cell = [](const ErrorSummary& seen, const ErrorSummary& unseen) {
    return unseen.points == 0
               ? std::string{"-"}
               : fmt::format("{:.1f} / {:.1f} %", 100 * seen.median_abs_rel_error, 100 * unseen.median_abs_rel_error);
  };
  std::size_t width = 10;
  for (const auto& s : v.sources) width = std::max(width, s.source.size());
  std::string out = fmt::format(
      "median |error|: fitted with the source / without it\n\n{:<{}}  {:>6}  {:>6}  {:>16}  {:>16}  {:>16}\n", "source",
      width, "series", "points", "below 1 MiB", "1 to 64 MiB", "from 64 MiB");
  const auto row = [&](const std::string& name, int series, int points, const SizeClasses& a, const SizeClasses& b) {
    out += fmt::format("{:<{}}  {:>6}  {:>6}  {:>16}  {:>16}  {:>16}\n", name, width, series, points,
                       cell(a.below_1M, b.below_1M), cell(a.from_1M_to_64M, b.from_1M_to_64M),
                       cell(a.from_64M, b.from_64M));
  };
  int series = 0;
  for (const auto& s : v.sources) {
    row(s.source, s.series, s.unseen.points, s.seen_classes, s.unseen_classes);
    series += s.series;
  }
  row("all", series, v.unseen.points, v.seen_classes, v.unseen_classes);
  return out;
}

}  // namespace linkcast::calibration
