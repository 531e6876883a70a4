// Several runs of the same thing as one, and how far the runs lie apart. Knows no measurement.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "drift_statistics.hpp"

namespace linkcast::calibration {

/// One run: the logarithm of its value by place (a size, a cell).
template <class Place>
using Run = std::map<Place, double>;

/// The median of the runs at each place.
template <class Place>
Run<Place> middle_of(const std::vector<Run<Place>>& runs) {
  std::map<Place, std::vector<double>> values;
  for (const auto& run : runs)
    for (const auto& [place, value] : run) values[place].push_back(value);
  Run<Place> out;
  for (auto& [place, several] : values) out[place] = median(std::move(several));
  return out;
}

/// Where each run lies against the middle, over the places that `counts` names: the variance of a run as a whole.
template <class Place, class Counts>
std::optional<Variance> apart(const std::vector<const std::vector<Run<Place>>*>& sides, Counts counts) {
  double squares = 0, df = 0;
  for (const auto* runs : sides) {
    if (runs->size() < 2) continue;
    const auto middle = middle_of(*runs);
    int counted = 0;
    for (const auto& run : *runs) {
      std::vector<double> off;
      for (const auto& [place, value] : run)
        if (counts(place)) off.push_back(value - middle.at(place));
      if (off.empty()) continue;
      const double whole = median(std::move(off));
      squares += whole * whole;
      ++counted;
    }
    if (counted > 1) df += counted - 1;
  }
  if (df == 0) return std::nullopt;
  return Variance{squares / df, df};
}

}  // namespace linkcast::calibration
