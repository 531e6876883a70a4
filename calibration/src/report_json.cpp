// The validation as JSON of schema linkcast.validate/1. See report.hpp and docs/formats.md.
#include <nlohmann/json.hpp>

#include "linkcast/calibration/report.hpp"

namespace linkcast::calibration {
namespace {

using json = nlohmann::ordered_json;

/// Without points there is no error: null, not a zero that looks perfect.
json summary(const ErrorSummary& e) {
  json out = {{"points", e.points}};
  const bool any = e.points > 0;
  out["median_abs_rel_error"] = any ? json(e.median_abs_rel_error) : json(nullptr);
  out["p90_abs_rel_error"] = any ? json(e.p90_abs_rel_error) : json(nullptr);
  out["bias"] = any ? json(e.bias) : json(nullptr);
  return out;
}

json by_size(const ErrorSummary& small, const ErrorSummary& middle, const ErrorSummary& large) {
  return {{"below_1MiB", summary(small)}, {"1MiB_to_64MiB", summary(middle)}, {"from_64MiB", summary(large)}};
}

json series_json(const ValidatedSeries& s) {
  json out = {{"id", s.series.id}};
  out.update(summary(s.all));
  out["system"] = *s.series.system;
  out["collective"] = models::nccl::name_of(s.series.op);
  out["ranks"] = s.series.ranks;
  out["nodes"] = s.series.nodes;
  out["extent"] = extent_of(s.series);
  out["counted"] = s.series.healthy;
  out["by_size"] = by_size(s.below_1M, s.from_1M_to_64M, s.from_64M);
  out["assumed"] = s.assumed;
  for (const auto& remark : s.series.remarks) out["assumed"].push_back(remark);
  auto rows = json::array();
  for (const auto& row : s.rows) {
    rows.push_back({{"size_bytes", row.measured.size.count()},
                    {"measured_us", row.measured.time.us()},
                    {"predicted_us", row.predicted.us()},
                    {"algorithm", row.algorithm},
                    {"protocol", row.protocol}});
  }
  out["rows"] = std::move(rows);
  return out;
}

}  // namespace

std::string json_report(const Validation& v) {
  json out = {{"schema", "linkcast.validate/1"}};
  out["series"] = json::array();
  out["skipped"] = json::array();
  for (const auto& s : v.series) {
    if (s.skipped.empty())
      out["series"].push_back(series_json(s));
    else
      out["skipped"].push_back({{"id", s.series.id}, {"reason", s.skipped}});
  }
  out["families"] = json::array();
  for (const auto& [name, all] : v.families) {
    const auto space = name.find(' ');
    json family = {{"system", name.substr(0, space)}, {"collective", name.substr(space + 1)}};
    family.update(summary(all));
    const auto& c = v.family_classes.at(name);
    family["by_size"] = by_size(c.below_1M, c.from_1M_to_64M, c.from_64M);
    out["families"].push_back(std::move(family));
  }
  out["extents"] = json::array();
  for (const auto& [name, all] : v.extents) {
    json extent = {{"extent", name}, {"series", v.extent_series.at(name)}};
    extent.update(summary(all));
    const auto& c = v.extent_classes.at(name);
    extent["by_size"] = by_size(c.below_1M, c.from_1M_to_64M, c.from_64M);
    out["extents"].push_back(std::move(extent));
  }
  json overall = {{"series", v.counted_series}};
  overall.update(summary(v.all));
  overall["by_size"] = by_size(v.below_1M, v.from_1M_to_64M, v.from_64M);
  const auto of_series = [](const ErrorSummary& e, double median) {
    return e.points > 0 ? json(median) : json(nullptr);
  };
  overall["median_of_series"] = {{"all", of_series(v.all, v.median_of_series)},
                                 {"below_1MiB", of_series(v.below_1M, v.median_of_series_below_1M)},
                                 {"1MiB_to_64MiB", of_series(v.from_1M_to_64M, v.median_of_series_1M_to_64M)},
                                 {"from_64MiB", of_series(v.from_64M, v.median_of_series_from_64M)}};
  out["overall"] = std::move(overall);
  // A file name may hold bytes that are no UTF-8; they are replaced rather than refused.
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace linkcast::calibration
