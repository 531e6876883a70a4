// linkcast.sweep/1: docs/sweep.md.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "linkcast/planning/study.hpp"
#include "row_facts.hpp"

namespace linkcast::planning {

using json = nlohmann::ordered_json;

std::string json_table(const Study& study, std::span<const Row> rows, std::string_view command, bool complete) {
  const auto& axes = study.variants().axes();
  const auto compared = baselines(study, rows);
  json out{{"schema", "linkcast.sweep/1"},
           {"title", study.title()},
           {"scenario", study.path()},
           {"command", command},
           {"variants", study.variants().count()},
           {"complete", complete},
           {"goals", json::array()},
           {"axes", json::array()},
           {"rows", json::array()},
           {"assumptions", json::array()}};
  for (const auto& g : study.goals()) out["goals"].push_back(g.text);
  for (const auto& axis : axes) {
    json values = json::array();
    for (std::size_t c = 0; c < std::min<std::size_t>(axis.choices.size(), 1000); ++c)
      values.push_back(axis.choices[c].name);
    out["axes"].push_back({{"key", axis.key}, {"values", values}});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    json r{{"key", row[0]}, {"name", row[1]}, {"variant", json::object()}};
    for (std::size_t a = 0; a < axes.size(); ++a) r["variant"][axes[a].key] = row[2 + a];
    for (std::size_t c = 2 + axes.size(); c < row.size(); ++c) {
      const auto& column = study.columns()[c];
      if (column.name.starts_with("goal_") || column.name.starts_with("expected_error") || column.name == "parts_us" ||
          column.name == "extrapolated" || column.name.ends_with("_low") || column.name.ends_with("_high"))
        continue;
      if (row[c].empty()) continue;
      if (column.number && row[c].find_first_of(".e") == std::string::npos)
        r[column.name] = std::strtoll(row[c].c_str(), nullptr, 10);
      else if (column.number)
        r[column.name] = *number_in(study, row, column.name);
      else
        r[column.name] = row[c];
    }
    for (const auto* band : {"capex_usd", "power_w"}) {
      if (!r.contains(band)) continue;
      const double typical = r[band].get<double>();
      r[band] = {{"low", number_in(study, row, std::string{band} + "_low").value_or(typical)},
                 {"typical", typical},
                 {"high", number_in(study, row, std::string{band} + "_high").value_or(typical)}};
    }
    if (compared[i] != nullptr)
      if (const auto d = difference(study, *compared[i], row)) {
        r["baseline"] = compared[i]->front();
        r["vs_baseline_percent"] = d->percent;
        r["reason"] = d->reason;
      }
    for (const auto& [name, us] : parts_in(study, row)) r["parts_us"][name] = us;
    if (const auto median = number_in(study, row, "expected_error_percent"))
      r["expected_error"] = {{"median_percent", *median},
                             {"p90_percent", number_in(study, row, "expected_error_p90_percent").value_or(0)},
                             {"extrapolated", row[study.column("extrapolated")] == "yes"},
                             {"from", row[study.column("expected_error_from")]}};
    r["goals"] = json::array();
    for (const auto& j : judged(study, row)) {
      json g{{"goal", j.goal.text}, {"known", j.known}, {"met", j.known && j.met}, {"text", verdict_text(j)}};
      if (j.known) {
        g["value"] = j.value;
        g["unit"] = unit_of(j.goal.metric);
        g["value_text"] = to_text(j.goal.metric, j.value);
        g["margin_percent"] = j.margin_percent;
        g["confidence"] = j.confidence;
      }
      r["goals"].push_back(std::move(g));
    }
    if (!study.goals().empty()) r["meets_all"] = all_met(judged(study, row));
    out["rows"].push_back(std::move(r));
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::planning
