// In what one machine of a cluster differs from another. Knows no network.
#pragma once

#include <string>
#include <vector>

#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

/// The kind that most nodes are.
int usual_kind(const Cluster& cluster);
/// "7 gpu h100-sxm, not 8", "gpu[3]-nvswitch[1] (nvlink nvlink4): down".
std::vector<std::string> differences(const Fabric& usual, const Fabric& other);

}  // namespace linkcast::topologies
