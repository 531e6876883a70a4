// A cluster or a machine as a picture: machines at the bottom, one of them in detail, switches above by tier. Knows no
// command line.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

struct SvgOptions {
  int machines = 4;      // drawn one by one, besides broken ones; the others are one box with their number
  int switches = 8;      // the same of each tier (twice as many leaves)
  bool findings = true;  // what check() says, below the drawing
  /// How much of a link's rate was used, 0 to 1, by Cluster::resource_name: links are then drawn by it, darker and
  /// wider the busier, with the figure of the busiest of each bundle and a legend. Empty: by kind and rail.
  std::map<std::string, double, std::less<>> utilisation;
};

/// Self-contained: no scripts, no other files, a font of the system. What is down or slowed is red and dashed and drawn
/// by itself wherever it is.
std::string to_svg(const Cluster& cluster, const SvgOptions& options = {});

}  // namespace linkcast::topologies
