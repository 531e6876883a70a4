// The validation as a table for people. See report.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linkcast/calibration/report.hpp"

namespace linkcast::calibration {
namespace {

std::string percent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }
std::string signed_percent(double ratio) { return fmt::format("{:+.1f} %", ratio * 100); }

std::string cells(const ErrorSummary& e) {
  if (e.points == 0) return fmt::format("{:>6}  {:>8}  {:>8}  {:>9}", 0, "-", "-", "-");
  return fmt::format("{:>6}  {:>8}  {:>8}  {:>9}", e.points, percent(e.median_abs_rel_error),
                     percent(e.p90_abs_rel_error), signed_percent(e.bias));
}

/// Median of one size class: what fits three times beside a series' name.
std::string brief(const ErrorSummary& e) {
  return e.points == 0 ? fmt::format("{:>8} {:>8}", "-", "-")
                       : fmt::format("{:>8} {:>8}", percent(e.median_abs_rel_error), signed_percent(e.bias));
}

std::string size_text(sim::Bytes size) {
  const auto n = size.count();
  if (n >= (1 << 30) && n % (1 << 30) == 0) return fmt::format("{} GiB", n >> 30);
  if (n >= (1 << 20) && n % (1 << 20) == 0) return fmt::format("{} MiB", n >> 20);
  if (n >= (1 << 10) && n % (1 << 10) == 0) return fmt::format("{} KiB", n >> 10);
  return fmt::format("{} B", n);
}

std::string rows_text(const ValidatedSeries& s) {
  std::string out = fmt::format("    {:>12}  {:>13}  {:>13}  {:>9}  {}\n", "size", "measured us", "predicted us",
                                "error", "algorithm");
  for (const auto& row : s.rows) {
    const double error = static_cast<double>(row.predicted.ps()) / static_cast<double>(row.measured.time.ps()) - 1;
    out += fmt::format("    {:>12}  {:>13.2f}  {:>13.2f}  {:>9}  {} {}\n", size_text(row.measured.size),
                       row.measured.time.us(), row.predicted.us(), signed_percent(error), row.algorithm, row.protocol);
  }
  return out;
}

std::size_t width_of_ids(const Validation& v) {
  std::size_t width = 6;
  for (const auto& s : v.series) width = std::max(width, s.series.id.size());
  return width;
}

std::string series_table(const Validation& v, const ReportOptions& options) {
  const auto width = width_of_ids(v);
  std::string out = fmt::format("{:<{}}  {:>6}  {:>8}  {:>8}  {:>9}  {:>17}  {:>17}  {:>17}\n", "", width, "", "", "",
                                "", "below 1 MiB", "1 to 64 MiB", "from 64 MiB");
  out += fmt::format("{:<{}}  {:>6}  {:>8}  {:>8}  {:>9}  {:>8} {:>8}  {:>8} {:>8}  {:>8} {:>8}\n", "series", width,
                     "points", "median", "p90", "bias", "median", "bias", "median", "bias", "median", "bias");
  for (const bool healthy : {true, false}) {
    for (const auto& s : v.series) {
      if (!s.skipped.empty() || s.series.healthy != healthy) continue;
      out += fmt::format("{:<{}}  {}  {}  {}  {}{}\n", s.series.id, width, cells(s.all), brief(s.below_1M),
                         brief(s.from_1M_to_64M), brief(s.from_64M), healthy ? "" : "  degraded, not counted");
      if (options.rows) out += rows_text(s);
    }
  }
  return out;
}

std::string family_table(const Validation& v) {
  std::string out = fmt::format("{:<28}  {:>6}  {:>8}  {:>8}  {:>9}  {:>17}  {:>17}  {:>17}\n", "", "", "", "", "",
                                "below 1 MiB", "1 to 64 MiB", "from 64 MiB");
  out +=
      fmt::format("{:<28}  {:>6}  {:>8}  {:>8}  {:>9}  {:>8} {:>8}  {:>8} {:>8}  {:>8} {:>8}\n", "system, collective",
                  "points", "median", "p90", "bias", "median", "bias", "median", "bias", "median", "bias");
  for (const auto& [name, all] : v.families) {
    const auto& c = v.family_classes.at(name);
    out += fmt::format("{:<28}  {}  {}  {}  {}\n", name, cells(all), brief(c.below_1M), brief(c.from_1M_to_64M),
                       brief(c.from_64M));
  }
  return out;
}

std::string extent_table(const Validation& v) {
  std::string out = fmt::format("{:<28}  {:>6}  {:>6}  {:>8}  {:>8}  {:>9}  {:>17}  {:>17}  {:>17}\n", "", "", "", "",
                                "", "", "below 1 MiB", "1 to 64 MiB", "from 64 MiB");
  out += fmt::format("{:<28}  {:>6}  {:>6}  {:>8}  {:>8}  {:>9}  {:>8} {:>8}  {:>8} {:>8}  {:>8} {:>8}\n", "extent",
                     "series", "points", "median", "p90", "bias", "median", "bias", "median", "bias", "median", "bias");
  for (const auto& [name, all] : v.extents) {
    const auto& c = v.extent_classes.at(name);
    out += fmt::format("{:<28}  {:>6}  {}  {}  {}  {}\n", name, v.extent_series.at(name), cells(all), brief(c.below_1M),
                       brief(c.from_1M_to_64M), brief(c.from_64M));
  }
  for (const std::string name : {"one NVLink domain (NVL72)", "two nodes", "more nodes", "2,000 GPUs and more"})
    if (!v.extents.contains(name)) out += fmt::format("{:<28}  {:>6}  nothing measured\n", name, 0);
  return out;
}

std::string overall_table(const Validation& v) {
  std::string out = fmt::format("{:<28}  {:>6}  {:>8}  {:>8}  {:>9}  {:>16}\n", "healthy series", "points", "median",
                                "p90", "bias", "median of series");
  const auto line = [&](std::string_view name, const ErrorSummary& e, double of_series) {
    out += fmt::format("{:<28}  {}  {:>16}\n", name, cells(e), e.points == 0 ? "-" : percent(of_series));
  };
  line("below 1 MiB", v.below_1M, v.median_of_series_below_1M);
  line("1 to 64 MiB", v.from_1M_to_64M, v.median_of_series_1M_to_64M);
  line("from 64 MiB", v.from_64M, v.median_of_series_from_64M);
  line(fmt::format("all sizes, {} series", v.counted_series), v.all, v.median_of_series);
  return out;
}

/// Each sentence once, with the number of series (or their names where they are few) that it is about.
std::string remarks_text(const Validation& v) {
  std::map<std::string, std::vector<std::string>> skipped, assumed;
  for (const auto& s : v.series) {
    if (!s.skipped.empty()) skipped[s.skipped].push_back(s.series.id);
    for (const auto& sentence : s.assumed) assumed[sentence].push_back(s.series.id);
    for (const auto& sentence : s.series.remarks) assumed[sentence].push_back(s.series.id);
  }
  const auto block = [](std::string_view title, const auto& sentences) {
    if (sentences.empty()) return std::string{};
    std::string out = fmt::format("\n{}\n", title);
    for (const auto& [sentence, ids] : sentences) {
      out += ids.size() > 3 ? fmt::format("  {}: {} series\n", sentence, ids.size())
                            : fmt::format("  {}: {}\n", sentence, fmt::join(ids, ", "));
    }
    return out;
  };
  return block("taken for granted", assumed) + block("no prediction", skipped);
}

}  // namespace

std::string text_report(const Validation& v, const ReportOptions& options) {
  std::string out =
      "error = predicted time / measured time - 1; median and p90 of its absolute value, bias = its median\n\n";
  const bool any = std::any_of(v.series.begin(), v.series.end(), [](const auto& s) { return s.skipped.empty(); });
  if (any) out += series_table(v, options);
  if (!v.families.empty()) out += "\n" + family_table(v);
  if (v.extents.size() > 1) out += "\n" + extent_table(v);
  if (v.counted_series > 0) out += "\n" + overall_table(v);
  if (!any) out += "no series could be predicted\n";
  if (options.remarks) out += remarks_text(v);
  return out;
}

}  // namespace linkcast::calibration
