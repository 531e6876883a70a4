// The machines and the network that a measured series ran on, from what its source says.
#pragma once

#include <string>
#include <vector>

#include "linkcast/calibration/validate.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::calibration {

/// Adds what it takes for granted to `sentences`. Throws sim::InputError where no such machines can be had.
topologies::Cluster cluster_of(const Series& series, const topologies::Fabric& machine,
                               std::vector<std::string>& sentences, const topologies::Profile* profile = nullptr);

}  // namespace linkcast::calibration
