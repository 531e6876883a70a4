// How long cables are, for whoever buys them: replays need only their latency. Knows no price.
#pragma once

#include "linkcast/topologies/network.hpp"

namespace linkcast::topologies {

/// Metres of one cable as the topology file says them; 0 where it says nothing, as the latency then rests on a default.
double length_of(const Network& network, const Cable& cable);

}  // namespace linkcast::topologies
