// Who waits for whose buffer: the circle in which packets can never move again. Knows no time.
#pragma once

#include <vector>

#include "partition.hpp"

namespace linkcast::sim::packet {

/// Links whose head packets wait for room behind each other; empty where there is no circle.
std::vector<LinkId> waiting_cycle(const World& world, const std::vector<const Partition*>& parts);

}  // namespace linkcast::sim::packet
