// What the links did: bytes and utilisation by resource, summed over the replay. Knows no topology: names are those
// of the resource table.
#pragma once

#include <string>
#include <vector>

#include "linkcast/sim/replay.hpp"

namespace linkcast::sim {

struct LinkUse {
  ResourceId resource;
  std::string name;
  double bytes;        // payload, protocol overhead included where a usage's weight has it
  double utilisation;  // of the capacity, over the whole replay; 0 where it took no time
};

/// Resources that carried something, the busiest first; ties in the table's order.
std::vector<LinkUse> link_use(const ResourceTable& resources, const ReplayResult& result);

}  // namespace linkcast::sim
