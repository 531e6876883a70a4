// Cuts a fabric into partitions that exchange little and late. Knows no packet.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "linkcast/sim/packet/fabric.hpp"

namespace linkcast::sim::packet {

struct Cut {
  int parts = 1;
  std::vector<std::uint8_t> part_of;  // by node
  Time lookahead = Time::max();       // the shortest delay of a link between two parts, either way
};

/// Endpoints stay with the switch that they hang on; those switches are dealt out in order, the others in turn.
/// `together`: pairs of endpoints that share what one part must have (a station). One part where links between parts
/// would have no delay.
Cut cut_into(const Fabric& fabric, int parts, std::span<const std::pair<std::uint32_t, std::uint32_t>> together);

}  // namespace linkcast::sim::packet
