// See goals.hpp.
#include "linkcast/planning/goals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace linkcast::planning {
namespace {

using workloads::trace::Problems;
using workloads::trace::Value;

enum class Unit : unsigned char { seconds, rate, per_second, share, usd, watts, ratio };

struct Known {
  Metric metric;
  const char* name;
  Unit unit;
  const char* example;
};
// The order of Metric.
constexpr std::array<Known, 13> known{{
    {Metric::step_time, "step_time", Unit::seconds, "step_time <= 2.1 s"},
    {Metric::busbw, "busbw", Unit::rate, "busbw(all_reduce, 1 GiB) >= 350 GB/s"},
    {Metric::algbw, "algbw", Unit::rate, "algbw(all_reduce, 1 GiB) >= 200 GB/s"},
    {Metric::tokens_per_second, "tokens_per_second", Unit::per_second, "tokens_per_second >= 1.2 M"},
    {Metric::mfu, "mfu", Unit::share, "mfu >= 40 %"},
    {Metric::exposed, "exposed", Unit::share, "exposed <= 10 %"},
    {Metric::goodput, "goodput", Unit::share, "goodput >= 92 %"},
    {Metric::capex, "capex", Unit::usd, "capex <= 40 M USD"},
    {Metric::power, "power", Unit::watts, "power <= 1.2 MW"},
    {Metric::cost_per_gpu_hour, "cost_per_gpu_hour", Unit::usd, "cost_per_gpu_hour <= 2.5 USD"},
    {Metric::cost_per_token, "cost_per_token", Unit::usd, "cost_per_token <= 0.4 USD"},
    {Metric::network_share, "network_share", Unit::share, "network_share <= 12 %"},
    {Metric::slowdown, "slowdown", Unit::ratio, "slowdown <= 1.1"},
}};
const Known& known_of(Metric m) { return known[static_cast<std::size_t>(m)]; }

struct Scale {
  const char* word;
  double factor;
};
std::vector<Scale> scales(Unit u) {
  switch (u) {
    case Unit::seconds:
      return {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"min", 60}, {"h", 3600}};
    case Unit::rate:
      return {{"GB/s", 1e9}, {"MB/s", 1e6}, {"TB/s", 1e12}, {"GiB/s", 1073741824.0}, {"Gb/s", 1e9 / 8}};
    case Unit::per_second:
      return {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"1/s", 1}, {"k/s", 1e3}, {"M/s", 1e6}, {"/s", 1}};
    case Unit::share:
      return {{"%", 0.01}};
    case Unit::usd:
      return {{"USD", 1}, {"k USD", 1e3}, {"M USD", 1e6}, {"B USD", 1e9}, {"$", 1}, {"k$", 1e3}, {"M$", 1e6}};
    case Unit::watts:
      return {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {"GW", 1e9}};
    case Unit::ratio:
      return {{"", 1}};
  }
  return {};
}

std::string trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return std::string{s};
}

class GoalReader {
 public:
  GoalReader(Problems& problems, const Value& at) : problems_{problems}, at_{at}, text_{at.text} {}

  std::optional<Goal> read() {
    Goal goal;
    goal.text = text_;
    const auto compare = text_.find_first_of("<>=");
    const std::string help = fmt::format("write it as in '{}'", known_of(Metric::step_time).example);
    if (compare == std::string::npos || text_[compare] == '=') return fail("a goal compares by <= or >=", help);
    goal.at_most = text_[compare] == '<';
    auto right = compare + 1;
    if (right < text_.size() && text_[right] == '=') ++right;
    if (!subject(goal, trimmed(std::string_view{text_}.substr(0, compare)))) return std::nullopt;
    if (!value(goal, trimmed(std::string_view{text_}.substr(right)))) return std::nullopt;
    return goal;
  }

 private:
  std::optional<Goal> fail(std::string problem, std::string help = {}) {
    problems_.add(at_, fmt::format("goal '{}': {}", text_, problem), std::move(help));
    return std::nullopt;
  }

  bool subject(Goal& goal, const std::string& left) {
    const auto open = left.find('(');
    const auto name = trimmed(std::string_view{left}.substr(0, open));
    const auto found = std::ranges::find(known, name, [](const Known& k) { return std::string_view{k.name}; });
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const auto& k : known) names.emplace_back(k.name);
      auto help = workloads::trace::suggest(name, names);
      if (help.empty()) help = fmt::format("there are {}", fmt::join(names, ", "));
      fail(fmt::format("there is no metric '{}'", name), help);
      return false;
    }
    goal.metric = found->metric;
    const bool of_collective = goal.metric == Metric::busbw || goal.metric == Metric::algbw;
    if (open == std::string::npos) {
      if (!of_collective) return true;
      fail(fmt::format("{} of which collective and size?", name), fmt::format("write '{}'", found->example));
      return false;
    }
    if (!of_collective || left.back() != ')') {
      fail(of_collective ? "no ')' after the size" : fmt::format("{} takes nothing in brackets", name),
           fmt::format("write '{}'", found->example));
      return false;
    }
    const auto inner = std::string_view{left}.substr(open + 1, left.size() - open - 2);
    const auto comma = inner.find(',');
    const auto op = trimmed(inner.substr(0, comma));
    goal.op = models::nccl::op_from(op);
    if (!goal.op) {
      fail(fmt::format("'{}' is no collective", op), workloads::trace::suggest(op, models::nccl::op_names()));
      return false;
    }
    Value size = at_;
    size.text = comma == std::string_view::npos ? "" : trimmed(inner.substr(comma + 1));
    const auto bytes = workloads::trace::size_of(problems_, size, fmt::format("goal '{}': the size", text_));
    if (!bytes) return false;
    goal.size = *bytes;
    return true;
  }

  bool value(Goal& goal, const std::string& right) {
    const auto& k = known_of(goal.metric);
    char* end = nullptr;
    const double number = std::strtod(right.c_str(), &end);
    if (end == right.c_str() || !std::isfinite(number) || number < 0) {
      fail(fmt::format("'{}' is no number", right), fmt::format("write '{}'", k.example));
      return false;
    }
    const auto unit = trimmed(end);
    std::vector<std::string> words;
    for (const auto& s : scales(k.unit)) {
      words.emplace_back(s.word);
      if (unit != s.word) continue;
      goal.value = number * s.factor;
      return true;
    }
    std::erase(words, "");
    fail(unit.empty() ? fmt::format("{} needs a unit", k.name) : fmt::format("'{}' is no unit of {}", unit, k.name),
         fmt::format("one of {}, as in '{}'", fmt::join(words, ", "), k.example));
    return false;
  }

  Problems& problems_;
  const Value& at_;
  const std::string& text_;
};

std::string scaled(double v, std::span<const Scale> by, const char* smallest) {
  for (const auto& s : by)
    if (std::abs(v) >= s.factor) return fmt::format("{:.4g} {}", v / s.factor, s.word);
  return fmt::format("{:.4g} {}", v, smallest);
}

}  // namespace

std::string_view name_of(Metric m) { return known_of(m).name; }
std::string_view unit_of(Metric m) {
  constexpr std::array<std::string_view, 7> words{"s", "B/s", "1/s", "", "USD", "W", ""};
  return words[static_cast<std::size_t>(known_of(m).unit)];
}

std::vector<Goal> read_goals(Problems& problems, const Value& v) {
  std::vector<Goal> out;
  const auto one = [&](const Value& item) {
    if (!item.is_scalar()) {
      problems.add(item, "a goal is a text", fmt::format("write '{}'", known_of(Metric::step_time).example));
    } else if (auto goal = GoalReader{problems, item}.read()) {
      out.push_back(std::move(*goal));
    }
  };
  if (v.is_sequence())
    for (const auto& item : v.items) one(item);
  else
    one(v);
  return out;
}

Judged judge(const Goal& goal, const Measured& measured) {
  Judged j;
  j.goal = goal;
  j.known = true;
  j.value = measured.value;
  const double distance = goal.at_most ? goal.value - measured.value : measured.value - goal.value;
  j.met = distance >= 0;
  j.margin_percent = goal.value > 0 ? 100 * distance / goal.value : 0;
  // Nine of ten measurements lie within p90: of a normal distribution 1.645 standard deviations.
  const double sigma = std::log1p(measured.p90_percent / 100) / 1.645;
  if (!(sigma > 0) || !(goal.value > 0) || !(measured.value > 0)) {
    j.confidence = j.met ? 1 : 0;
  } else {
    const double z = std::log(goal.value / measured.value) / sigma * (goal.at_most ? 1 : -1);
    j.confidence = 0.5 * std::erfc(-z / std::sqrt(2.0));
  }
  return j;
}

bool some_missed(std::span<const Judged> goals) {
  return std::ranges::any_of(goals, [](const Judged& j) { return j.known && !j.met; });
}
bool all_met(std::span<const Judged> goals) {
  return !some_missed(goals) && std::ranges::any_of(goals, [](const Judged& j) { return j.known; });
}

std::string to_text(Metric metric, double v) {
  switch (known_of(metric).unit) {
    case Unit::seconds:
      return scaled(v, std::array{Scale{"s", 1}, Scale{"ms", 1e-3}, Scale{"us", 1e-6}}, "s");
    case Unit::rate:
      return fmt::format("{:.1f} GB/s", v * 1e-9);
    case Unit::per_second:
      return scaled(v, std::array{Scale{"M/s", 1e6}, Scale{"k/s", 1e3}}, "/s");
    case Unit::share:
      return fmt::format("{:.1f} %", 100 * v);
    case Unit::usd:
      return scaled(v, std::array{Scale{"B USD", 1e9}, Scale{"M USD", 1e6}, Scale{"k USD", 1e3}}, "USD");
    case Unit::watts:
      return scaled(v, std::array{Scale{"GW", 1e9}, Scale{"MW", 1e6}, Scale{"kW", 1e3}}, "W");
    case Unit::ratio:
      return fmt::format("{:.3f}", v);
  }
  return {};
}

std::string verdict_text(const Judged& j) {
  if (!j.known) return fmt::format("not known: {}", j.why);
  if (!j.why.empty()) return fmt::format("missed: {}", j.why);
  const auto value = to_text(j.goal.metric, j.value);
  const auto sure = j.confidence >= 0.995 || j.confidence <= 0.005
                        ? std::string{}
                        : fmt::format(" ({:.0f} % sure that it {})", 100 * (j.met ? j.confidence : 1 - j.confidence),
                                      j.met ? "meets" : "does not");
  if (j.met) return fmt::format("met with {}, {:.1f} % to spare{}", value, j.margin_percent, sure);
  return fmt::format("missed with {}, by {:.1f} %{}", value, -j.margin_percent, sure);
}

std::string goals_text(std::span<const Judged> goals) {
  if (goals.empty()) return {};
  std::string out = "\ngoals (+ met, - missed, ? not known)\n";
  for (const auto& j : goals)
    out += fmt::format("  {} {}: {}\n", !j.known ? "?" : j.met ? "+" : "-", j.goal.text, verdict_text(j));
  return out;
}

std::string goals_json(std::span<const Judged> goals) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& j : goals) {
    nlohmann::ordered_json g{
        {"goal", j.goal.text}, {"known", j.known}, {"met", j.known && j.met}, {"text", verdict_text(j)}};
    if (j.known && j.why.empty()) {
      g["value"] = j.value;
      g["unit"] = unit_of(j.goal.metric);
      g["value_text"] = to_text(j.goal.metric, j.value);
      g["margin_percent"] = j.margin_percent;
      g["confidence"] = j.confidence;
    }
    out.push_back(std::move(g));
  }
  return out.dump();
}

std::vector<Judged> judged_outage(std::span<const Goal> goals) {
  std::vector<Judged> out;
  for (const auto& g : goals) switch (g.metric) {
      case Metric::capex:
      case Metric::power:
      case Metric::network_share:
      case Metric::cost_per_gpu_hour:
        out.push_back({g, false, "`linkcast cost` knows it", 0, false, 0, 0});
        break;
      default:
        out.push_back({g, true, "the job cannot run", 0, false, 0, 0});
    }
  return out;
}

}  // namespace linkcast::planning
