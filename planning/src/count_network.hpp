// Counts what a network is made of: boxes, transceivers, cables. Knows no server.
#pragma once

#include <string>
#include <vector>

#include "linkcast/planning/cost.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "prices_data.hpp"

namespace linkcast::planning {

/// Makes the line of one kind of part, and says where it has no price.
BomLine line_of(BillOfMaterials& bom, BomKind kind, std::string part, std::string tier, std::int64_t count,
                const PartPrice& price);

/// Adds the lines of the cluster's network; each counts with the share of the cluster's ports in all ports.
void count_network(const topologies::Cluster& cluster, const Prices::Data& prices, BillOfMaterials& bom);

}  // namespace linkcast::planning
