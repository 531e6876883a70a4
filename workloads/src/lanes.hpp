// How the bytes of one rank reach another: which transport NCCL takes between them, which links that loads and how
// long a hand-over takes. Inside a machine by NVLink, PCIe or host memory; between machines by NICs. Knows nothing of
// algorithms.
#pragma once

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/fluid.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace linkcast::workloads {

// Through host memory a GPU writes what it sends and reads what it receives, both over its own PCIe link. One way alone
// reaches the link's rate (broadcast and reduce on RTX 2080 Ti: 11.1 GB/s of 12.4), both ways at once reach 0.61 of it
// (RTX 4090, eight on their own root ports: 15.3 GB/s of 25; corpus rtx4090x8-para-allgather, rtx2080tix2-*): a byte of
// the one direction costs this much of the other. Hosts that are far slower exist (2 to 4 GB/s) and say why nowhere.
inline constexpr double host_path_coupling = 0.6;

struct Lane {
  topologies::Transport transport = topologies::Transport::nvlink;
  std::vector<sim::Usage> usages;  // per payload byte, before the protocol's own overhead
  sim::Time latency;               // one way, on top of the protocol's hop on NVLink
};

/// The lanes between the ranks of one machine, in its own resource numbers, found when they are first asked for.
class Lanes {
 public:
  Lanes(const topologies::Fabric& fabric, const models::nccl::Version& version, const models::nccl::Environment& env);

  /// Throws sim::InputError where nothing connects the two.
  const Lane& between(int from, int to) const;

 private:
  Lane find(int from, int to) const;

  topologies::Fabric fabric_;
  bool p2p_ = true;  // NCCL_P2P_DISABLE, NCCL_P2P_LEVEL=LOC
  bool pcie_p2p_ = true;
  int level_ = 0;  // highest path class that P2P may take
  int ranks_ = 0;
  mutable std::vector<std::vector<Lane>> cache_;
  mutable std::vector<std::vector<bool>> known_;
};

}  // namespace linkcast::workloads
