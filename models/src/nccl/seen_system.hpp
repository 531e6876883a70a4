// The machine as NCCL's network layer shows it to the search: which ports the user's variables leave, whether they
// reach GPU memory, and ports fused into one. Knows no search.
#pragma once

#include <vector>

#include "linkcast/models/nccl/communicator.hpp"

namespace linkcast::models::nccl {

struct SeenSystem {
  System system;
  /// Per NET of `system`: the ports of the given system that it stands for, counted in the order of its NET nodes.
  std::vector<std::vector<int>> ports;
};

/// Throws sim::InputError where NCCL_IB_HCA or NCCL_NET_FORCE_MERGE name no port.
SeenSystem seen_system(const System& given, const Config& config);

}  // namespace linkcast::models::nccl
