// Where a network is not as elsewhere: cables, uplinks, ports (check_cables.cpp), and where NICs are plugged in
// (check_nics.cpp). Knows no machine's inside.
#pragma once

#include <map>
#include <vector>

#include "findings.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

/// What most of the values are; of two as frequent ones the larger.
template <typename T>
T usual_of(const std::map<T, int>& times) {
  auto best = times.begin();
  for (auto at = times.begin(); at != times.end(); ++at) {
    if (at->second >= best->second) best = at;
  }
  return best->first;
}

/// Whether more than half are what is usual.
template <typename T>
bool mostly(const std::map<T, int>& times) {
  int all = 0;
  for (const auto& [value, n] : times) all += n;
  return !times.empty() && 2 * times.at(usual_of(times)) > all;
}

/// Switches and cables that are down or slower than their peers; switches with other numbers of cables than theirs.
void check_cables(const Cluster& cluster, Findings& out);
/// NICs without a cable, on another rail, plane or unit than their peers; units with fewer machines.
void check_nics(const Cluster& cluster, Findings& out);

}  // namespace linkcast::topologies
