// The inside of a Communicator: what was found once, for the files that answer questions about it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "linkcast/models/nccl/communicator.hpp"
#include "nccl/search.hpp"
#include "nccl/seen_system.hpp"
#include "nccl/tuning.hpp"

namespace linkcast::models::nccl {

/// One call on its way to a plan.
struct Cut {
  Op op;
  Algorithm algorithm;
  Protocol protocol;
  std::int64_t bytes = 0;      // of the whole vector
  std::int64_t api_bytes = 0;  // of the count that the caller passed
  int element = 4;
  std::int64_t fan = 1;      // whole vector over the caller's count: n for all-gather and reduce-scatter
  std::int64_t traffic = 1;  // bytes moved per byte of the caller's count
};

/// The blocks of a symmetric kernel and what they handle together.
struct SymmetricBlocks {
  int count = 0;
  sim::Rate rate = sim::Rate::unlimited();
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

/// One kind of node: its links as NCCL sees them, and what the searches found on them. Every rank searches its own
/// node; what they agree on is the Communicator's.
struct Machine {
  Machine(System s, const Config& config);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  System system;    // as given
  SeenSystem seen;  // as NCCL's network layer shows it
  std::optional<Topo> topo;
  std::vector<int> local_rank;  // per GPU slot
  std::vector<int> slot;        // per local rank
  Found ring, tree, nvls, collnet_chain, collnet_direct;
  std::vector<std::vector<int>> rings, chains;  // per search channel: local ranks in order
  std::vector<std::vector<int>> collnet_chains;
  std::vector<int> heads;          // of NVLS: local ranks, each once
  std::vector<int> collnet_heads;  // of CollNetDirect

  int gpus() const { return topo->gpus(); }
  void list_ranks();
};

struct Communicator::Impl {
  Impl(std::vector<System> kinds, std::vector<std::uint16_t> kind_of_node, Config c);

  Config config;
  std::vector<std::unique_ptr<Machine>> machines;
  std::vector<std::uint16_t> machine_of_node;  // empty: all nodes are machine 0
  std::vector<int> kinds;                      // per kind that the caller gave: its machine, -1 where no node has it
  const Topo* topo = nullptr;                  // of the first machine: all there is in one node
  int locals = 0;                              // ranks of one node
  int ranks = 0;

  // What all ranks agree on: the least of counts and bandwidths, the worst of path types.
  int cc_min = 0, cc_max = 0;
  bool x86 = false, amd = false, intel = false, power = false, mixed_vendor = false;
  Found ring, tree, nvls, collnet_chain, collnet_direct;
  std::map<std::string, Graph> graphs;
  std::vector<std::string> notes;
  bool unpack = false;  // the network device leaves unpacking to the GPU
  std::string tuner;    // whose choice comes before NCCL's
  ChannelCounts counts;
  bool nvls_usable = false;  // multicast, enough GPUs, not switched off
  bool collnet = false;
  int direct_heads = 1;          // of CollNetDirect
  int collnet_heads = 0;         // local ranks with a way to the reducing switches
  bool chain_usable = true;      // CollNetChain ends at such a rank on every channel
  std::size_t agreed_heads = 0;  // of NVLS: what every node has
  int nvls_chunk = 128 << 10, nvls_tree_chunk = 128 << 10;
  std::optional<TuneModel> model;

  const Machine& machine(int node) const {
    return *machines[machine_of_node.empty() ? 0U : machine_of_node[static_cast<std::size_t>(node)]];
  }

  // communicator.cpp
  void check(const System& system) const;
  void search(Machine& machine) const;
  void agree();
  void fill_model();
  bool wants_collnet() const;
  Graph publish(const Found& found) const;

  // channels.cpp
  void count_channels();
  void tune_nvls();
  bool since(int minor, int patch = 0) const { return config.version >= Version{2, minor, patch}; }
  int max_channels() const { return since(25) ? 64 : 32; }
  long long env(std::string_view name, long long otherwise) const {
    return config.env.integer(name).value_or(otherwise);
  }
  float min_net_bw() const;
  /// Bytes of a connection's FIFO of the simple protocol. On Arm it was smaller up to 2.18.
  long long simple_buffer() const { return env("NCCL_BUFFSIZE", !x86 && !power && !since(19) ? 1 << 20 : 4 << 20); }

  // structure.cpp
  const std::vector<int>& ring_in_node(int channel, int node) const;
  const std::vector<int>& tree_in_node(int channel, int node) const;
  int tree_child_rank(int channel, int node, int child) const;
  int tree_index(int channel) const { return channel / tree.channels % 2; }
  std::vector<int> whole_ring(int channel) const;
  std::vector<int> tree_parents(int channel) const;

  // network_edges.cpp
  /// What the user's variables say about send/recv, read once: it is asked for every pair of ranks.
  struct {
    int pxn_level = 2;
    bool same_nic = false;
    PathType relay_limit = PathType::pxb;
    int group = 1;
  } rails;
  struct Side {
    int local = 0, net = -1, proxy = -1;
  };
  NetEdge edge(int from_node, const Side& from, int to_node, const Side& to) const;
  Side graph_side(const Machine& machine, const Found& found, int agreed, int channel, int local) const;
  Side nvls_side(const Machine& machine, int channel, int head) const;
  NetEdge ring_net(int channel, int node) const;
  NetEdge tree_net(int channel, int node, bool up) const;
  NetEdge nvls_tree_net(int channel, int head, int node, bool up) const;
  NetEdge p2p_net(int from, int to, int channel) const;
  NetEdge collnet_net(int head, int node) const;
  const std::vector<int>& heads_to_switches(const Machine& m) const {
    return nvls_usable && since(28) ? m.heads : m.collnet_heads;
  }

  // p2p_channels.cpp
  void count_p2p();
  int p2p_channels_between(const Topo& on, int gpu, int peer) const;
  int p2p_channels_to_network(const Topo& on, int gpu) const;
  P2pPlan p2p_plan(sim::Bytes message, bool network) const;
  std::int64_t p2p_chunk() const;

  // p2p_rounds.cpp
  int p2p_group() const;  // asked once: rails.group
  P2pRound p2p_round(int round) const;
  int p2p_channel(int round, int part) const;
  mutable std::once_flag deltas_once;
  mutable std::vector<int> group_deltas, local_deltas;  // of the rounds, in their order

  // choice.cpp
  std::vector<Choice> candidates(const Call& call) const;
  std::optional<Choice> symmetric(const Call& call, SymmetricBlocks* blocks) const;  // symmetric.cpp
  std::optional<Choice> copy_engine(const Call& call) const;                         // symmetric.cpp

  // plan.cpp
  Plan plan(const Call& call) const;
  int direct_channels(std::int64_t bytes, int threads, long long threshold) const;
  /// The largest chunk for the bytes of one channel (2.22 and later) or of all channels together (before).
  std::int64_t chunk_of(const Cut& cut, int channels, std::int64_t bytes, int heads) const;
};

}  // namespace linkcast::models::nccl
