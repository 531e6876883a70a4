// How far NICs are from each other: pairs on different machines, classed by where their leaves are. Knows no routing
// policy: all shortest ways are alike here.
#pragma once

#include <vector>

#include "linkcast/topologies/describe_cluster.hpp"

namespace linkcast::topologies {

struct Distances {
  std::vector<DistanceRow> rows;  // nearest first
  bool exact = true;              // else counted from one leaf of each kind
};
Distances distances_of(const Cluster& cluster);

}  // namespace linkcast::topologies
