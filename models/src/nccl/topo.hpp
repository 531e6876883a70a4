// The system as one version of NCCL works on it: links in NCCL's order, PCI switches flattened, CPUs connected, and
// the precomputed paths between GPUs, NICs, CPUs and the NVSwitch. Read-only once built; the search keeps its own
// copy of what is left of each link. Knows nothing of graphs, algorithms or sizes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "linkcast/models/nccl/communicator.hpp"

namespace linkcast::models::nccl {

constexpr float local_bw = 5000.0F;  // GB/s: a path inside one device (LOC_BW)

/// A path in NCCL's sense: directed links from a node to a base node. `bw` is the narrowest of them.
struct Path {
  std::vector<int> links;
  float bw = 0;
  PathType type = PathType::dis;
  bool through_intel_root = false;  // PHB from a GPU through an x86 Intel CPU: 6/5 of the bytes on PCIe

  int hops() const { return static_cast<int>(links.size()); }
};

struct TopoLink {
  int from, to;  // node indices
  EdgeType type;
  float bw;
  int reverse = -1;  // the link of the same type the other way
};

struct TopoNode {
  NodeType type = NodeType::pci;
  int slot = -1;          // position among the nodes of its type
  int system_index = -1;  // index in System::nodes()
  int host = 0;           // hosts are numbered in order of their CPUs
  const Node* facts = nullptr;
  std::vector<int> links;  // outgoing, in NCCL's order
};

/// What of the environment changes paths.
struct PathOptions {
  int p2p_level = -1;  // -1: NCCL's default
  bool nvb = true;
  bool pxn = true;
  bool pxn_c2c = true;
  bool gdr_c2c = true;
  int gdr_level = -1;
  bool gdr_read_forced = false, gdr_read_off = false;
  enum class NetDevices { automatic, all, at_most } devices = NetDevices::automatic;
  int device_limit = 0;
};

class Topo {
 public:
  Topo(const System& system, const Version& version, const PathOptions& options);

  const Version& version() const { return version_; }
  const std::vector<TopoNode>& nodes() const { return nodes_; }
  const std::vector<TopoLink>& links() const { return links_; }
  const std::vector<int>& of(NodeType t) const { return by_type_[static_cast<std::size_t>(t)]; }
  int count(NodeType t) const { return static_cast<int>(of(t).size()); }
  const TopoNode& node(NodeType t, int slot) const { return nodes_[of(t)[slot]]; }
  int gpus() const { return count(NodeType::gpu); }
  int nets() const { return count(NodeType::net); }
  bool has_switch() const { return count(NodeType::nvs) > 0; }
  int hosts() const { return hosts_; }
  int cc_min() const { return cc_min_; }
  int cc_max() const { return cc_max_; }
  bool x86() const { return x86_; }
  bool amd() const { return amd_; }
  bool intel() const { return intel_; }
  bool power() const { return power_; }

  /// The path from a node to a base (GPU, NET, CPU or NVS).
  const Path& path(NodeType from, int slot, NodeType base, int base_slot) const {
    return paths_[static_cast<std::size_t>(base)][base_slot][of(from)[slot]];
  }
  const Path& gpu_path(int from, int to) const { return path(NodeType::gpu, from, NodeType::gpu, to); }
  const Path& net_path(int gpu, int net) const { return path(NodeType::gpu, gpu, NodeType::net, net); }

  /// NICs, GPUs or CPUs that are nearest to a node: widest path, then best type. `type` receives the type of that path.
  std::vector<int> nearest(NodeType from, int slot, NodeType to, PathType* type = nullptr) const;
  /// The NET that a GPU uses for a channel; -1 where there is none.
  int local_net(int gpu, int channel) const {
    if (ports_of_gpu_.empty()) return find_local_net(gpu, channel);
    const auto& ports = ports_of_gpu_[gpu];
    return ports.empty() ? -1 : ports[static_cast<std::size_t>(channel) % ports.size()];
  }
  /// The GPU of a host with a device number; -1 where there is none.
  int gpu_of_device(int host, int dev) const;
  /// The most NETs that a GPU may use (NCCL_NETDEVS_POLICY=MAX:n); 0: no limit.
  int device_limit() const { return options_.devices == PathOptions::NetDevices::at_most ? options_.device_limit : 0; }
  /// The GPU that is local to a NET; -1 where there is none.
  int local_gpu(int net) const { return local_gpu_[net]; }
  PathType nearest_type(NodeType to) const;   // best over all pairs of GPU and `to`
  PathType farthest_type(NodeType to) const;  // worst
  bool split_nvlink() const;                  // two NVLink islands joined by something slower
  bool all_nvlink() const;                    // every pair over NVLink (directly or through one GPU) or C2C
  bool all_direct_nvlink() const;
  float raw_gpu_bw() const { return raw_gpu_bw_; }  // widest GPU pair before P2P restrictions
  /// GPU and NIC exchange data without host memory.
  bool gpudirect(int gpu, int net, bool read) const;
  int intermediate_gpu(int gpu, int net) const;  // of a PXN path; the GPU itself otherwise
  int local_cpu(int gpu) const;
  bool p2p_allowed(int a, int b) const;

 private:
  void copy(const System& system);
  void flatten_switches();
  void connect_cpus();
  void sort_links();
  void sort_below(int node, int up);
  void find_hosts();
  int add_link(int from, int to, EdgeType type, float bw);
  void set_paths(NodeType base, int slot);
  void via(NodeType hub, int hub_slot, NodeType from, int a, NodeType to, int b);
  Path& mutable_path(NodeType from, int slot, NodeType base, int base_slot) {
    return paths_[static_cast<std::size_t>(base)][base_slot][of(from)[slot]];
  }
  void divert_gpu_pairs();
  void mark_intel_roots();
  void shorten_c2c_nets();
  void reroute_nets();
  int find_local_gpu(int net) const;
  int find_local_net(int gpu, int channel) const;
  void note_local_nets();

  Version version_;
  PathOptions options_;
  std::vector<TopoNode> nodes_;
  std::vector<TopoLink> links_;
  std::array<std::vector<int>, 6> by_type_;
  std::array<std::vector<std::vector<Path>>, 6> paths_;  // [base type][base slot][node]
  std::vector<int> local_gpu_;
  std::vector<std::vector<int>> ports_of_gpu_;  // by channel, as far as they differ; empty while paths still change
  std::vector<std::pair<std::int64_t, int>> devices_;  // (host, device number) and GPU, sorted
  int hosts_ = 1, cc_min_ = 0, cc_max_ = 0;
  bool x86_ = false, amd_ = false, intel_ = false, power_ = false;
  float raw_gpu_bw_ = 0;
};

}  // namespace linkcast::models::nccl
