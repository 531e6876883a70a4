// NCCL's channel search: which rings, chains and NVLS heads fit into the links of a Topo. Reproduces
// ncclTopoCompute's order of attempts and its step budgets, because what it finds depends on both.
// Knows no algorithm, no protocol and no message.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "nccl/topo.hpp"

namespace linkcast::models::nccl {

enum class Pattern : int { balanced_tree = 1, split_tree = 2, tree = 3, ring = 4, nvls = 5, collnet_direct = 6 };

/// A graph while it is being built; GPUs and NETs are slots of the Topo.
struct Found {
  Pattern pattern = Pattern::ring;
  bool collnet = false;
  int cross_nic = 0;
  int min_channels = 1, max_channels = 1;
  int channels = 0;
  float bw_intra = 0, bw_inter = 0, latency_inter = 0;
  PathType type_intra = PathType::loc, type_inter = PathType::pix;
  bool same_channels = true;
  int hops = 0;
  std::vector<int> gpus;                      // channels x GPUs
  std::array<std::array<int, 2>, 64> nets{};  // per channel: entry and exit

  int gpu(int channel, int position, int count) const { return gpus[channel * count + position]; }
};

struct SearchOptions {
  bool inter = false;        // more than one node
  int cross_nic = 2;         // NCCL_CROSS_NIC
  bool scatter_nets = true;  // NCCL_MNNVL_SCATTER_NETS_ENABLE
  int max_channels = 64;     // MAXCHANNELS of the version
  bool prune = true;         // skip attempts that provably cannot win; off only to test that
};

class Search {
 public:
  Search(const Topo& topo, const SearchOptions& options);
  /// The best graph of a pattern; channels == 0 where there is none (NVLS without a switch).
  Found find(Pattern pattern, int min_channels, int max_channels, bool collnet = false);
  float max_bw() const { return max_bw_; }
  float total_bw() const { return total_bw_; }

 private:
  enum class Order { free, pci, replay };
  /// What stays the same along one channel.
  struct Walk {
    int back_to_net = -1;
    int back_to_first = -1;
    Order order = Order::free;
  };

  // search.cpp: the odometer of relaxations.
  bool relax(PathType nearest_intra, PathType nearest_inter, PathType farthest_intra, PathType farthest_inter);
  void attempt();
  void raise_bandwidth();
  void duplicate_channels();
  void fall_back();
  PathType worse(PathType t) const;
  /// What an attempt depends on while nothing better is found: levels that no path has allow nothing more.
  using Attempt = std::tuple<Pattern, int, bool, PathType, PathType, float>;
  Attempt attempt_key() const;
  void note_levels();
  bool since(int minor, int patch = 0) const { return topo_.version() >= Version{2, minor, patch}; }
  bool neighbours_only() const { return topo_.has_switch() && since(21); }

  // bounds.cpp: what an attempt could find at best.
  bool cannot_win();
  bool hopeless();
  bool outlasts_budget(int channels) const;
  struct Forced;
  Forced forced(bool closed) const;
  int channel_bound() const;
  int least_hops();
  void measure_hops();

  // walk.cpp: depth-first search within one attempt.
  void next_channel();
  void start_from_net(Walk walk);
  void start_here(Walk walk);
  void try_gpu(NodeType from, int from_slot, int gpu, int step, Walk walk);
  void visit(int gpu, int step, Walk walk);
  void leave_to_net(int gpu, int step, Walk walk);
  void continue_to_gpus(int gpu, int step, Walk walk);
  void finish_channel();
  void spread_over_switch(int head);
  void spread_to_all(int head);
  bool reserve(NodeType from, int a, NodeType to, int b, float share);
  bool take(const Path& path, bool from_gpu, int steps, float bw, int* done);
  void order_candidates(int gpu, int sort_net, std::vector<int>& out, std::size_t at);
  void order_by_net(int gpu, int entry, std::vector<int>& out) const;
  bool exit_allowed(int entry, int exit, int step) const;
  std::array<int, 2> neighbours(int gpu) const;
  bool better() const;
  void sort_peers();
  int replayed(int step) const;

  // nets.cpp
  const std::vector<int>& usable_nets(PathType limit, int gpu, bool none = false);

  const Topo& topo_;
  SearchOptions options_;
  float max_bw_ = 0, total_bw_ = 0;
  std::vector<float> ladder_;

  Found best_, trial_;
  int requested_cross_nic_ = 0, crossing_ = 0;
  bool try_same_ = true;
  int speed_ = 0;
  std::int64_t global_budget_ = 0;
  int budget_ = 0;
  bool first_pass_ = true, improved_ = false;
  std::int64_t uncertain_ = 0;  // steps of attempts that were not walked, because they could not win
  bool exact_ = false, ambiguous_ = false;
  std::map<Attempt, std::pair<int, int>>
      fruitless_;                                 // attempts that found nothing better: the steps that they left over
  unsigned intra_levels_ = 0, inter_levels_ = 0;  // bit t: some path has type t

  std::vector<float> left_;          // GB/s left on every link
  std::vector<float> net_left_;      // per NET
  std::vector<std::uint64_t> used_;  // per GPU: channels that pass
  std::vector<int> scratch_;
  std::vector<std::vector<int>> by_nvlink_;  // per GPU: the others, widest and nearest first
  int span_hops_ = -1, span_longest_ = 0, entry_hops_ = 0, exit_hops_ = 0;
  std::vector<std::vector<int>> net_lists_;
  std::vector<char> net_list_known_;
  std::vector<std::vector<int>> gpus_of_net_;
  std::vector<PathType> gpus_of_net_type_;
};

}  // namespace linkcast::models::nccl
