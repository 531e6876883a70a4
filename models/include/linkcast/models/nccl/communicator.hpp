// What NCCL decides for a communicator before the first byte moves: graphs, channels, algorithm, protocol,
// and how a call is cut into channels and chunks. Follows NCCL's own rules by version; its cost model only
// selects here, it never says how long anything takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/models/nccl/system.hpp"
#include "linkcast/models/nccl/types.hpp"

namespace linkcast::models::nccl {

/// One of NCCL's search results (ncclTopoGraph).
struct Graph {
  int pattern = 0;  // 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 collnet direct
  int cross_nic = 0;
  int channels = 0;                   // nChannels
  double bw_intra = 0, bw_inter = 0;  // GB/s per channel
  PathType type_intra = PathType::loc, type_inter = PathType::loc;
  int same_channels = 0;
  std::vector<std::vector<int>> intra;     // per channel: local ranks in order (ring, chain; NVLS: the head)
  std::vector<std::pair<int, int>> inter;  // per channel: receiving and sending NET, -1 in one node
};

struct Tuner;  // tuner.hpp

struct Config {
  Version version;
  Environment env;
  int nodes = 1;          // copies of the system, joined by the network
  bool multicast = true;  // NVLS possible (Fabric::nvls)
  /// Kind of network and machine, for what plugins bring along (network_defaults.hpp); "" changes nothing.
  std::string network, platform;
  std::shared_ptr<const Tuner> tuner = nullptr;  // a tuner plugin's rules: come before NCCL's model
  bool exhaustive = false;  // walk every attempt of the search to its end, as NCCL does: same result, slower
};

struct ChannelCounts {
  int search = 0;  // of the ring graph
  int comm = 0;    // ring and tree channels: CUDA blocks
  int nvls = 0;    // NVLS channels
  int p2p_per_peer_raw = 0, p2p_per_peer = 0, p2p = 0;
};

struct Tune {
  double latency_us = 0;
  double bandwidth_GBps = 0;
};  // 0 bandwidth: not available

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double model_time_us = 0;  // NCCL's own estimate: it ranks, it does not predict
  std::string reason;        // one sentence for people: "Ring/LL: 15.0 us in NCCL's model, next NVLS/Simple 29.1 us"
  std::string kernel;        // of symmetric memory: "AllReduce_RSxLDMC_AGxSTMC"
  int channels = -1;         // as a tuner or a selection says; -1: as many as NCCL takes
};

/// What somebody decides in NCCL's place for one call.
struct Selection {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = -1;  // -1: as many as NCCL takes
};

/// Attributes of one call that change NCCL's choices.
struct Call {
  Op op = Op::all_reduce;
  sim::Bytes bytes;             // nccl-tests' "size": AG/RS/alltoall/gather/scatter count the whole buffer
  std::string dtype = "float";  // nccl-tests' words: float, half, bfloat16, double, int8, …
  bool in_place = false;
  int root = 0;
  bool registered = false;                            // ncclCommRegister (-R 1)
  bool symmetric_windows = false;                     // -R 2
  std::optional<Selection> selection = std::nullopt;  // before a tuner's rules; not possible here: InputError
};

/// How a ring, tree or NVLS call is cut (NCCL enqueue.cc). Sizes are bytes of the channel's share of Call::bytes.
struct Plan {
  Choice choice;
  int channels = 0;                               // channels used
  int threads = 0;                                // per block
  std::vector<sim::Bytes> channel_bytes;          // one per channel used; they add up to what is to be moved
  sim::Bytes chunk;                               // largest chunk of one step
  int slices = 1;                                 // slices in a full chunk
  int slots = 8;                                  // slices (units) in flight per connection
  sim::Bytes slice_min;                           // chunks below two of these are not split
  bool looped_interleaved = false;                // <= 2.21: channels interleave by loop instead of owning one range
  sim::Rate block_rate = sim::Rate::unlimited();  // symmetric kernels: bytes of the call that all blocks handle
};

/// Send/recv: how many channels serve one message and how it is cut.
struct P2pPlan {
  int channels_per_peer = 1;  // parts of one message
  sim::Bytes chunk;
  Protocol protocol = Protocol::simple;
  int concurrent = 8;  // sends plus receives in one block at a time
};

/// Where an edge between two nodes leaves one and enters the other. Network ports are counted 0, 1, … in the order of
/// the NET nodes of that node's System (of fused ports, the first); ranks are those of the communicator.
struct NetEdge {
  int from = -1, to = -1;  // ranks
  int send_net = -1, recv_net = -1;
  int send_proxy = -1;  // PXN: local rank through whose NIC path the data goes over NVLink; -1: straight
  bool send_gdr = false, recv_gdr = false;  // GPUDirect RDMA by NCCL's rule; else staged through host memory
  PathType send_path = PathType::dis, recv_path = PathType::dis;  // between the GPU and the NIC of its side
};

/// A node's place in one of the two binary trees over the nodes.
struct TreePlace {
  int parent = -1;          // node; -1: the root
  bool second = false;      // it is its parent's second child
  int child[2] = {-1, -1};  // nodes
};

/// One round of NCCL's send/recv schedule: rank r sends to send_to(r) and receives from receive_from(r).
struct P2pRound {
  int group = 1, groups = 1;  // ranks per group, number of groups
  int group_delta = 0, local_delta = 0;
  int send_to(int rank) const {
    return (rank / group + group_delta) % groups * group + (rank % group + local_delta) % group;
  }
  int receive_from(int rank) const {
    return (rank / group - group_delta + groups) % groups * group + (rank % group - local_delta + group) % group;
  }
};

class Communicator {
 public:
  /// Runs the topology search. Throws sim::InputError for contradictory environment.
  Communicator(System system, Config config);
  /// Unlike machines in one communicator: node i is kinds[kind_of_node[i]] (Config::nodes is their number). Each node
  /// keeps the lines of its own search; counts and bandwidths are the least of all, path types the worst. Every kind
  /// needs the same number of GPUs.
  Communicator(std::vector<System> kinds, std::vector<std::uint16_t> kind_of_node, Config config);
  ~Communicator();
  Communicator(Communicator&&) noexcept;

  int ranks() const;
  int nodes() const;
  const System& system() const;  // of node 0's kind, or the first kind that has nodes
  const System& system_of(int node) const;
  const Config& config() const;
  /// The ports of node's System that port `net` of a NetEdge stands for: itself, and those that NCCL fused with it.
  std::span<const int> fused_nets(int node, int net) const;
  /// Sentences for people about what NCCL would do that numbers do not show.
  const std::vector<std::string>& notes() const;
  /// "RING", "TREE", "NVLS", "COLLNET_CHAIN", "COLLNET_DIRECT": those that were found.
  const std::map<std::string, Graph>& graphs() const;
  ChannelCounts channels() const;
  /// Keys "Ring/LL", … in NCCL's order; only those with a bandwidth.
  std::map<std::string, Tune> tune(Op op) const;
  /// Which (algorithm, protocol) NCCL takes. Throws sim::InputError where the environment leaves none.
  Choice choose(const Call& call) const;
  /// Every candidate with its model time, best first (the "why" of `linkcast nccl`).
  std::vector<Choice> candidates(const Call& call) const;
  Plan plan(const Call& call) const;
  P2pPlan p2p_plan(const Call& call, sim::Bytes message) const;  // between nodes where there are several
  P2pPlan p2p_plan(sim::Bytes message, bool network) const;      // over the network, or inside a node
  /// Ring order of a channel: ranks, starting anywhere. channel < channels().comm.
  std::vector<int> ring(int channel) const;
  /// Tree of a channel: parent per rank (-1: the root).
  std::vector<int> tree_parents(int channel) const;
  std::vector<int> nvls_heads() const;
  /// The rounds of NCCL's send/recv schedule: for each round and rank {send to, receive from}. O(ranks^2): small
  /// communicators only; p2p_round gives one round at any scale.
  std::vector<std::vector<std::pair<int, int>>> p2p_schedule() const;

  // ---- Structure, cheap at any scale: nothing below makes a list over ranks unless it says so ------------------

  /// Local ranks of a node in the order of a channel's ring. The ring enters at the first, leaves at the last and goes
  /// on to the next node. Depends on a node only by its parity and kind.
  std::span<const int> ring_in_node(int channel, int node) const;
  /// Local ranks of a node from the head of a tree's chain down.
  std::span<const int> tree_in_node(int channel, int node) const;
  /// Local rank of a node to which the head of its first (0) or second (1) child node attaches.
  int tree_child_rank(int channel, int node, int child) const;
  /// Which of the two trees over the nodes a channel uses: of Tree the first half of the search's channels tree 0, of
  /// NVLSTree the even ones.
  int tree_index(int channel) const;
  int nvls_tree_index(int channel) const { return channel & 1; }
  /// O(log nodes).
  TreePlace tree_place(int tree, int node) const;
  /// Parent node of every node in tree 0 or 1 (-1: the root). O(nodes).
  std::vector<int> node_tree_parents(int tree) const;
  /// Local ranks of a node's NVLS heads; head h owns slice h of every channel and talks to head h of other nodes.
  std::span<const int> nvls_heads_in_node(int node) const;

  /// From `node` to the next node in the ring of a channel.
  NetEdge ring_net(int channel, int node) const;
  /// Local ranks of a node that send to switches which reduce (CollNet, SHARP): of NVLS and CollNetDirect head h owns
  /// slice h; a CollNetChain ends at the first rank of its line (collnet_chain_in_node). Empty without CollNet.
  std::span<const int> collnet_heads_in_node(int node) const;
  std::span<const int> collnet_chain_in_node(int channel, int node) const;
  /// The way of one head to the network and back: `to` is -1, both ports are the head's.
  NetEdge collnet_net(int head, int node) const;
  /// Between a node and its parent: up carries what is reduced, down the result. The root has none (InternalError).
  NetEdge tree_up_net(int channel, int node) const;
  NetEdge tree_down_net(int channel, int node) const;
  NetEdge nvls_tree_up_net(int channel, int head, int node) const;
  NetEdge nvls_tree_down_net(int channel, int head, int node) const;
  /// Of one message between ranks of different nodes, on one channel of send/recv.
  NetEdge p2p_net(int from, int to, int channel) const;

  int p2p_rounds() const;  // = ranks; round 0 is the rank itself
  P2pRound p2p_round(int round) const;
  /// The channel that carries one part of a message of a round.
  int p2p_channel(int round, int part) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::models::nccl
