// Tables of step times, for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linkcast/calibration/steps.hpp"

namespace linkcast::calibration {
namespace {

std::string line_of(std::string_view name, const StepSummary& s) {
  if (s.rows == 0) return fmt::format("  {:<32} {:>5} {:>11} {:>11} {:>11}\n", name, 0, "-", "-", "-");
  return fmt::format("  {:<32} {:>5} {:>9.1f} % {:>9.1f} % {:>+9.1f} %\n", name, s.rows, 100 * s.median_abs,
                     100 * s.p90_abs, 100 * s.median);
}

}  // namespace

std::string text_report(const StepValidation& v, bool every_row) {
  std::string out = "# step times: |error| of the prediction\n";
  out += fmt::format("  {:<32} {:>5} {:>11} {:>11} {:>11}\n", "", "rows", "median", "90th", "signed");
  out += line_of("all", v.all) + line_of("files of the fit", v.fitted_half) + line_of("other files", v.other_half);
  out += "# ratios inside scaling series\n" + line_of("all", v.ratio_all) +
         line_of("files of the fit", v.ratio_fitted) + line_of("other files", v.ratio_other);
  out += "# by file\n";
  for (const auto& [name, s] : v.by_file) out += line_of(in_fitted_half(name) ? name + " (fitted)" : name, s);
  out += "# by GPU and precision\n";
  for (const auto& [name, s] : v.by_kind) out += line_of(name, s);
  if (every_row) {
    out += "# rows\n";
    for (const auto& p : v.rows) {
      if (!p.skipped.empty()) continue;
      std::string exposed;
      for (const auto& [name, s] : p.exposed_s) exposed += fmt::format(" {} {:.3g}", name, s);
      out += fmt::format(
          "  {:<22} {:<22} {:>6} GPUs {:>9.3f} s measured {:>9.3f} s predicted {:>+7.1f} %{}  (s: compute {:.3g} "
          "bubble {:.3g}{}) {:.0f} GB\n",
          p.row.id, p.row.model, p.row.gpus, p.measured_s, p.predicted_s, 100 * p.error(), p.odd ? " (odd)" : "",
          p.compute_s, p.bubble_s, exposed, p.memory_gb);
    }
    for (const auto& r : v.ratios)
      out += fmt::format("  ratio {:<40} {:>6} -> {:>6}: {:.4f} measured {:.4f} predicted {:>+6.1f} %\n", r.series,
                         r.from, r.to, r.measured, r.predicted, 100 * (r.predicted / r.measured - 1));
  }
  std::map<std::string, std::vector<std::string>> skipped;
  for (const auto& p : v.rows)
    if (!p.skipped.empty()) skipped[p.skipped].push_back(p.row.id);
  if (!skipped.empty()) out += "# not predicted\n";
  for (const auto& [why, rows] : skipped)
    out += fmt::format("  {:>4} rows: {} ({}{})\n", rows.size(), why, rows.front(),
                       rows.size() > 1 ? fmt::format(" … {}", rows.back()) : "");
  return out;
}

// As of series of collectives (linkcast.validate/1): a file of steps is a series, its rows have a row_id.
std::string json_report(const StepValidation& v) {
  using nlohmann::json;
  const auto summary = [](const StepSummary& s) {
    const auto error = [&](double x) { return s.rows > 0 ? json(x) : json(nullptr); };
    return json{{"points", s.rows},
                {"median_abs_rel_error", error(s.median_abs)},
                {"p90_abs_rel_error", error(s.p90_abs)},
                {"bias", error(s.median)}};
  };
  std::map<std::string, json> rows;
  json out{{"schema", "linkcast.validate/1"}, {"series", json::array()}, {"skipped", json::array()}};
  for (const auto& p : v.rows) {
    if (!p.skipped.empty()) {
      out["skipped"].push_back({{"id", p.row.id}, {"reason", p.skipped}});
      continue;
    }
    rows[p.row.file].push_back({{"row_id", p.row.id},
                                {"measured_us", p.measured_s * 1e6},
                                {"predicted_us", p.predicted_s * 1e6},
                                {"model", p.row.model},
                                {"gpus", p.row.gpus},
                                {"kind", p.kind},
                                {"compute_us", p.compute_s * 1e6},
                                {"bubble_us", p.bubble_s * 1e6},
                                {"memory_GB", p.memory_gb},
                                {"counted", !p.odd},
                                {"assumed", p.assumed}});
    auto& exposed = rows[p.row.file].back()["exposed_us"] = json::object();
    for (const auto& [group, seconds] : p.exposed_s) exposed[group] = seconds * 1e6;
  }
  int series = 0;
  for (auto& [file, list] : rows) {
    json one{{"id", file}, {"fitted", in_fitted_half(file)}};
    const auto counted = v.by_file.find(file);
    one.update(summary(counted == v.by_file.end() ? StepSummary{} : counted->second));
    one["rows"] = std::move(list);
    out["series"].push_back(std::move(one));
    ++series;
  }
  out["overall"] = summary(v.all);
  out["overall"]["series"] = series;
  out["overall"]["fitted_files"] = summary(v.fitted_half);
  out["overall"]["other_files"] = summary(v.other_half);
  out["ratios"] = {{"all", summary(v.ratio_all)},
                   {"fitted_files", summary(v.ratio_fitted)},
                   {"other_files", summary(v.ratio_other)},
                   {"rows", json::array()}};
  for (const auto& r : v.ratios)
    out["ratios"]["rows"].push_back(
        {{"series", r.series}, {"from", r.from}, {"to", r.to}, {"measured", r.measured}, {"predicted", r.predicted}});
  for (const auto& [name, s] : v.by_kind) out["kinds"][name] = summary(s);
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::calibration
