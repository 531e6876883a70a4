// Numbers as people write them, with three significant digits and a unit, and the unit that fits the axis of a chart.
#pragma once

#include <span>
#include <string>

namespace linkcast::planning::report {

/// "12.3", "1,230", "0.00123": three significant digits, no exponent between 1e-4 and 1e9.
std::string digits(double value);
std::string time_text(double us);
std::string usd_text(double usd);      // "38.2 M USD", "1.85 USD"
std::string watts_text(double watts);  // "1.21 MW"
std::string rate_text(double GBps);
std::string bytes_text(double bytes);             // "64 MiB"
std::string percent_text(double percent);         // "12.3 %"
std::string signed_percent_text(double percent);  // "+12.3 %"

struct AxisUnit {
  std::string name;  // "ms"
  double divisor = 1;
};
AxisUnit time_unit(double largest_us);
AxisUnit usd_unit(double largest);
AxisUnit watts_unit(double largest);

}  // namespace linkcast::planning::report
