// The charts of a sweep or a plan: bars of the measure, curves over a key, time against cost, and parts of the time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "figures.hpp"
#include "option.hpp"

namespace linkcast::planning::report {
namespace {

constexpr std::size_t most_bars = 30, most_stacks = 16, most_series = 8, most_points = 600;

/// The best, and the baseline wherever it is.
std::vector<const Option*> shown(const Options& options, std::size_t most) {
  std::vector<const Option*> out(options.ranked.begin(), options.ranked.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                      most, options.ranked.size())));
  if (options.baseline && options.measure.of(*options.baseline) &&
      std::ranges::find(out, options.baseline) == out.end())
    out.push_back(options.baseline);
  return out;
}

/// Long names are cut in charts: their number tells them apart.
std::string label_of(const Option& o) {
  return (o.name.size() > 40 ? fmt::format("#{} ", o.number) : "") + o.name + (o.baseline ? " (baseline)" : "");
}

std::string of_how_many(std::size_t shown, std::size_t all) {
  return shown < all ? fmt::format(" The best {} of {} are shown.", shown, all) : std::string{};
}

}  // namespace

std::string comparison(const Page& page, const Options& options) {
  auto list = shown(options, most_bars);
  const auto outages = std::ranges::count_if(options.all, &Option::outage);
  if (list.size() < 2 && outages == 0) return {};
  double largest = 0;
  for (const auto* o : list) largest = std::max(largest, *options.measure.of(*o));
  const auto unit = options.measure.busbw ? AxisUnit{"GB/s", 1} : time_unit(largest);

  Chart chart{"bars.vega.json", fmt::format("Bars of the {} of each option", options.measure.name())};
  chart.signal("axis_title", fmt::format("{} ({})", options.measure.name(), unit.name));
  Table table{"Options by " + options.measure.name()};
  table.column("option").column(options.measure.name(), true).column("against baseline", true).column("bound by");
  bool errors = false;
  std::set<std::string> groups;
  for (const auto* o : list) {
    const auto value = *options.measure.of(*o);
    const auto group = o->baseline      ? "baseline"
                       : !options.goals ? "option"
                       : o->meets_all   ? "meets every goal"
                                        : "misses a goal";
    groups.insert(group);
    const auto vs = number_of(*o->row, "vs_baseline_percent");
    auto text = options.measure.text(value);
    if (vs && !o->baseline) text += fmt::format(" ({})", signed_percent_text(*vs));
    const auto by = text_of(*o->row, "bound_by");
    Json row{{"label", label_of(*o)},
             {"value", value / unit.divisor},
             {"text", text},
             {"group", group},
             {"tip", fmt::format("{}: {}{}", o->name, text, by.empty() ? "" : ", bound by " + by)}};
    if (const auto p90 = number_of(part_of(*o->row, "expected_error"), "p90_percent"); p90 && *p90 > 0) {
      // An error of p percent: nine of ten measurements lie between the prediction over and times 1 + p.
      row["low"] = value / unit.divisor / (1 + *p90 / 100);
      row["high"] = value / unit.divisor * (1 + *p90 / 100);
      errors = true;
    }
    chart.row(std::move(row));
    table.row({row_name(o->name), {options.measure.text(value)}, {vs ? signed_percent_text(*vs) : ""}, {by}},
              o->meets_all);
  }
  std::size_t told = 0;
  for (const auto& o : options.all)
    if (o.outage && ++told <= 5) {
      const auto* group = options.goals ? "misses a goal" : "option";
      groups.insert(group);
      chart.row(
          {{"label", o.name}, {"text", "outage: the job cannot run"}, {"group", group}, {"tip", o.name + ": outage"}});
      table.row({row_name(o.name), {"outage"}, {}, {}});
    }
  std::vector<std::string> domain, colours;
  for (const auto& [name, colour] : {std::pair{"meets every goal", "#009e73"},
                                     {"misses a goal", "#d55e00"},
                                     {"option", "#0072b2"},
                                     {"baseline", "#8a8f98"}}) {
    if (!groups.contains(name)) continue;
    domain.emplace_back(name);
    colours.emplace_back(colour);
  }
  chart.domain("colour", domain);
  chart.range("colour", colours);
  if (domain.size() < 2) chart.without_legend();
  return page.chart(chart,
                    fmt::format("{} is better.{}{}", options.measure.busbw ? "Longer" : "Shorter",
                                errors ? " Whiskers: nine of ten measurements of such systems lay within them." : "",
                                of_how_many(std::min(list.size(), options.ranked.size()), options.ranked.size())),
                    table);
}

namespace {

struct CurveKey {
  std::string key;
  std::vector<std::string> values;  // in the order of the study
};

std::string shown_value(const Json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

/// The key with most values, if the others do not make too many curves: a size before others.
std::optional<CurveKey> curve_key(const Options& options) {
  std::vector<CurveKey> keys;
  for (const auto& o : options.all)
    for (const auto& [key, value] : part_of(*o.row, "variant").items()) {
      auto it = std::ranges::find(keys, key, &CurveKey::key);
      if (it == keys.end()) it = keys.insert(keys.end(), CurveKey{key, {}});
      const auto text = shown_value(value);
      if (std::ranges::find(it->values, text) == it->values.end()) it->values.push_back(text);
    }
  std::optional<CurveKey> best;
  for (const auto& k : keys) {
    const auto numbers =
        std::ranges::count_if(k.values, [](const std::string& v) { return !v.empty() && v[0] >= '0' && v[0] <= '9'; });
    if (k.values.size() < 4 || static_cast<std::size_t>(numbers) != k.values.size()) continue;
    const bool size = k.key.find("size") != k.key.npos;
    const bool best_is_size = best && best->key.find("size") != best->key.npos;
    if (!best || (size && !best_is_size) || (size == best_is_size && k.values.size() > best->values.size())) best = k;
  }
  return best;
}

}  // namespace

std::string curves(const Page& page, const Json&, const Options& options) {
  const auto key = curve_key(options);
  if (!key) return {};
  // A series for each choice of the other keys: those that reach the best value first.
  std::map<std::string, std::map<std::string, const Option*>> series;
  std::vector<std::string> order;
  for (const auto& o : options.all) {
    std::string name, x;
    for (const auto& [k, value] : part_of(*o.row, "variant").items()) {
      if (k == key->key)
        x = shown_value(value);
      else
        name += (name.empty() ? "" : ", ") + shown_value(value);
    }
    if (name.empty()) name = "all";
    if (!series.contains(name)) order.push_back(name);
    series[name][x] = &o;
  }
  for (auto it = options.ranked.rbegin(); it != options.ranked.rend() && order.size() > most_series; ++it)
    for (const auto& [name, points] : series)
      if (std::ranges::any_of(points, [&](const auto& p) { return p.second == *it; })) {
        std::ranges::stable_partition(order, [&](const std::string& n) { return n == name; });
        break;
      }
  const auto all = order.size();
  order.resize(std::min(order.size(), most_series));

  double largest = 0;
  for (const auto* o : options.ranked) largest = std::max(largest, *options.measure.of(*o));
  const auto unit = options.measure.busbw ? AxisUnit{"GB/s", 1} : time_unit(largest);
  Chart chart{"lines.vega.json", fmt::format("Curves of the {} over {}", options.measure.name(), key->key)};
  const auto dot = key->key.rfind('.');
  chart.signal("x_title", dot == key->key.npos ? key->key : key->key.substr(dot + 1));
  chart.signal("y_title", fmt::format("{} ({})", options.measure.name(), unit.name));
  Table table{fmt::format("{} by {}", options.measure.name(), key->key)};
  table.column(key->key);
  for (const auto& name : order) table.column(name, true);
  for (const auto& x : key->values) {
    std::vector<Cell> cells{row_name(x)};
    for (const auto& name : order) {
      const auto at = series[name].find(x);
      const auto value = at == series[name].end() || !at->second->done ? std::nullopt : options.measure.of(*at->second);
      const auto text = value                                            ? options.measure.text(*value)
                        : at != series[name].end() && at->second->outage ? "outage"
                                                                         : "";
      Json row{{"x", x}, {"series", name}, {"tip", fmt::format("{}, {}: {}", name, x, text)}};
      if (value)
        row["y"] = *value / unit.divisor;
      else
        row["y"] = nullptr;
      chart.row(std::move(row));
      cells.push_back({text});
    }
    table.row(std::move(cells));
  }
  chart.domain("colour", order);
  chart.domain("shape", order);
  chart.domain("dash", order);
  if (order.size() < 2) chart.without_legend();
  return page.chart(
      chart,
      fmt::format("{} is better.{}", options.measure.busbw ? "Higher" : "Lower",
                  all > order.size() ? fmt::format(" The best {} of {} curves are shown.", order.size(), all) : ""),
      table);
}

namespace {

std::string plane(const Page& page, const Options& options, std::optional<double> Option::*cost, std::string_view key,
                  std::string_view name, AxisUnit (*unit_of)(double), std::string (*text_of_cost)(double)) {
  std::vector<const Option*> points;
  std::set<double> different;
  double most_time = 0, most_cost = 0;
  for (const auto* o : options.ranked) {
    if (!(o->*cost) || !o->time_us) continue;
    different.insert(*(o->*cost));
    most_time = std::max(most_time, *o->time_us);
    most_cost = std::max(most_cost, *(o->*cost));
    if (points.size() < most_points || o->front) points.push_back(o);
  }
  if (points.size() < 2 || different.size() < 2) return {};
  // Of these two alone: what the line joins.
  const auto on_line = [&](const Option& o) {
    return std::ranges::none_of(options.ranked, [&](const Option* x) {
      if (!(x->*cost) || !x->time_us) return false;
      const auto t = *x->time_us, c = *(x->*cost);
      return t <= *o.time_us && c <= *(o.*cost) && (t < *o.time_us || c < *(o.*cost));
    });
  };
  const auto time = time_unit(most_time), unit = unit_of(most_cost);
  Chart chart{"scatter.vega.json", fmt::format("Time of each option against its {}", name)};
  chart.signal("x_title", fmt::format("{} ({})", name, unit.name));
  chart.signal("y_title", fmt::format("time ({})", time.name));
  Table table{fmt::format("Options that nothing beats in time, cost and power at once")};
  table.column("#", true).column("option").column("time", true).column(std::string{name}, true).column("goals");
  bool ranges = false;
  std::set<std::string> groups;
  const auto lines = std::ranges::count_if(points, [&](const Option* o) { return on_line(*o); });
  for (const auto* o : points) {
    const auto value = *(o->*cost);
    const auto group = options.goals ? o->meets_all ? "meets every goal" : "misses a goal" : "option";
    groups.insert(group);
    const bool few = points.size() <= 8, line = on_line(*o);
    const auto label = (line && lines <= 16) || few ? fmt::format("#{}", o->number) : "";
    Json row{{"x", value / unit.divisor},
             {"y", *o->time_us / time.divisor},
             {"group", group},
             {"front", o->front},
             {"line", line},
             {"name", label},
             {"tip", fmt::format("#{} {}: {}, {}{}", o->number, o->name, time_text(*o->time_us), text_of_cost(value),
                                 o->front ? ", nothing beats it in all" : "")}};
    const auto& band = part_of(*o->row, key);
    const auto low = number_of(band, "low"), high = number_of(band, "high");
    if (low && high && *high > *low && points.size() <= 60) {
      row["x_low"] = *low / unit.divisor;
      row["x_high"] = *high / unit.divisor;
      ranges = true;
    }
    chart.row(std::move(row));
    if (o->front || line || few)
      table.row({number(std::to_string(o->number)),
                 row_name(o->name),
                 {time_text(*o->time_us)},
                 {text_of_cost(value)},
                 {!options.goals ? ""
                  : o->meets_all ? "all met"
                                 : fmt::format("{} missed", o->missed)}},
                o->meets_all);
  }
  std::vector<std::string> domain, colours, shapes;
  for (const auto& [group, colour, shape] : {std::tuple{"meets every goal", "#009e73", "circle"},
                                             {"misses a goal", "#d55e00", "cross"},
                                             {"option", "#0072b2", "circle"}}) {
    if (!groups.contains(group)) continue;
    domain.emplace_back(group);
    colours.emplace_back(colour);
    shapes.emplace_back(shape);
  }
  chart.domain("colour", domain);
  chart.range("colour", colours);
  chart.domain("shape", domain);
  chart.range("shape", shapes);
  if (domain.size() < 2) chart.without_legend();
  return page.chart(chart,
                    fmt::format("Lower left is better. Full marks: no other option beats them in time, cost and power "
                                "at once (the Pareto front); "
                                "the dashed line joins the best of these two alone, numbered as in the table.{}",
                                ranges ? " Lines through the marks: from the low to the high price." : ""),
                    table);
}

}  // namespace

std::string pareto(const Page& page, const Options& options) {
  if (options.sizes) return {};
  return plane(page, options, &Option::capex, "capex_usd", "purchase", usd_unit, usd_text) +
         plane(page, options, &Option::power, "power_w", "power", watts_unit, watts_text);
}

std::string breakdown(const Page& page, const Options& options) {
  auto list = shown(options, options.sizes ? options.ranked.size() : most_stacks);
  std::erase_if(list, [](const Option* o) { return part_of(*o->row, "parts_us").empty(); });
  if (options.sizes) {
    // One bar for each curve: where it is best.
    std::set<std::string> curves;
    std::erase_if(list, [&](const Option* o) {
      std::string others;
      for (const auto& [key, value] : part_of(*o->row, "variant").items())
        if (key.find("size") == key.npos) others += shown_value(value) + ",";
      return !curves.insert(others).second;
    });
    list.resize(std::min(list.size(), most_stacks));
  }
  if (list.empty()) return {};
  std::map<std::string, double> total;
  double largest = 0;
  for (const auto* o : list) {
    double sum = 0;
    for (const auto& [part, value] : part_of(*o->row, "parts_us").items())
      if (value.is_number()) total[part] += value.get<double>(), sum += value.get<double>();
    largest = std::max(largest, sum);
  }
  std::vector<std::string> parts;
  for (const auto& [part, sum] : total)
    if (sum > 0) parts.push_back(part);
  std::ranges::stable_sort(parts, [&](const auto& a, const auto& b) { return total[a] > total[b]; });
  const bool rest = parts.size() > palette_size;
  const auto named = rest ? palette_size - 1 : parts.size();
  std::vector<std::string> domain(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(named));
  if (rest) domain.emplace_back("the rest");

  const auto unit = time_unit(largest);
  Chart chart{"stack.vega.json", "Stacked bars: the parts of each option's time"};
  chart.signal("axis_title", fmt::format("time ({})", unit.name));
  chart.domain("colour", domain);
  Table table{"Parts of the time"};
  table.column("option");
  for (const auto& p : parts) table.column(p, true);
  for (const auto* o : list) {
    const auto& values = part_of(*o->row, "parts_us");
    double sum = 0, at = 0, small = 0;
    for (const auto& p : parts) sum += number_of(values, p).value_or(0);
    std::vector<Cell> cells{row_name(o->name)};
    const auto add = [&](const std::string& part, std::size_t colour, double us) {
      if (us <= 0) return;
      const auto percent = sum > 0 ? 100 * us / sum : 0;
      chart.row({{"label", label_of(*o)},
                 {"part", part},
                 {"x0", at / unit.divisor},
                 {"x1", (at + us) / unit.divisor},
                 {"text", fmt::format("{:.0f} %", percent)},
                 {"ink", ink_on(colour)},
                 {"tip", fmt::format("{}, {}: {} ({:.1f} %)", o->name, part, time_text(us), percent)}});
      at += us;
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto us = number_of(values, parts[i]).value_or(0);
      cells.push_back({us > 0 ? time_text(us) : ""});
      if (i < named)
        add(parts[i], i, us);
      else
        small += us;
    }
    if (rest) add("the rest", named, small);
    table.row(std::move(cells));
  }
  return page.chart(
      chart,
      fmt::format("Each bar is an option\u2019s time, in the parts that it is made of; they add up to the whole.{}",
                  options.sizes ? " Of each curve its best size is shown."
                                : of_how_many(std::min(list.size(), options.ranked.size()), options.ranked.size())),
      table);
}

}  // namespace linkcast::planning::report
