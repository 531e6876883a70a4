// A cluster as Slurm's topology.conf, and nodes of it as Slurm lists them. Knows no reader.
#pragma once

#include <span>
#include <string>

#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

/// A tree for Slurm's topology/tree. Slurm lets each host and each switch hang below one switch, real networks do not:
/// leaves that share hosts (the rails of a scalable unit) become one switch of the tree, and so do the switches of a
/// higher tier that serve the same switches below. Where a machine is an NVLink domain of several hosts its name stands
/// for the domain. Throws sim::InputError: no network, or one without tiers (an ideal switch is a tree of one).
std::string to_slurm_topology(const Cluster& cluster);

/// "node[0-15,40]", in the order given: what placed(cluster, host_list) takes.
std::string host_list(const Cluster& cluster, std::span<const int> nodes);

}  // namespace linkcast::topologies
