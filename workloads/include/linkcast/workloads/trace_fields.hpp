// Reads the keys of one map and says what is wrong with each: missing, unknown, no unit, out of range. The keys that
// were asked for are the keys that exist. Knows no schema.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::workloads::trace {

class Fields {
 public:
  /// `what` is how messages call the map. A value that is no map is reported at once.
  Fields(Problems& problems, const Value& map, std::string what);

  /// Marks the key as known. Null when it is absent.
  const Value* find(std::string_view key);
  const Value* need(std::string_view key);
  std::optional<std::string> word(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::optional<sim::Time> time(std::string_view key, bool zero_allowed = false);
  std::vector<std::string> words(std::string_view key);

  /// Reports the keys that nobody asked for.
  void done();

  bool sound() const { return map_.is_map(); }
  const Value& value() const { return map_; }
  Problems& problems() { return problems_; }

 private:
  Problems& problems_;
  const Value& map_;
  std::string what_;
  std::vector<std::string> known_;
};

std::optional<std::int64_t> integer_of(Problems& problems, const Value& v, std::string_view what, std::int64_t low,
                                       std::int64_t high);
/// "120 us", "1.5 ms". A bare number is an error.
std::optional<sim::Time> time_of(Problems& problems, const Value& v, std::string_view what, bool zero_allowed = false);
/// "64 MiB" (2^20), "25 MB" (10^6), "64M" (2^20, as nccl-tests writes it). A bare number is an error.
std::optional<sim::Bytes> size_of(Problems& problems, const Value& v, std::string_view what, bool zero_allowed = false);
/// "400 Gb/s", "5 Mb/s", "50 GB/s". A bare number is an error.
std::optional<sim::Rate> data_rate_of(Problems& problems, const Value& v, std::string_view what,
                                      bool zero_allowed = false);
/// "0.05", "5 %": a bare number or a percentage, from `low` to `high`.
std::optional<double> number_of(Problems& problems, const Value& v, std::string_view what, double low, double high);
/// `3`, `0-7`, `[0, 2, 4-7]`. Numbers below `count` (any where it is negative), none twice.
std::vector<int> ranks_of(Problems& problems, const Value& v, std::string_view what, int count);
/// "0 to 3, 6": ranks as messages write them.
std::string list_ranks(std::span<const int> ranks);
/// "did you mean 'x'?", or what there is where that is short, or nothing.
std::string suggest(std::string_view name, std::span<const std::string> known);

/// `setting`: "workload.programs.0.do.0.compute=5ms", over what stands there or beside it.
void override_one(Value& root, const std::string& setting, Problems& problems);

/// Says at `place` what a room below says without a place; what has one already is thrown on.
void relocate(Problems& problems, const Place& place, const sim::InputError& error);

}  // namespace linkcast::workloads::trace
