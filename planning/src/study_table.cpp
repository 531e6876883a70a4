// What a study's rows mean together: goals, differences to the baseline, the table for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>

#include "linkcast/planning/study.hpp"
#include "row_facts.hpp"

namespace linkcast::planning {

std::optional<double> number_in(const Study& study, const Row& row, std::string_view column) {
  const auto& text = row[study.column(column)];
  if (text.empty()) return std::nullopt;
  return std::strtod(text.c_str(), nullptr);
}

std::vector<std::pair<std::string, double>> parts_in(const Study& study, const Row& row) {
  std::vector<std::pair<std::string, double>> out;
  std::string_view rest = row[study.column("parts_us")];
  while (!rest.empty()) {
    const auto item = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const auto equals = item.rfind('=');
    if (equals == std::string_view::npos) continue;
    out.emplace_back(item.substr(0, equals), std::strtod(std::string{item.substr(equals + 1)}.c_str(), nullptr));
  }
  return out;
}

namespace {

/// The column and the factor to base units.
std::pair<std::string_view, double> source_of(Metric m) {
  switch (m) {
    case Metric::step_time:
      return {"time_us", 1e-6};
    case Metric::busbw:
      return {"busbw_GBps", 1e9};
    case Metric::algbw:
      return {"algbw_GBps", 1e9};
    case Metric::tokens_per_second:
      return {"tokens_per_second", 1};
    case Metric::mfu:
      return {"mfu_percent", 0.01};
    case Metric::exposed:
      return {"exposed_percent", 0.01};
    case Metric::goodput:
      return {"goodput_percent", 0.01};
    case Metric::capex:
      return {"capex_usd", 1};
    case Metric::power:
      return {"power_w", 1};
    case Metric::cost_per_gpu_hour:
      return {"usd_per_gpu_hour", 1};
    case Metric::cost_per_token:
      return {"usd_per_million_tokens", 1};
    case Metric::network_share:
      return {"network_share_percent", 0.01};
    case Metric::slowdown:
      return {"", 1};
  }
  return {"", 1};
}

/// Of prices: the distance between typical and high stands for the 95th percentile, as p90 does for times.
double band_p90(const Study& study, const Row& row, std::string_view name) {
  const auto typical = number_in(study, row, name);
  const auto high = number_in(study, row, fmt::format("{}_high", name));
  return typical && high && *typical > 0 ? 100 * (*high / *typical - 1) : 0;
}

const char* why_unknown(Metric m) {
  switch (m) {
    case Metric::mfu:
    case Metric::tokens_per_second:
    case Metric::cost_per_token:
      return "only a training step knows its tokens and FLOPs";
    case Metric::goodput:
      return "it needs `reliability:` in the scenario";
    case Metric::exposed:
      return "a single collective has nothing to hide behind";
    case Metric::slowdown:
      return "of `linkcast resilience` and of jobs";
    default:
      return "not known here";
  }
}

/// A topology file by its name alone.
std::string machine_text(const std::string& topology) {
  return topology.find('/') == std::string::npos ? topology : std::filesystem::path{topology}.stem().string();
}

std::string time_text(double us) {
  if (us >= 1e6) return fmt::format("{:.3f} s", us * 1e-6);
  if (us >= 1e3) return fmt::format("{:.2f} ms", us * 1e-3);
  return fmt::format("{:.1f} us", us);
}

}  // namespace

std::vector<Judged> judged(const Study& study, const Row& row) {
  std::vector<Judged> out;
  const auto& status = row[study.column("status")];
  for (std::size_t g = 0; g < study.goals().size(); ++g) {
    const auto& goal = study.goals()[g];
    const auto [column, factor] = source_of(goal.metric);
    const auto own = number_in(study, row, fmt::format("goal_{}_value", g + 1));
    const auto value = goal.op || column.empty() ? own : number_in(study, row, column);
    if (!value) {
      out.push_back({goal, false, status == "done" ? why_unknown(goal.metric) : status, 0, false, 0, 0});
      continue;
    }
    Measured measured{goal.op ? *value : *value * factor, 0};
    const auto time_p90 = number_in(study, row, "expected_error_p90_percent").value_or(0);
    switch (goal.metric) {
      case Metric::capex:
      case Metric::power:
        measured.p90_percent = band_p90(study, row, column);
        break;
      case Metric::cost_per_gpu_hour:
        measured.p90_percent = band_p90(study, row, "capex_usd");
        break;
      case Metric::cost_per_token:
        measured.p90_percent = std::hypot(time_p90, band_p90(study, row, "capex_usd"));
        break;
      case Metric::goodput:  // one run in twenty is below p5
        if (const auto p5 = number_in(study, row, "goodput_p5_percent"); p5 && *p5 > 0)
          measured.p90_percent = 100 * (*number_in(study, row, column) / *p5 - 1);
        break;
      case Metric::network_share:
      case Metric::slowdown:
        break;
      case Metric::busbw:
      case Metric::algbw:
        measured.p90_percent = number_in(study, row, fmt::format("goal_{}_p90_percent", g + 1)).value_or(0);
        break;
      default:
        measured.p90_percent = time_p90;
    }
    out.push_back(judge(goal, measured));
  }
  return out;
}

std::optional<Difference> difference(const Study& study, const Row& baseline, const Row& row) {
  const auto before = number_in(study, baseline, "time_us");
  const auto after = number_in(study, row, "time_us");
  if (!before || !after || *before <= 0) return std::nullopt;
  Difference d;
  d.percent = 100 * (*after / *before - 1);
  std::map<std::string, double> change;
  for (const auto& [name, us] : parts_in(study, row)) change[name] += us;
  for (const auto& [name, us] : parts_in(study, baseline)) change[name] -= us;
  const auto most = std::ranges::max_element(change, {}, [](const auto& c) { return std::abs(c.second); });
  if (most == change.end() || std::abs(most->second) < 0.001 * *before) return d;
  const auto bound = row[study.column("bound_by")];
  d.change = fmt::format("{} {}{}", most->first, most->second > 0 ? "+" : "-", time_text(std::abs(most->second)));
  d.reason = d.change;
  const auto& link = row[study.column("bound_link")];
  if (!bound.empty() && bound != most->first)
    d.reason += fmt::format(", bound by {}{}", bound, link.empty() ? "" : fmt::format(" ({})", link));
  return d;
}

std::vector<const Row*> baselines(const Study& study, std::span<const Row> rows) {
  std::unordered_map<std::string, const Row*> by_names;
  const auto axes = study.variants().axes().size();
  const auto joined = [&](const std::vector<std::string>& names, std::size_t first) {
    std::string text;
    for (std::size_t a = 0; a < axes; ++a) text += names[first + a] + '\n';
    return text;
  };
  for (const auto& row : rows) by_names.try_emplace(joined(row, 2), &row);
  std::vector<const Row*> out;
  for (const auto& row : rows) {
    const auto at = by_names.find(joined(
        study.variants().baseline_names({row.begin() + 2, row.begin() + 2 + static_cast<std::ptrdiff_t>(axes)}), 0));
    out.push_back(at == by_names.end() ? nullptr : at->second);
  }
  return out;
}

std::string text_table(const Study& study, std::span<const Row> rows, std::size_t most) {
  const auto& axes = study.variants().axes();
  const auto compared = baselines(study, rows);

  std::vector<std::vector<std::string>> table(1);
  const bool collective =
      std::ranges::any_of(rows, [&](const Row& r) { return !r[study.column("busbw_GBps")].empty(); });
  const bool step =
      std::ranges::any_of(rows, [&](const Row& r) { return !r[study.column("tokens_per_second")].empty(); });
  // What all rows share is said once, below the table.
  std::set<std::pair<std::string, std::string>> costs;
  for (const auto& r : rows)
    if (r[study.column("status")] == "done") costs.emplace(r[study.column("capex_usd")], r[study.column("power_w")]);
  // Machines of another size cost more: that is no comparison.
  const bool cost = costs.size() > 1 && std::ranges::all_of(rows, [&](const Row& r) {
                      const auto& gpus = r[study.column("gpus")];
                      return gpus.empty() || gpus == rows.front()[study.column("gpus")];
                    });
  auto& head = table.front();
  if (axes.empty()) head.emplace_back("scenario");
  for (const auto& axis : axes) head.push_back(axis.key.substr(axis.key.rfind('.') + 1));
  head.emplace_back("time");
  if (axes.size() > 0) head.emplace_back("vs baseline");
  if (collective) head.insert(head.end(), {"busbw GB/s", "algorithm"});
  if (step) head.insert(head.end(), {"tokens/s", "MFU"});
  head.emplace_back("bound by");
  if (cost) head.insert(head.end(), {"capex", "power"});
  if (!study.goals().empty()) head.emplace_back("goals");
  head.emplace_back("error");
  if (axes.size() > 0) head.emplace_back("why");

  std::size_t errors = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    const auto at = [&](std::string_view c) -> const std::string& { return row[study.column(c)]; };
    if (at("status") == "error") ++errors;
    if (most > 0 && i >= most) continue;
    std::vector<std::string> line;
    if (axes.empty()) line.push_back(at("name"));
    for (std::size_t a = 0; a < axes.size(); ++a)
      line.push_back(axes[a].key == "topology" ? machine_text(row[2 + a]) : row[2 + a]);
    const auto time = number_in(study, row, "time_us");
    line.push_back(time ? time_text(*time) : at("status"));
    const auto d = compared[i] != nullptr ? difference(study, *compared[i], row) : std::nullopt;
    if (axes.size() > 0)
      line.push_back(&row == compared[i] ? "baseline" : d ? fmt::format("{:+.1f} %", d->percent) : "");
    // Rows of another kind of workload than others have nothing there.
    const auto shown = [&](std::string_view c, const char* format) {
      const auto value = number_in(study, row, c);
      return value ? fmt::format(fmt::runtime(format), *value) : std::string{};
    };
    if (collective)
      line.insert(line.end(), {shown("busbw_GBps", "{:.2f}"),
                               at("algorithm") + (at("protocol").empty() ? "" : " " + at("protocol"))});
    if (step) {
      line.push_back(shown("tokens_per_second", "{:.4g}"));
      line.push_back(shown("mfu_percent", "{:.1f} %"));
    }
    line.push_back(at(at("bound_link").empty() ? "bound_by" : "bound_link"));
    if (cost) {
      const auto money = number_in(study, row, "capex_usd"), watts = number_in(study, row, "power_w");
      line.push_back(money ? to_text(Metric::capex, *money) : "");
      line.push_back(watts ? to_text(Metric::power, *watts) : "");
    }
    if (!study.goals().empty()) {
      const auto results = judged(study, row);
      const auto met = std::ranges::count_if(results, [](const Judged& j) { return j.known && j.met; });
      double least = 1;
      for (const auto& j : results)
        if (j.known) least = std::min(least, j.confidence);
      line.push_back(fmt::format("{} of {} ({:.0f} %)", met, results.size(), 100 * least));
    }
    const auto error = number_in(study, row, "expected_error_percent");
    line.push_back(error ? fmt::format("±{:.0f} %{}", *error, at("extrapolated") == "yes" ? " *" : "") : "");
    if (axes.size() > 0) line.push_back(at("status") == "done" ? (d ? d->change : "") : at("error"));
    table.push_back(std::move(line));
  }
  auto out = aligned(table);
  if (most > 0 && rows.size() > most)
    out += fmt::format("… {} more rows (--all, --out FILE, --json)\n", rows.size() - most);
  if (costs.size() == 1 && !costs.begin()->first.empty() && !costs.begin()->second.empty())
    out += fmt::format("cost of each: {}, {}\n", to_text(Metric::capex, std::stod(costs.begin()->first)),
                       to_text(Metric::power, std::stod(costs.begin()->second)));
  if (errors > 0) out += fmt::format("{} of {} variants could not be evaluated: see `why`\n", errors, rows.size());
  return out;
}

std::string parts_table(const Study& study, const Row& row) {
  const auto parts = parts_in(study, row);
  const auto whole = number_in(study, row, "time_us").value_or(0);
  if (parts.empty() || whole <= 0) return {};
  std::string out = "\nwhere the time goes\n";
  for (const auto& [name, us] : parts)
    out += fmt::format("  {:<24}{:>14}{:>8.1f} %\n", name, time_text(us), 100 * us / whole);
  return out;
}

namespace {

/// Letters as a terminal shows them: of UTF-8 the continuation bytes take no place.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& table) {
  std::vector<std::size_t> widths;
  for (const auto& line : table)
    for (std::size_t c = 0; c < line.size(); ++c) {
      if (widths.size() <= c) widths.push_back(0);
      widths[c] = std::max(widths[c], width(line[c]));
    }
  std::string out;
  for (const auto& line : table) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      out += line[c];
      if (c + 1 < line.size()) out.append(widths[c] + 2 - width(line[c]), ' ');
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

}  // namespace linkcast::planning
