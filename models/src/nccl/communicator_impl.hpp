// The inside of a Communicator: what was found once, for the files that answer questions about it.
#pragma once

#include <cstdint>
#include <optional>

#include "linkcast/models/nccl/communicator.hpp"
#include "nccl/search.hpp"
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

struct Communicator::Impl {
  Impl(System s, Config c);

  System system;
  Config config;
  std::optional<Topo> topo;
  std::vector<int> local_rank;  // per GPU slot
  int locals = 0;               // ranks of one node
  int ranks = 0;

  Found ring, tree, nvls, collnet_chain, collnet_direct;
  float max_bw = 0, total_bw = 0;
  std::map<std::string, Graph> graphs;
  ChannelCounts counts;
  bool nvls_usable = false;  // multicast, enough GPUs, not switched off
  bool collnet = false;
  int nvls_chunk = 128 << 10, nvls_tree_chunk = 128 << 10;
  std::optional<TuneModel> model;

  // communicator.cpp
  void search();
  void count_channels();
  void tune_nvls();
  Graph publish(const Found& found) const;
  bool since(int minor, int patch = 0) const { return config.version >= Version{2, minor, patch}; }
  int max_channels() const { return since(25) ? 64 : 32; }
  long long env(std::string_view name, long long otherwise) const {
    return config.env.integer(name).value_or(otherwise);
  }
  float min_net_bw() const;
  int ring_channel(int channel) const;  // which search channel a compute channel repeats
  std::vector<int> rotated_ring(int channel) const;
  std::vector<int> tree_parents(int channel) const;

  // p2p_channels.cpp
  void count_p2p();
  int p2p_channels_between(int gpu, int peer) const;
  int p2p_channels_to_network(int gpu) const;
  P2pPlan p2p_plan(sim::Bytes message) const;
  std::vector<std::vector<std::pair<int, int>>> p2p_schedule() const;
  std::int64_t p2p_chunk() const;

  // choice.cpp
  std::vector<Choice> candidates(const Call& call) const;
  std::optional<Choice> symmetric(const Call& call, SymmetricBlocks* blocks) const;  // symmetric.cpp
  std::optional<Choice> copy_engine(const Call& call) const;                         // symmetric.cpp

  // plan.cpp
  Plan plan(const Call& call) const;
  /// The largest chunk for the bytes of one channel (2.22 and later) or of all channels together (before).
  std::int64_t chunk_of(const Cut& cut, int channels, std::int64_t bytes, int heads) const;
};

}  // namespace linkcast::models::nccl
