// What a twin hides, as somebody types it. See twin.hpp.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "linkcast/calibration/twin.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/profile.hpp"
#include "problems.hpp"

namespace linkcast::calibration {
namespace {

using topologies::Unit;

struct UnitWord {
  std::string_view word;
  Unit unit;
  double factor;
};
constexpr std::array unit_words{
    UnitWord{"ps", Unit::time, 1e-12},    UnitWord{"ns", Unit::time, 1e-9},     UnitWord{"us", Unit::time, 1e-6},
    UnitWord{"ms", Unit::time, 1e-3},     UnitWord{"s", Unit::time, 1},         UnitWord{"GB/s", Unit::rate, 1e9},
    UnitWord{"MB/s", Unit::rate, 1e6},    UnitWord{"Gb/s", Unit::rate, 1.25e8}, UnitWord{"B", Unit::size, 1},
    UnitWord{"KiB", Unit::size, 1 << 10}, UnitWord{"MiB", Unit::size, 1 << 20}, UnitWord{"", Unit::none, 1}};

std::string_view example_of(Unit unit) {
  switch (unit) {
    case Unit::rate:
      return "as in 20 GB/s, or x0.9 of what it is";
    case Unit::time:
      return "as in 1.2 us, or x0.9 of what it is";
    case Unit::size:
      return "as in 128 B, or x2 of what it is";
    case Unit::none:
      break;
  }
  return "as in 0.95, or x0.9 of what it is";
}

double value_of(const std::string& path, const std::string& text, const topologies::PartNumber& known) {
  const auto refuse = [&] {
    throw sim::InputError(fmt::format("{}: '{}' is no value for it", path, text), std::string{example_of(known.unit)});
  };
  std::string_view rest = trim(text);
  const bool share = rest.starts_with('x');
  if (share) rest.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) refuse();
  rest = trim(rest.substr(static_cast<std::size_t>(end - rest.data())));
  if (share) {
    if (!rest.empty()) refuse();
    return value * known.value;
  }
  for (const auto& u : unit_words)
    if (u.word == rest && u.unit == known.unit) return value * u.factor;
  refuse();
  return 0;
}

}  // namespace

std::shared_ptr<const topologies::Profile> hidden_numbers(const std::map<std::string, std::string>& numbers) {
  if (numbers.empty()) return nullptr;
  std::map<std::string, double> values;
  std::vector<sim::Diagnostic> wrong;
  for (const auto& [path, text] : numbers) {
    try {
      const auto known = topologies::number_at(path);
      if (!known)
        throw sim::InputError(fmt::format("'{}' is no number that the catalog has", path),
                              "as in gpus.h100-sxm.simple.send; topologies/catalog/parts has them all");
      values[path] = value_of(path, text, *known);
    } catch (const sim::InputError& e) {
      wrong.insert(wrong.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }
  if (!wrong.empty()) throw sim::InputError(std::move(wrong), {});
  return topologies::Profile::with(nullptr, values, "hidden");
}

}  // namespace linkcast::calibration
