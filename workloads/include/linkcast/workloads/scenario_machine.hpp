// The part of a scenario that names a machine: which topology, how much of it, what is changed in it. The same keys in
// every scenario (docs/scenario.md). Knows no workload.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads {

struct ScenarioMachine {
  std::string topology;  // catalog name or file
  topologies::ClusterOptions load;
  std::optional<int> gpus;                     // in total; default: as many as the workload needs, or all
  std::optional<std::pair<int, double>> nics;  // how many in each node, Gb/s of each
  std::optional<topologies::Placement> placement;
  std::uint64_t seed = 1;  // of a fragmented placement
  std::string hosts;       // the nodes by name, in order; empty: by placement
  std::string overrides;   // YAML: a list as in a topology file; empty: none
  std::string network;     // YAML: a map as in a topology file, over the file's; empty: as it is

  /// Equal for equal machines.
  std::string key() const;
};

/// Reads topology, params, nodes, gpus, nics, network, routing, placement, seed, hosts, overrides and profile; problems
/// go to those of `f`. `folder`: what file names are relative to. `profile`: instead of the file's.
ScenarioMachine read_machine(trace::Fields& f, const std::string& folder,
                             std::shared_ptr<const topologies::Profile> profile);

/// `world`: ranks that the workload has; 0: as many as the machine. Throws sim::InputError.
topologies::Cluster load_machine(const ScenarioMachine& machine, int world = 0);

/// Where a scenario's clusters come from: load_machine, or a cache over it.
using ClusterSource = std::function<topologies::Cluster(const ScenarioMachine&, int world)>;

/// The cluster with as many nodes as a world of that size needs, where the file or name does not say more.
topologies::Cluster cluster_for(const std::string& topology, topologies::ClusterOptions options, int world);

/// Relative to the folder where there is such a file; as it is otherwise.
std::string beside(const std::string& folder, const std::string& name);

/// A value as YAML in flow style whose parts stand where they stood, so that messages of who reads it name their
/// places: it begins at the value's line and column.
std::string written_in_place(const trace::Value& v);
/// The same on one line.
std::string written(const trace::Value& v);

}  // namespace linkcast::workloads
