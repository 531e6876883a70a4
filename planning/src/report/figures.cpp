// See figures.hpp.
#include "figures.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace linkcast::planning::report {
namespace {

std::string with_thousands(std::string whole) {
  const std::size_t first = whole.starts_with('-') ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(whole.size()) - 3; at > static_cast<std::ptrdiff_t>(first); at -= 3)
    whole.insert(static_cast<std::size_t>(at), ",");
  return whole;
}

std::string with(const AxisUnit& unit, double value) { return digits(value / unit.divisor) + " " + unit.name; }

}  // namespace

std::string digits(double value) {
  if (!std::isfinite(value)) return "\u2013";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 999.5e6 || size < 1e-4) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return with_thousands(fmt::format("{:.0f}", value));
  const int after = size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 2 - static_cast<int>(std::floor(std::log10(size)));
  auto out = fmt::format("{:.{}f}", value, after);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

AxisUnit time_unit(double us) {
  const double size = std::abs(us);
  return size >= 60e6 * 120 ? AxisUnit{"h", 3600e6}
         : size >= 1e6      ? AxisUnit{"s", 1e6}
         : size >= 1e3      ? AxisUnit{"ms", 1e3}
                            : AxisUnit{"us", 1};
}
AxisUnit usd_unit(double usd) {
  const double size = std::abs(usd);
  return size >= 1e9   ? AxisUnit{"bn USD", 1e9}
         : size >= 1e6 ? AxisUnit{"M USD", 1e6}
         : size >= 1e4 ? AxisUnit{"k USD", 1e3}
                       : AxisUnit{"USD", 1};
}
AxisUnit watts_unit(double watts) {
  const double size = std::abs(watts);
  return size >= 1e6 ? AxisUnit{"MW", 1e6} : size >= 1e3 ? AxisUnit{"kW", 1e3} : AxisUnit{"W", 1};
}

std::string time_text(double us) { return with(time_unit(us), us); }
std::string usd_text(double usd) { return with(usd_unit(usd), usd); }
std::string watts_text(double watts) { return with(watts_unit(watts), watts); }
std::string rate_text(double GBps) { return GBps >= 10'000 ? digits(GBps / 1000) + " TB/s" : digits(GBps) + " GB/s"; }
std::string bytes_text(double bytes) {
  static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t u = 0;
  while (bytes >= 1024 && u + 1 < units.size()) bytes /= 1024, ++u;
  return digits(bytes) + " " + units[u];
}
std::string percent_text(double percent) { return digits(percent) + " %"; }
std::string signed_percent_text(double percent) {
  return std::abs(percent) < 0.05 ? "0 %" : fmt::format("{:+.1f} %", percent);
}

}  // namespace linkcast::planning::report
