// A Fabric as NCCL's topology XML: what NCCL dumps on such a machine, and what it takes with NCCL_TOPO_FILE. Knows the
// format, but not what NCCL does with it.
#pragma once

#include <string>

#include "linkcast/topologies/fabric.hpp"

namespace linkcast::topologies {

/// read_topology_xml() of it leads NCCL's search to the same graphs as nccl_system(fabric). PCI addresses are the
/// machine's where they are known, else made up. The hosts of an NVLink domain have a host_hash; a single host has
/// none, and no machine has CPU affinities: NCCL fills in those of the host that it runs on.
std::string to_nccl_xml(const Fabric& fabric);

}  // namespace linkcast::topologies
