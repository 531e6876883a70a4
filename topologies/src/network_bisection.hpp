// How much a network carries between two sets of machines, and which of its switches are alike. Boost.Graph stays in
// the .cpp file. Knows no machine's inside and no routing policy.
#pragma once

#include <cstdint>
#include <vector>

#include "network_data.hpp"

namespace linkcast::topologies {

/// Classes of switches so that each switch of a class has the same rate of working cables to every other class (the
/// coarsest equitable partition), starting from `labels`. Numbers from 0.
std::vector<std::uint32_t> alike_switches(const Network::Data& d, std::vector<std::uint64_t> labels);

/// Max-flow from the NICs of the machines where side[node] is 1 to those where it is 2, at bare rates, one way.
/// Machines do not pass on what is not theirs.
sim::Rate max_flow_between(const Network& network, const std::vector<std::uint8_t>& side);

}  // namespace linkcast::topologies
