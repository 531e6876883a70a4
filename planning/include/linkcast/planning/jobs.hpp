// Several jobs on one cluster: what a scenario's `jobs` say, and on which nodes each of them lies. Runs nothing and
// knows no traffic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/planning/goals.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/recorded_scenario.hpp"
#include "linkcast/workloads/scenario_file.hpp"

namespace linkcast::planning {

struct Job {
  std::string name;
  int count = 0;  // nodes
  topologies::Placement placement = topologies::Placement::packed;
  std::uint64_t seed = 1;
  bool by_hosts = false;   // the file names its nodes
  std::vector<int> nodes;  // of JobSet::cluster, in the order of its ranks
  /// What it runs: one of the two.
  std::optional<models::nccl::Call> call;
  std::optional<workloads::RecordedScenario> recorded;  // its `cluster` is the job's nodes
  std::string workload;  // "alltoall 64 MiB", "a training step of llama3.1-8b on 32 GPUs"
};

struct JobSet {
  std::string title;
  topologies::Cluster cluster;  // all of it
  workloads::CommunicatorOptions library;
  std::vector<Job> jobs;    // as in the file
  std::vector<Goal> goals;  // of the scenario
};

/// Whether a file is a scenario with `jobs`. False where it cannot be read: whoever reads it next says why.
bool has_jobs(const std::string& path, const std::vector<std::string>& set);
bool has_jobs(const workloads::ScenarioFile& scenario);

/// The machine of the scenario is the whole cluster; each of `jobs` has a name, `nodes` with a `placement`, or `hosts`,
/// and a `workload` (else the scenario's). Throws sim::InputError with everything that is wrong: unknown keys, a node
/// that two jobs want, more nodes than there are, a workload that does not fit its nodes.
JobSet read_jobs(const workloads::ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile = nullptr,
                 const workloads::ClusterSource& clusters = workloads::load_machine);

/// How many nodes a job wants, and how they are chosen among those that are free.
struct Wanted {
  int count = 0;
  topologies::Placement placement = topologies::Placement::packed;
  std::uint64_t seed = 1;
};
/// Jobs one after the other, each by its rule on the nodes that are free then. `taken`: nodes that nobody gets. Throws
/// sim::InputError where too few are left.
std::vector<std::vector<int>> place_jobs(const topologies::Cluster& cluster, std::span<const Wanted> jobs,
                                         std::span<const int> taken = {});

/// Nodes so that as little as possible of a job's traffic leaves a leaf, and then a unit: the largest job first, each
/// in the smallest part of the network that has room for it (best fit), whole leaves before parts of leaves. `counts`:
/// nodes of each job. The result's nodes are sorted by leaf, so that neighbours in rank order are neighbours there.
/// `spread`: a job that comes last and goes where most is free, leaf by leaf: an alltoall has more uplinks then.
std::vector<std::vector<int>> compact_jobs(const topologies::Cluster& cluster, std::span<const int> counts,
                                           std::optional<std::size_t> spread = {});

/// Nodes by the network between them: `part_of[level][node]`, level 0 the finest (a leaf, or the leaves that a
/// rail-optimised unit shares), each next one coarser. Numbers of parts are in the order of their first nodes.
std::vector<std::vector<int>> network_parts(const topologies::Cluster& cluster);

}  // namespace linkcast::planning
