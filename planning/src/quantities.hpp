// Numbers with units as files about reliability write them: "30 days", "32 %", "61.1 per 1000 GPU-years". Knows no
// schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::planning {

/// What sim::Time can hold of a study, with room for a repair that ends after it.
inline constexpr sim::Time longest_span = sim::Time::picoseconds(std::int64_t{100} * 86'400 * 1'000'000'000'000);

/// A sum that stays at the last time that can be told: later than any study.
constexpr sim::Time later(sim::Time at, sim::Time by) {
  return at > sim::Time::max() - by ? sim::Time::max() : at + by;
}

/// "90 s", "10 min", "2 h", "30 days". A bare number is an error.
std::optional<sim::Time> span_of(workloads::trace::Problems& problems, const workloads::trace::Value& v,
                                 std::string_view what, bool zero_allowed);
/// "32 %", from 0 to 100, as a share. A bare number is an error.
std::optional<double> share_of(workloads::trace::Problems& problems, const workloads::trace::Value& v,
                               std::string_view what);
/// A step time over another: "1.15", at least 1.
std::optional<double> slowdown_of(workloads::trace::Problems& problems, const workloads::trace::Value& v);
/// Failures of one part in a year: "61.1 per 1000 GPU-years", "0.68 %/year", "MTBF 1e6 h". `of` is the part that it is
/// of: a rate per another part is an error.
std::optional<double> rate_of(workloads::trace::Problems& problems, const workloads::trace::Value& v,
                              std::string_view of);

/// "10 min", "27.6 h", "30 days": as people read it.
std::string span_text(sim::Time t);

}  // namespace linkcast::planning
