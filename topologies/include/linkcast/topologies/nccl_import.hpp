// A Fabric from NCCL's view of a machine (its topology XML). What that view does not say is taken from the kind of
// machine and listed in the fabric's assumptions (describe.hpp prints them).
#pragma once

#include <string>

#include "linkcast/models/nccl/system.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace linkcast::topologies {

/// Throws sim::InputError where the system is no machine that Linkcast can model.
Fabric fabric_from_nccl(const models::nccl::System& system, const std::string& name);

}  // namespace linkcast::topologies
