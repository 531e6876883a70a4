// What communication takes at least, for step_bound(): by bytes and the fastest way that they could go, or exactly as
// the replay has it. The first asks nothing of NCCL's model.
#pragma once

#include <map>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/call_costs.hpp"
#include "linkcast/workloads/step_bound.hpp"

namespace linkcast::planning {

/// Every byte that a call has to bring to or from a GPU goes over all of the GPU's links at once, and what leaves a
/// machine over all of its NICs, at their bare rates and without latency. Calls as nccl-tests count their bytes S, n
/// ranks on N machines:
///   all_gather, reduce_scatter, alltoall   S (n - 1) / n of each GPU; what a machine lacks or gives S (N - 1) / N
///                                          (alltoall: of each of its GPUs)
///   all_reduce                             S: every rank's addend has to leave it, and machines' likewise
class WireFloors final : public workloads::CallFloors {
 public:
  explicit WireFloors(const topologies::Cluster& cluster);
  std::size_t group(std::span<const int> ranks) override;
  workloads::CallFloor call(std::size_t group, models::nccl::Op op, double bytes) override;

 private:
  struct Group {
    int locals = 0, nodes = 0;
  };
  int per_node_;
  double gpu_ = 0, nics_ = 0;  // bytes per microsecond; 0: not known
  std::vector<Group> groups_;
  std::map<std::pair<int, int>, std::size_t> known_;
};

/// As the replay has it, alone: where other traffic runs beside it takes longer.
class CallFloorsOf final : public workloads::CallFloors {
 public:
  CallFloorsOf(workloads::CallCosts& costs, int sms) : costs_{costs}, sms_{sms} {}
  std::size_t group(std::span<const int> ranks) override;
  workloads::CallFloor call(std::size_t group, models::nccl::Op op, double bytes) override;

 private:
  static constexpr std::size_t alone = static_cast<std::size_t>(-1);
  workloads::CallCosts& costs_;
  int sms_;
};

}  // namespace linkcast::planning
