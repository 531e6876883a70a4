// What makes two measurements the same thing: named facets, compared in order; and why one found no partner.
// Knows no measurement.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "linkcast/calibration/drift.hpp"

namespace linkcast::calibration {

/// ("ranks", "8"). The first is the kind of thing: without the same one, nothing is near.
using Facets = std::vector<std::pair<std::string, std::string>>;

/// A measurement of one side: what it is, which file it is from, and where it stands in its list.
struct Labelled {
  Facets facets;
  std::string file;
  std::size_t index = 0;
};

/// The measurements of both sides that are the same thing.
struct Pairing {
  Facets facets;
  std::string file;  // where files of the same names stand on both sides and are compared one by one
  std::vector<std::size_t> baseline, now;
};

struct Pairings {
  std::vector<Pairing> pairs;
  std::vector<std::pair<Facets, std::string>> alone;  // and the reason
};

/// Several of the same thing on one side are runs of it, unless both sides have files of the same names: then each file
/// is a machine of its own.
Pairings pair_up(const std::vector<Labelled>& baseline, const std::vector<Labelled>& now);

/// "run.log" of "run.log#2:in_place".
std::string file_of(const std::string& id);

}  // namespace linkcast::calibration
