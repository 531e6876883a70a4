// What one job on its nodes sends between them, and how long it takes when that is stretched. A collective has one
// phase; of a step or a trace each kind of call between nodes is one, with all the communicators that make it side by
// side. Knows no other job.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contention.hpp"
#include "linkcast/planning/jobs.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::planning {

/// NCCL's choices by job and shape of the communicator: they do not depend on where a job lies.
using ChoiceCache =
    std::map<std::pair<std::size_t, std::vector<int>>, std::shared_ptr<const models::nccl::Communicator>>;

class JobTraffic {
 public:
  /// `whole`: the cluster and its resources, in whose numbers the flows are. `number`: of the job, for the cache.
  JobTraffic(const topologies::Cluster& whole, const sim::ResourceTable& resources,
             const workloads::CommunicatorOptions& library, const Job& job, std::vector<int> nodes, std::size_t number,
             ChoiceCache& choices, std::stop_token stop);
  ~JobTraffic();
  JobTraffic(JobTraffic&&) noexcept;

  const Phases& phases() const;
  sim::Time alone() const;
  /// `stretch`: of the bytes of each phase. Stretches of 1 give alone().
  sim::Time time(const std::vector<double>& stretch) const;
  const std::vector<int>& nodes() const;
  const std::vector<std::string>& notes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::planning
