// One collective on one communicator: NCCL's choices, the schedule, the replay, the answer in nccl-tests' columns.
// What `linkcast collective`, `linkcast validate` and the Python package call.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/sim/account.hpp"
#include "linkcast/sim/replay.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/packets.hpp"

namespace linkcast::workloads {

enum class Fidelity : unsigned char { flow, chunk, packet };
std::string_view name_of(Fidelity f);

struct AlgorithmPlan;  // algorithm_plan.hpp

/// Of the communicator: the same for all its calls.
struct CommunicatorOptions {
  models::nccl::Version nccl;
  models::nccl::Environment env;
  models::LaunchMode launch = models::LaunchMode::multi_process;
  std::optional<sim::Time> launch_floor;  // the host's smallest time for any call, when it is known
  Fidelity fidelity = Fidelity::flow;
  bool fold = true;
  /// Fidelity packet: its settings (nothing: the usual ones of the network), or all of the network, where several
  /// models share it.
  std::optional<models::PacketSettings> packet = {};
  std::shared_ptr<const Packets> packets = nullptr;
  /// NCCL's choices, where they are known from a model of the same machines with other fitted numbers: they depend on
  /// what is connected to what, not on those. Nothing: they are worked out.
  std::shared_ptr<const models::nccl::Communicator> chosen = nullptr;
  /// A tuner plugin's rules, which come before NCCL's model. With `chosen`: those that it was made with.
  std::shared_ptr<const models::nccl::Tuner> tuner = nullptr;
  /// Algorithms from files: the first that fits a call's collective and size takes NCCL's place.
  std::vector<std::shared_ptr<const AlgorithmPlan>> algorithms = {};
};

struct CollectiveRow {
  sim::Bytes size;  // nccl-tests' "size"
  sim::Time time;
  double algbw_GBps = 0;  // size / time
  double busbw_GBps = 0;  // nccl-tests' definition
  std::string algorithm;  // "Ring", "NVLS", "P2P", …
  std::string protocol;   // "LL", "LL128", "Simple"
  int channels = 0;
  std::string bound_by;         // the largest cause in the account: "launch", "wire nvlink", "sm", …
  std::string bound_link;       // where that is links: one of the most loaded, "cable leaf[0]->spine[0]"; else empty
  sim::Account account;         // adds up to `time`
  std::vector<double> carried;  // bytes per resource of the cluster; at `flow` over several machines: empty
};

/// NCCL's choices for a communicator over all the ranks of a cluster.
models::nccl::Communicator communicator_of(const topologies::Cluster& cluster, const models::nccl::Version& version,
                                           const models::nccl::Environment& env,
                                           std::shared_ptr<const models::nccl::Tuner> tuner = nullptr);

/// A communicator over all the ranks of a cluster (Cluster::job, Fabric::slice for fewer). Reusable for many sizes; not
/// shared between threads.
class CollectiveModel {
 public:
  /// Throws sim::InputError: a GPU that cannot be reached, a contradictory environment.
  CollectiveModel(topologies::Cluster cluster, CommunicatorOptions options);
  ~CollectiveModel();
  CollectiveModel(CollectiveModel&&) noexcept;

  /// Throws sim::InputError for a size <= 0 or an impossible call.
  CollectiveRow run(const models::nccl::Call& call) const;
  /// The same as a task for a larger graph (`linkcast run`); resources are those of cluster().resources().
  sim::Task task(const models::nccl::Call& call) const;

  const topologies::Cluster& cluster() const;
  const topologies::Fabric& fabric() const;  // of node 0
  const models::nccl::Communicator& communicator() const;
  std::shared_ptr<const models::nccl::Communicator> chosen() const;  // to give to another model
  const CommunicatorOptions& options() const;
  /// At fidelity packet the network, for a replay of tasks; else null.
  std::shared_ptr<const Packets> packets() const;
  /// No call takes less than this: as given in the options, or of this host and launch mode.
  sim::Time launch_floor(models::nccl::Op op) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// nccl-tests' bus-bandwidth factor for n ranks: all_reduce 2(n-1)/n; all_gather, reduce_scatter, alltoall, gather,
/// scatter (n-1)/n; broadcast, reduce, sendrecv 1.
double busbw_factor(models::nccl::Op op, int ranks);

}  // namespace linkcast::workloads
