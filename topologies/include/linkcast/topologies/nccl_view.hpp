// A Fabric as NCCL's topology detection would see it: the graph that its channel search runs on. NVSwitches become
// one node, NVLinks carry NCCL's bandwidth constants, what no rank uses is trimmed. Knows no search.
#pragma once

#include "linkcast/models/nccl/system.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace linkcast::topologies {

/// The ranks are fabric.gpus() in that order; links that are down are not seen. As in a System that was read from XML,
/// links between CPUs are left to the Communicator, which knows them by version.
models::nccl::System nccl_system(const Fabric& fabric, const models::nccl::Version& version = {});

}  // namespace linkcast::topologies
