// What NCCL decides for a communicator before the first byte moves: graphs, channels, algorithm, protocol,
// and how a call is cut into channels and chunks. Follows NCCL's own rules by version; its cost model only
// selects here, it never says how long anything takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

struct Config {
  Version version;
  Environment env;
  int nodes = 1;            // copies of the system, joined by the network
  bool multicast = true;    // NVLS possible (Fabric::nvls)
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
};

/// Attributes of one call that change NCCL's choices.
struct Call {
  Op op = Op::all_reduce;
  sim::Bytes bytes;             // nccl-tests' "size": AG/RS/alltoall/gather/scatter count the whole buffer
  std::string dtype = "float";  // nccl-tests' words: float, half, bfloat16, double, int8, …
  bool in_place = false;
  int root = 0;
  bool registered = false;         // ncclCommRegister (-R 1)
  bool symmetric_windows = false;  // -R 2
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

class Communicator {
 public:
  /// Runs the topology search. Throws sim::InputError for contradictory environment.
  Communicator(System system, Config config);
  ~Communicator();
  Communicator(Communicator&&) noexcept;

  int ranks() const;
  int nodes() const;
  const System& system() const;
  const Config& config() const;
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
  P2pPlan p2p_plan(const Call& call, sim::Bytes message) const;
  /// Ring order of a channel: ranks, starting anywhere. channel < channels().comm.
  std::vector<int> ring(int channel) const;
  /// Tree of a channel: parent per rank (-1: the root).
  std::vector<int> tree_parents(int channel) const;
  std::vector<int> nvls_heads() const;
  /// The rounds of NCCL's send/recv schedule: for each round and rank {send to, receive from}.
  std::vector<std::vector<std::pair<int, int>>> p2p_schedule() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::models::nccl
