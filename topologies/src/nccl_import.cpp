// See nccl_import.hpp.
#include "linkcast/topologies/nccl_import.hpp"

#include "fabric_data.hpp"

namespace linkcast::topologies {

Fabric fabric_from_nccl(const models::nccl::System& system, const std::string& name) {
  throw sim::InputError(name + ": NCCL topologies are not read yet", system.name);
}

}  // namespace linkcast::topologies
