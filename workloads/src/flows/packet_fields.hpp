// Reads the values of the `packet` section over what stands there already: a key that is absent, or wrong, changes
// nothing. Knows no key.
#pragma once

#include <string_view>
#include <vector>

#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {

/// "100 Gb/s", "25 GB/s": small b is bits, capital B bytes, both in powers of ten.
std::optional<sim::Rate> rate_of(trace::Problems& problems, const trace::Value& v, std::string_view what,
                                 bool zero_allowed = false);
/// "0.05", "5 %", "1e-12".
std::optional<double> number_of(trace::Problems& problems, const trace::Value& v, std::string_view what, double low,
                                double high);

class PacketFields {
 public:
  PacketFields(trace::Problems& problems, const trace::Value& map, std::string what)
      : fields_{problems, map, std::move(what)} {}

  void time(std::string_view key, sim::Time& into, bool zero_allowed = false);
  void size(std::string_view key, sim::Bytes& into, bool zero_allowed = false);
  void size(std::string_view key, std::optional<sim::Bytes>& into);
  void rate(std::string_view key, sim::Rate& into, bool zero_allowed = false);
  void rate(std::string_view key, std::optional<sim::Rate>& into);
  void integer(std::string_view key, int& into, std::int64_t low, std::int64_t high);
  void number(std::string_view key, double& into, double low, double high);
  void boolean(std::string_view key, bool& into);
  /// Index of the word among `known`.
  std::optional<std::size_t> choice(std::string_view key, const std::vector<std::string>& known);
  trace::Fields& fields() { return fields_; }

 private:
  trace::Fields fields_;
};

}  // namespace linkcast::workloads
