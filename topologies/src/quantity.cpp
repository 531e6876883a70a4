// See quantity.hpp. 1 GB = 10^9 B, 1 GiB = 2^30 B, 1 Gb = 10^9 bit.
#include "quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::topologies {
namespace {

struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor;  // to base units
};

constexpr std::array units{
    Unit{"B/s", Dimension::rate, 1},
    Unit{"KB/s", Dimension::rate, 1e3},
    Unit{"kB/s", Dimension::rate, 1e3},
    Unit{"MB/s", Dimension::rate, 1e6},
    Unit{"GB/s", Dimension::rate, 1e9},
    Unit{"TB/s", Dimension::rate, 1e12},
    Unit{"KiB/s", Dimension::rate, 1024.0},
    Unit{"MiB/s", Dimension::rate, 1048576.0},
    Unit{"GiB/s", Dimension::rate, 1073741824.0},
    Unit{"TiB/s", Dimension::rate, 1099511627776.0},
    Unit{"b/s", Dimension::rate, 1.0 / 8},
    Unit{"Kb/s", Dimension::rate, 1e3 / 8},
    Unit{"kb/s", Dimension::rate, 1e3 / 8},
    Unit{"Mb/s", Dimension::rate, 1e6 / 8},
    Unit{"Gb/s", Dimension::rate, 1e9 / 8},
    Unit{"Tb/s", Dimension::rate, 1e12 / 8},
    Unit{"ps", Dimension::time, 1},
    Unit{"ns", Dimension::time, 1e3},
    Unit{"us", Dimension::time, 1e6},
    Unit{"µs", Dimension::time, 1e6},
    Unit{"ms", Dimension::time, 1e9},
    Unit{"s", Dimension::time, 1e12},
    Unit{"B", Dimension::size, 1},
    Unit{"KB", Dimension::size, 1e3},
    Unit{"MB", Dimension::size, 1e6},
    Unit{"GB", Dimension::size, 1e9},
    Unit{"TB", Dimension::size, 1e12},
    Unit{"KiB", Dimension::size, 1024.0},
    Unit{"MiB", Dimension::size, 1048576.0},
    Unit{"GiB", Dimension::size, 1073741824.0},
    Unit{"TiB", Dimension::size, 1099511627776.0},
};

std::string_view noun(Dimension d) {
  switch (d) {
    case Dimension::rate:
      return "a rate";
    case Dimension::time:
      return "a time";
    case Dimension::size:
      return "a size";
  }
  return "";
}

std::string with_units(std::string_view number, Dimension d) {
  switch (d) {
    case Dimension::rate:
      return fmt::format("write {0} GB/s (bytes) or {0} Gb/s (bits)", number);
    case Dimension::time:
      return fmt::format("write {0} ns or {0} us", number);
    case Dimension::size:
      return fmt::format("write {0} B, {0} KiB or {0} MiB", number);
  }
  return {};
}

std::string example(Dimension d) {
  switch (d) {
    case Dimension::rate:
      return "write a number and a unit, such as 450 GB/s or 400 Gb/s";
    case Dimension::time:
      return "write a number and a unit, such as 120 ns or 1.2 us";
    case Dimension::size:
      return "write a number and a unit, such as 128 B or 4 MiB";
  }
  return {};
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::string nearest_unit(std::string_view name, Dimension d) {
  std::vector<std::string> same;
  for (const auto& u : units) {
    if (u.dimension == d) same.emplace_back(u.name);
  }
  if (auto near = sim::nearest(name, same); !near.empty()) return fmt::format("did you mean '{}'?", near);
  return example(d);
}

}  // namespace

std::variant<std::int64_t, QuantityError> parse_quantity(std::string_view text, Dimension dimension,
                                                         std::string_view name, bool zero_allowed) {
  text = trim(text);
  double number = 0;
  const auto* begin = text.data();
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error == std::errc::invalid_argument || !(error == std::errc::result_out_of_range || std::isfinite(number))) {
    return QuantityError{fmt::format("'{}' is not {}: '{}'", name, noun(dimension), text), example(dimension)};
  }
  const std::string_view digits{begin, static_cast<std::size_t>(stop - begin)};
  const auto unit_name = trim({stop, static_cast<std::size_t>(end - stop)});
  if (unit_name.empty()) {
    return QuantityError{fmt::format("'{}' needs a unit: '{}'", name, text), with_units(digits, dimension)};
  }
  const Unit* unit = nullptr;
  for (const auto& u : units) {
    if (u.name == unit_name) unit = &u;
  }
  if (!unit) {
    return QuantityError{fmt::format("unknown unit '{}' in '{}'", unit_name, name), nearest_unit(unit_name, dimension)};
  }
  if (unit->dimension != dimension) {
    return QuantityError{fmt::format("'{}' is {}, not {}: '{}'", name, noun(dimension), noun(unit->dimension), text),
                         example(dimension)};
  }
  const double value = number * unit->factor;
  if (error == std::errc::result_out_of_range || value >= 9223372036854775808.0 || value <= -9223372036854775808.0) {
    return QuantityError{fmt::format("'{}' does not fit: '{}'", name, text),
                         "the largest number is 2^63 - 1 base units"};
  }
  if (number < 0) return QuantityError{fmt::format("'{}' is negative: '{}'", name, text), "it must be positive"};
  const auto rounded = static_cast<std::int64_t>(std::llround(value));
  if (rounded == 0 && !(zero_allowed && number == 0)) {
    return QuantityError{fmt::format("'{}' is zero: '{}'", name, text),
                         dimension == Dimension::rate ? "it must be positive; for a dead link write `state: down`"
                                                      : "it must be positive"};
  }
  return rounded;
}

std::string format_quantity(std::int64_t value, Dimension dimension) {
  struct Step {
    std::string_view name;
    std::int64_t factor;
  };
  static constexpr std::array rates{Step{"GB/s", 1'000'000'000}, Step{"MB/s", 1'000'000}, Step{"KB/s", 1'000},
                                    Step{"B/s", 1}};
  static constexpr std::array times{Step{"us", 1'000'000}, Step{"ns", 1'000}, Step{"ps", 1}};
  static constexpr std::array sizes{Step{"GiB", 1 << 30}, Step{"MiB", 1 << 20}, Step{"KiB", 1 << 10}, Step{"B", 1}};
  const auto pick = [&](auto& steps) {
    for (const auto& s : steps) {
      if (value < s.factor) continue;
      const auto text = fmt::format("{}", static_cast<double>(value) / static_cast<double>(s.factor));
      if (text.size() <= 7 && text.find('e') == std::string::npos) return fmt::format("{} {}", text, s.name);
    }
    return fmt::format("{} {}", value, steps.back().name);
  };
  switch (dimension) {
    case Dimension::rate:
      return pick(rates);
    case Dimension::time:
      return pick(times);
    case Dimension::size:
      return pick(sizes);
  }
  return {};
}

}  // namespace linkcast::topologies
