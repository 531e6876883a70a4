// See quantities.hpp.
#include "quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::planning {
namespace {

using workloads::trace::Problems;
using workloads::trace::Value;

constexpr double hours_per_year = 8766;  // 365.25 days

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array units{Unit{"ms", 1e-3},     Unit{"s", 1},         Unit{"min", 60},    Unit{"h", 3600},
                           Unit{"hour", 3600},   Unit{"hours", 3600},  Unit{"day", 86400}, Unit{"days", 86400},
                           Unit{"week", 604800}, Unit{"weeks", 604800}};

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// A finite number at the beginning of the text, and what follows it.
std::optional<double> leading_number(std::string_view& text) {
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  text = trim({stop, static_cast<std::size_t>(end - stop)});
  return number;
}

std::string lower(std::string_view s) {
  std::string out{s};
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::optional<sim::Time> span_of(Problems& problems, const Value& v, std::string_view what, bool zero_allowed) {
  constexpr auto help = "write a number and a unit, such as 90 s, 10 min, 2 h or 30 days";
  auto text = v.is_scalar() ? trim(v.text) : std::string_view{};
  const auto number = leading_number(text);
  if (!number) {
    problems.add(v, fmt::format("'{}' must be a time with a unit{}", what, v.is_scalar() ? ": '" + v.text + "'" : ""),
                 help);
    return std::nullopt;
  }
  const auto unit = std::ranges::find(units, text, &Unit::name);
  if (unit == units.end()) {
    std::vector<std::string> names;
    for (const auto& u : units) names.emplace_back(u.name);
    const auto near = text.empty() ? std::string{} : sim::nearest(text, names);
    problems.add(v,
                 text.empty() ? fmt::format("'{}' needs a unit: '{}'", what, v.text)
                              : fmt::format("unknown unit '{}' in '{}'", text, what),
                 near.empty() ? help : fmt::format("did you mean '{}'?", near));
    return std::nullopt;
  }
  const double seconds = *number * unit->seconds;
  if (seconds < 0 || (seconds == 0 && !zero_allowed)) {
    problems.add(v, fmt::format("'{}' must be positive: '{}'", what, v.text));
    return std::nullopt;
  }
  if (seconds > longest_span.seconds()) {
    problems.add(v, fmt::format("'{}' is longer than 100 days: '{}'", what, v.text));
    return std::nullopt;
  }
  return sim::Time::picoseconds(std::llround(seconds * 1e12));
}

std::optional<double> share_of(Problems& problems, const Value& v, std::string_view what) {
  auto text = v.is_scalar() ? trim(v.text) : std::string_view{};
  const auto number = leading_number(text);
  if (!number || text != "%") {
    problems.add(v, fmt::format("'{}' must be a share in percent", what), "write a number and %, such as 32 %");
    return std::nullopt;
  }
  if (*number < 0 || *number > 100) {
    problems.add(v, fmt::format("'{}' is {} %: it must be from 0 to 100 %", what, *number));
    return std::nullopt;
  }
  return *number / 100;
}

std::optional<double> slowdown_of(Problems& problems, const Value& v) {
  auto text = v.is_scalar() ? trim(v.text) : std::string_view{};
  const auto number = leading_number(text);
  if (!number || !text.empty() || *number < 1 || *number > 1e6) {
    problems.add(v, "'slowdown' must be a number from 1 on", "write 1.15 for steps that take 15 % longer");
    return std::nullopt;
  }
  return number;
}

std::optional<double> rate_of(Problems& problems, const Value& v, std::string_view of) {
  constexpr auto help = "write 61.1 per 1000 GPU-years, 0.68 %/year or MTBF 1e6 h";
  const auto text = v.is_scalar() ? std::string{trim(v.text)} : std::string{};
  static const std::regex per{R"((\S+)\s+per\s+(?:(\S+)\s+)?(\S+)-years?)", std::regex::icase};
  static const std::regex percent{R"((\S+)\s*%\s*/\s*year)", std::regex::icase};
  static const std::regex mtbf{R"(MTBF\s+(\S+)\s*(h|hours|days|years))", std::regex::icase};
  const auto number = [](const std::string& s) -> std::optional<double> {
    std::string_view rest{s};
    const auto n = leading_number(rest);
    return rest.empty() ? n : std::nullopt;
  };
  std::smatch m;
  std::optional<double> rate;
  if (text.size() > 200) {  // no figure is that long, and a regular expression needs stack for each letter
    problems.add(v, "not a failure rate", help);
    return std::nullopt;
  }
  if (std::regex_match(text, m, per)) {
    const auto failures = number(m[1].str()), parts = m[2].matched ? number(m[2].str()) : std::optional{1.0};
    if (const auto part = lower(m[3].str()); (" " + lower(of) + " ").find(" " + part + " ") == std::string::npos) {
      problems.add(v, fmt::format("the rate is per {}-year, but it is of '{}'", m[3].str(), of));
      return std::nullopt;
    }
    if (failures && parts && *parts > 0) rate = *failures / *parts;
  } else if (std::regex_match(text, m, percent)) {
    if (const auto n = number(m[1].str())) rate = *n / 100;
  } else if (std::regex_match(text, m, mtbf)) {
    const auto unit = lower(m[2].str());
    const double hours = unit == "years" ? hours_per_year : unit == "days" ? 24 : 1;
    if (const auto n = number(m[1].str()); n && *n > 0) rate = hours_per_year / (*n * hours);
  }
  // A part that fails once an hour is no part that works: the slip of a unit.
  if (!rate || !std::isfinite(*rate)) {
    problems.add(v, fmt::format("not a failure rate: '{}'", text), help);
    return std::nullopt;
  }
  if (*rate < 0 || *rate > hours_per_year) {
    problems.add(v, fmt::format("a rate must be from 0 to one failure an hour: '{}'", text), help);
    return std::nullopt;
  }
  return rate;
}

std::string span_text(sim::Time t) {
  const double s = t.seconds();
  if (s < 120) return fmt::format("{:.3g} s", s);
  if (s < 7200) return fmt::format("{:.3g} min", s / 60);
  if (s < 172800) return fmt::format("{:.3g} h", s / 3600);
  return fmt::format("{:.3g} days", s / 86400);
}

}  // namespace linkcast::planning
