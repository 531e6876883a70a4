// See packet_fields.hpp.
#include "packet_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace linkcast::workloads {
namespace {

using trace::Problems;
using trace::Value;

/// The number at the beginning, and what follows it.
std::optional<std::pair<double, std::string_view>> split(const Value& v) {
  if (!v.is_scalar()) return std::nullopt;
  double x = 0;
  const auto* end = v.text.data() + v.text.size();
  const auto [stop, error] = std::from_chars(v.text.data(), end, x);
  if (error != std::errc{} || !std::isfinite(x)) return std::nullopt;
  std::string_view rest{stop, static_cast<std::size_t>(end - stop)};
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return std::pair{x, rest};
}

bool is_zero(const Value& v) { return v.is_scalar() && v.text == "0"; }

}  // namespace

std::optional<sim::Rate> rate_of(Problems& problems, const Value& v, std::string_view what, bool zero_allowed) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array units{Unit{"Mb/s", 1.25e5}, Unit{"Gb/s", 1.25e8}, Unit{"Tb/s", 1.25e11},
                             Unit{"MB/s", 1e6},    Unit{"GB/s", 1e9},    Unit{"TB/s", 1e12}};
  if (zero_allowed && is_zero(v)) return sim::Rate{};
  const auto parts = split(v);
  const auto unit = parts ? std::ranges::find(units, parts->second, &Unit::name) : units.end();
  if (unit == units.end() || !(parts->first >= 0) || parts->first * unit->bytes > 1e18 ||
      (parts->first * unit->bytes < 1 && !(zero_allowed && parts->first == 0))) {
    problems.add(v, fmt::format("'{}' is no rate: '{}'", what, v.text), "write a number and a unit, such as 400 Gb/s");
    return std::nullopt;
  }
  return sim::Rate::bytes_per_second(std::llround(parts->first * unit->bytes));
}

std::optional<double> number_of(Problems& problems, const Value& v, std::string_view what, double low, double high) {
  auto parts = split(v);
  if (parts && parts->second == "%") parts = {parts->first / 100, {}};
  if (!parts || !parts->second.empty()) {
    problems.add(v, fmt::format("'{}' must be a number", what));
    return std::nullopt;
  }
  if (!(parts->first >= low && parts->first <= high)) {
    problems.add(v, fmt::format("'{}' is {}: it must be from {} to {}", what, v.text, low, high));
    return std::nullopt;
  }
  return parts->first;
}

void PacketFields::time(std::string_view key, sim::Time& into, bool zero_allowed) {
  const auto* v = fields_.find(key);
  if (v == nullptr) return;
  if (zero_allowed && is_zero(*v)) {
    into = {};
  } else if (const auto t = trace::time_of(fields_.problems(), *v, key, zero_allowed)) {
    into = *t;
  }
}

void PacketFields::size(std::string_view key, sim::Bytes& into, bool zero_allowed) {
  const auto* v = fields_.find(key);
  if (v == nullptr) return;
  if (zero_allowed && is_zero(*v)) {
    into = sim::Bytes{0};
  } else if (const auto b = trace::size_of(fields_.problems(), *v, key)) {
    into = *b;
  }
}

void PacketFields::size(std::string_view key, std::optional<sim::Bytes>& into) {
  if (fields_.find(key) == nullptr) return;
  sim::Bytes b{-1};
  size(key, b, true);
  if (b >= sim::Bytes{0}) into = b;
}

void PacketFields::rate(std::string_view key, sim::Rate& into, bool zero_allowed) {
  const auto* v = fields_.find(key);
  if (v == nullptr) return;
  if (const auto r = rate_of(fields_.problems(), *v, key, zero_allowed)) into = *r;
}

void PacketFields::rate(std::string_view key, std::optional<sim::Rate>& into) {
  const auto* v = fields_.find(key);
  if (v == nullptr) return;
  if (const auto r = rate_of(fields_.problems(), *v, key)) into = *r;
}

void PacketFields::integer(std::string_view key, int& into, std::int64_t low, std::int64_t high) {
  if (const auto n = fields_.integer(key, low, high)) into = static_cast<int>(*n);
}

void PacketFields::number(std::string_view key, double& into, double low, double high) {
  const auto* v = fields_.find(key);
  if (v == nullptr) return;
  if (const auto x = number_of(fields_.problems(), *v, key, low, high)) into = *x;
}

void PacketFields::boolean(std::string_view key, bool& into) {
  if (const auto b = fields_.boolean(key)) into = *b;
}

std::optional<std::size_t> PacketFields::choice(std::string_view key, const std::vector<std::string>& known) {
  const auto word = fields_.word(key);
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(known, *word);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  fields_.problems().add(*fields_.value().get(key), fmt::format("'{}' is no {}", *word, key),
                         trace::suggest(*word, known));
  return std::nullopt;
}

}  // namespace linkcast::workloads
