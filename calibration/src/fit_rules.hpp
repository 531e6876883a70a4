// Which numbers of a part a fit may change, and how far from its prior each may honestly lie. Knows no measurement.
#pragma once

#include <span>
#include <string_view>

namespace linkcast::calibration {

struct FitRule {
  std::string_view kind;        // "gpus"
  std::string_view key;         // "simple.send"
  double spread;                // standard deviation of the prior, of the natural logarithm
  double low, high;             // what is possible at all, in base units (seconds, bytes per second, bare)
  std::string_view parts = {};  // only of parts whose names begin so; an earlier rule wins
};

std::span<const FitRule> fit_rules();

}  // namespace linkcast::calibration
