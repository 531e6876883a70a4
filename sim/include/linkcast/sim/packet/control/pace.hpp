// What the congestion control algorithms share: rates as bytes per picosecond, and the gap that a rate asks for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "linkcast/sim/packet/control_signals.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::sim::packet {

/// Bytes per picosecond, which a float holds to 2^-53 of the rate; Rate has whole bytes per second.
constexpr double bytes_per_ps(Rate r) { return static_cast<double>(r.bytes_per_second()) * 1e-12; }
constexpr Rate to_rate(double bytes_per_ps) {
  return Rate::bytes_per_second(static_cast<std::int64_t>(bytes_per_ps * 1e12 + 0.5));
}

constexpr Rate megabits(std::int64_t n) { return Rate::bytes_per_second(n * 125'000); }

/// Whole picoseconds, rounded up so that nothing is sent faster than its rate.
constexpr Time gap_of(double ps) {
  const auto whole = static_cast<std::int64_t>(ps);
  return Time::picoseconds(whole + (static_cast<double>(whole) < ps ? 1 : 0));
}

constexpr double to_double(Time t) { return static_cast<double>(t.ps()); }
constexpr double to_double(Bytes b) { return static_cast<double>(b.count()); }

}  // namespace linkcast::sim::packet
