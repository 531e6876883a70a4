// Tables of step times, for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linkcast/calibration/steps.hpp"

namespace linkcast::calibration {
namespace {

std::string line_of(std::string_view name, const StepSummary& s) {
  return fmt::format("  {:<32} {:>5} {:>9.1f} % {:>9.1f} % {:>+9.1f} %\n", name, s.rows, 100 * s.median_abs,
                     100 * s.p90_abs, 100 * s.median);
}

}  // namespace

std::string text_report(const StepValidation& v, bool every_row) {
  std::string out = "# step times: |error| of the prediction\n";
  out += fmt::format("  {:<32} {:>5} {:>11} {:>11} {:>11}\n", "", "rows", "median", "90th", "signed");
  for (const auto& [name, s] : v.by_file) {
    const bool fitted = in_fitted_half(name);
    out += line_of(fmt::format("{} {}", name, fitted ? "(fitted)" : ""), s);
  }
  out += "# by GPU and precision\n";
  for (const auto& [name, s] : v.by_kind) out += line_of(name, s);
  out += "# all\n" + line_of("files of the fit", v.fitted_half) + line_of("other files", v.other_half) +
         line_of("all", v.all);
  out += "# ratios inside scaling series\n" + line_of("files of the fit", v.ratio_fitted) +
         line_of("other files", v.ratio_other) + line_of("all", v.ratio_all);
  if (every_row) {
    out += "# rows\n";
    for (const auto& p : v.rows) {
      if (!p.skipped.empty()) continue;
      std::string exposed;
      for (const auto& [name, s] : p.exposed_s) exposed += fmt::format(" {} {:.3g}", name, s);
      out += fmt::format(
          "  {:<22} {:<22} {:>6} GPUs {:>9.3f} s measured {:>9.3f} s predicted {:>+7.1f} %{}  compute {:.3g} "
          "bubble {:.3g}{} {:.0f} GB\n",
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

std::string json_report(const StepValidation& v) {
  using nlohmann::json;
  const auto summary = [](const StepSummary& s) {
    return json{{"rows", s.rows},
                {"median_abs_rel_error", s.median_abs},
                {"p90_abs_rel_error", s.p90_abs},
                {"median_rel_error", s.median}};
  };
  json out{{"schema", "linkcast.validate-steps/1"},
           {"all", summary(v.all)},
           {"fitted_files", summary(v.fitted_half)},
           {"other_files", summary(v.other_half)},
           {"ratios",
            {{"all", summary(v.ratio_all)},
             {"fitted_files", summary(v.ratio_fitted)},
             {"other_files", summary(v.ratio_other)}}}};
  for (const auto& [name, s] : v.by_file) out["files"][name] = summary(s);
  for (const auto& [name, s] : v.by_kind) out["kinds"][name] = summary(s);
  out["rows"] = json::array();
  for (const auto& p : v.rows) {
    json row{{"id", p.row.id}, {"file", p.row.file}, {"model", p.row.model}, {"gpus", p.row.gpus}};
    if (!p.skipped.empty()) {
      row["skipped"] = p.skipped;
    } else {
      row.update({{"measured_s", p.measured_s},
                  {"predicted_s", p.predicted_s},
                  {"rel_error", p.error()},
                  {"kind", p.kind},
                  {"compute_s", p.compute_s},
                  {"bubble_s", p.bubble_s},
                  {"exposed_s", p.exposed_s},
                  {"memory_gb", p.memory_gb},
                  {"counted", !p.odd},
                  {"assumed", p.assumed}});
    }
    out["rows"].push_back(std::move(row));
  }
  out["scaling"] = json::array();
  for (const auto& r : v.ratios)
    out["scaling"].push_back(
        {{"series", r.series}, {"from", r.from}, {"to", r.to}, {"measured", r.measured}, {"predicted", r.predicted}});
  return out.dump(2) + "\n";
}

}  // namespace linkcast::calibration
