// See price_amount.hpp.
#include "price_amount.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

namespace linkcast::planning {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};
constexpr std::array usd{Unit{"USD", 1}};
constexpr std::array watts{Unit{"W", 1}};
constexpr std::array usd_per_kwh{Unit{"USD/kWh", 1}};
constexpr std::array usd_per_kw_month{Unit{"USD/kW/month", 1}};
constexpr std::array years{Unit{"years", 1}, Unit{"year", 1}};
constexpr std::array metres{Unit{"m", 1}, Unit{"cm", 0.01}};
constexpr std::array ratio{Unit{"", 1}};

struct Kind {
  std::span<const Unit> units;
  std::string_view what, example;
  bool multiples;  // "k", "M"
};
Kind of(AmountKind k) {
  switch (k) {
    case AmountKind::usd:
      return {usd, "a price", "a number with its unit, as in `36 k USD`", true};
    case AmountKind::watts:
      return {watts, "a power", "a number with its unit, as in `1.7 kW`", true};
    case AmountKind::usd_per_kwh:
      return {usd_per_kwh, "a price of energy", "a number with its unit, as in `0.078 USD/kWh`", false};
    case AmountKind::usd_per_kw_month:
      return {usd_per_kw_month, "a rent", "a number with its unit, as in `150 USD/kW/month`", false};
    case AmountKind::years:
      return {years, "a time", "a number with its unit, as in `5 years`", false};
    case AmountKind::metres:
      return {metres, "a length", "a number with its unit, as in `3 m`", false};
    case AmountKind::ratio:
      break;
  }
  return {ratio, "a ratio", "a plain number, as in `1.3`", false};
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// The number at the beginning, which is taken off.
std::optional<double> number(std::string_view& s) {
  double x = 0;
  const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), x, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(x) || x < 0) return std::nullopt;
  s = trim(s.substr(static_cast<std::size_t>(stop - s.data())));
  return x;
}

/// 1, or a multiple that stands before the unit.
std::optional<double> scale(std::string_view unit, const Kind& kind) {
  const auto named = [&](std::string_view text) -> std::optional<double> {
    for (const auto& u : kind.units)
      if (u.name == text) return u.scale;
    return std::nullopt;
  };
  if (const auto s = named(unit)) return s;
  if (!kind.multiples || unit.empty()) return std::nullopt;
  const double times = unit[0] == 'k' ? 1e3 : unit[0] == 'M' ? 1e6 : 0;
  const auto rest = named(trim(unit.substr(1)));
  return times > 0 && rest ? std::optional{times * *rest} : std::nullopt;
}

}  // namespace

std::variant<Band, AmountError> parse_amount(std::string_view text, AmountKind k) {
  const auto kind = of(k);
  const auto refuse = [&] {
    return AmountError{fmt::format("{} cannot be '{}'", kind.what, text.substr(0, 40)), std::string{kind.example}};
  };
  auto rest = trim(text);
  const auto low = number(rest);
  if (!low) return refuse();
  auto high = low;
  if (rest.starts_with('-')) {
    rest = trim(rest.substr(1));
    high = number(rest);
    if (!high || *high < *low) return refuse();
  }
  const auto times = scale(rest, kind);
  if (!times || *high * *times > 1e15) return refuse();
  return Band{*low * *times, (*low + *high) / 2 * *times, *high * *times};
}

}  // namespace linkcast::planning
