// What `linkcast calibrate fit` says: the errors on both parts of the points first, then each number, then what the
// data could not tell, outliers, and what was left out. The same as JSON of schema `linkcast.fit/1`.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linkcast/calibration/fit.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t listed_outliers = 12;

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

std::string row(const char* name, const ErrorSummary& all, const SizeClasses& c) {
  const auto cell = [](const ErrorSummary& e) {
    return e.points == 0 ? std::string{"-"}
                         : fmt::format("{} ({})", percent(e.median_abs_rel_error), percent(e.p90_abs_rel_error));
  };
  return fmt::format("{:<24} {:>6}  {:>17}  {:>17}  {:>17}  {:>17}\n", name, all.points, cell(all), cell(c.below_1M),
                     cell(c.from_1M_to_64M), cell(c.from_64M));
}

std::string brief(double value, topologies::Unit unit) {
  switch (unit) {
    case topologies::Unit::rate:
      return fmt::format("{:.4g} GB/s", value * 1e-9);
    case topologies::Unit::time:
      return fmt::format("{:.3g} us", value * 1e6);
    default:
      return fmt::format("{:.4g}", value);
  }
}

nlohmann::json json_of(const ErrorSummary& e) {
  return {{"points", e.points},
          {"median_abs_rel_error", e.median_abs_rel_error},
          {"p90_abs_rel_error", e.p90_abs_rel_error},
          {"bias", e.bias}};
}

nlohmann::json json_of(const ErrorSummary& all, const SizeClasses& c) {
  auto out = json_of(all);
  out["below_1M"] = json_of(c.below_1M);
  out["from_1M_to_64M"] = json_of(c.from_1M_to_64M);
  out["from_64M"] = json_of(c.from_64M);
  return out;
}

}  // namespace

std::string text_report(const FitResult& r) {
  std::string out = fmt::format("{:<24} {:>6}  {:>17}  {:>17}  {:>17}  {:>17}\n", "|error|: median (p90)", "points",
                                "all sizes", "below 1 MiB", "1 to 64 MiB", "from 64 MiB");
  out += row("before, all points", r.before, r.before_classes);
  out += row("fitted, points seen", r.fitted, r.fitted_classes);
  if (r.held_back.points > 0) out += row("fitted, points held back", r.held_back, r.held_back_classes);

  std::size_t width = 6;
  for (const auto& p : r.parameters) width = std::max(width, p.path.size());
  out += fmt::format("\n{:<{}}  {:>12}  {:>12}  {:>27}  {:>5}\n", "number", width, "before", "fitted", "95 % interval",
                     "told");
  std::vector<std::string> untold;
  for (const auto& p : r.parameters) {
    if (p.status == FittedParameter::Status::prior) {
      untold.push_back(p.path);
      continue;
    }
    out += fmt::format("{:<{}}  {:>12}  {:>12}  {:>27}  {:>3.0f} %\n", p.path, width, brief(p.prior, p.unit),
                       brief(p.value, p.unit), brief(p.low, p.unit) + " to " + brief(p.high, p.unit), 100 * p.told);
  }
  if (!untold.empty()) {
    out += "\nthe data do not tell these apart or hardly feel them; they stay as they were:\n";
    for (const auto& p : untold) out += "  " + p + "\n";
  }
  std::vector<const FitPoint*> outliers;
  for (const auto& p : r.points)
    if (p.outlier) outliers.push_back(&p);
  if (!outliers.empty()) {
    std::stable_sort(outliers.begin(), outliers.end(),
                     [](const auto* a, const auto* b) { return std::abs(a->log_ratio()) > std::abs(b->log_ratio()); });
    out += fmt::format("\n{} outlier{}: beyond 4 robust standard deviations, weighed down in the fit\n",
                       outliers.size(), outliers.size() == 1 ? "" : "s");
    for (std::size_t i = 0; i < std::min(outliers.size(), listed_outliers); ++i) {
      const auto& p = *outliers[i];
      out += fmt::format("  {} {} B: measured {:.6g}{}, fitted {:.6g}\n", p.id, p.size.count(),
                         p.collective ? p.measured * 1e6 : p.measured, p.collective ? " us" : "",
                         p.collective ? p.predicted * 1e6 : p.predicted);
    }
    if (outliers.size() > listed_outliers)
      out += fmt::format("  and {} more, less far off; --json lists all\n", outliers.size() - listed_outliers);
  }
  if (!r.notes.empty()) out += "\n";
  for (const auto& n : r.notes) out += "note: " + n + "\n";
  return out;
}

std::string json_report(const FitResult& r) {
  nlohmann::json out;
  out["schema"] = "linkcast.fit/1";
  out["errors"] = {{"before", json_of(r.before, r.before_classes)},
                   {"fitted", json_of(r.fitted, r.fitted_classes)},
                   {"held_back", json_of(r.held_back, r.held_back_classes)}};
  out["numbers"] = nlohmann::json::array();
  for (const auto& p : r.parameters)
    out["numbers"].push_back({{"path", p.path},
                              {"status", p.status == FittedParameter::Status::fitted ? "fitted" : "prior"},
                              {"unit", p.unit == topologies::Unit::rate   ? "bytes_per_second"
                                       : p.unit == topologies::Unit::time ? "seconds"
                                                                          : "none"},
                              {"prior", p.prior},
                              {"value", p.value},
                              {"low", p.low},
                              {"high", p.high},
                              {"told", p.told}});
  out["points"] = nlohmann::json::array();
  for (const auto& p : r.points) {
    nlohmann::json point{
        {"id", p.id}, {"size_bytes", p.size.count()}, {"held_back", p.held_back}, {"outlier", p.outlier}};
    if (p.collective) {
      point["measured_us"] = p.measured * 1e6;
      point["predicted_us"] = p.predicted * 1e6;
    } else {
      point["measured_GBps"] = p.measured;
      point["predicted_GBps"] = p.predicted;
    }
    out["points"].push_back(std::move(point));
  }
  out["data"] = r.used;
  out["notes"] = r.notes;
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::calibration
