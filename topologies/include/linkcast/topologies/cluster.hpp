// Machines and the network that joins them. A machine is a Fabric (a host, or an NVLink domain of several hosts); alike
// machines share one, so that a cluster costs an index for each node and its cables. Knows no collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/fluid.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "linkcast/topologies/network.hpp"

namespace linkcast::topologies {

class Cluster {
 public:
  Cluster(Fabric machine);  // NOLINT: one machine is a cluster
  struct Data;              // src/cluster_data.hpp
  explicit Cluster(std::shared_ptr<const Data> data);

  const std::string& name() const;
  int nodes() const;
  /// Ranks are the GPUs of node 0 in its rank order, then those of node 1, …; every node has as many.
  int ranks() const;
  int gpus_per_node() const;
  /// The distinct machines; most clusters have one.
  int kinds() const;
  const Fabric& kind(int k) const;
  int kind_of(int node) const;
  const Fabric& machine(int node) const { return kind(kind_of(node)); }
  const Network& network() const;
  /// What was taken for granted ("no network described: an ideal switch"), for people.
  std::span<const std::string> assumptions() const;

  /// A job on some of the machines: node i of the result is nodes[i]. On each of them the ranks `gpus` (machine-local,
  /// in this order; empty: all). The network stays whole. Throws sim::InputError for a wrong or repeated number.
  Cluster job(std::span<const int> nodes, std::span<const int> gpus = {}) const;
  /// The number that node i of a job had in the whole cluster.
  int original_node(int node) const;
  /// The host name of a node, where the file gives names; else "node[i]".
  std::string node_name(int node) const;

  /// Resources of a replay: those of every node's links (Fabric::resource, shifted), then two per cable. Only used
  /// machines count: a job on 64 nodes of a large cluster has 64 nodes' links. Names are empty: see resource_name.
  sim::ResourceTable resources() const;
  sim::ResourceId resource(int node, sim::ResourceId in_machine) const;
  sim::ResourceId cable(CableId cable, bool forward) const;
  std::string resource_name(
      sim::ResourceId id) const;  // "node[3] nvlink gpu[0]->nvswitch[1]", "cable leaf[0]->spine[2]"
  models::LinkKind resource_kind(sim::ResourceId id) const;
  std::size_t resource_count() const;

  std::size_t estimated_memory_bytes() const;
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// As load(), for whole clusters. `nodes` = 0: as many as the file says (1 where it says nothing). A file without a
/// network gets an ideal one when there are several nodes: every NIC port on one switch that blocks nothing.
struct ClusterOptions {
  int nodes = 0;
  std::map<std::string, std::string> params;
  std::optional<std::string> fabric;  // "ib", "roce", …: instead of the file's kind of network
  std::optional<models::Routing> routing;
  std::shared_ptr<const Profile> profile = nullptr;  // fitted numbers, over those of the parts
};
Cluster load_cluster(std::string_view name_or_path, const ClusterOptions& options = {});
/// The same of YAML text. `name`: what messages call it; files that it extends are looked up beside that.
Cluster load_cluster_text(std::string_view yaml, std::string_view name, const ClusterOptions& options = {});

/// `nodes` such machines on an ideal network of that kind ("ib", "roce", …): every NIC port on one switch that blocks
/// nothing. Throws sim::InputError for an unknown kind, or machines without a NIC.
Cluster ideal_cluster(const Fabric& machine, int nodes, std::string_view fabric, const Profile* profile = nullptr);

/// Cables that carry less than their rate, of which nothing that detects topologies knows: `share` of their payload.
struct SlowCable {
  double share = 1;
  int node = -1, nic = -1;  // of which NIC; -1: of every one
};
/// The same cluster with those cables. NCCL's view of it is unchanged. Throws sim::InputError for a NIC that it lacks.
Cluster with_slow_cables(const Cluster& cluster, std::span<const SlowCable> cables);

/// How a job lies on a cluster.
enum class Placement : unsigned char {
  packed,      // the first nodes, in order
  strided,     // every k-th node, k as large as fits: as few as possible below each leaf
  fragmented,  // random nodes (seeded), in order of their numbers
};
std::string_view name_of(Placement p);
/// `count` nodes of the cluster.
std::vector<int> placed(const Cluster& cluster, int count, Placement placement, std::uint64_t seed = 1);
/// A Slurm-style list ("node[0-31,40]", "h[001-004],h9"): nodes by name or number, in the order given. Throws
/// sim::InputError.
std::vector<int> placed(const Cluster& cluster, std::string_view host_list);

}  // namespace linkcast::topologies
