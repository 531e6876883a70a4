// Upper bounds on what one attempt of the channel search can find, so that attempts that cannot win are not walked
// step by step: NCCL would only run into its step budget there. Knows nothing of the walk's order.
#include <algorithm>

#include "nccl/search.hpp"

namespace linkcast::models::nccl {

// Every channel of a ring leaves each GPU once; a chain, or a ring that leaves the node, makes one hop fewer than there
// are GPUs. Each hop takes the channel's bandwidth from one of the links that its level allows.
int Search::channel_bound() const {
  const int gpus = topo_.gpus();
  int bound = trial_.max_channels;
  if (gpus > 1) {
    int sum = 0, least = bound;
    for (int g = 0; g < gpus; ++g) {
      int room = 0;
      for (const int l : topo_.node(NodeType::gpu, g).links) {
        const auto& link = topo_.links()[l];
        const auto level = link.type == EdgeType::nvl ? PathType::nvl
                           : link.type == EdgeType::c2c ? PathType::c2c
                                                        : PathType::pix;
        if (level <= trial_.type_intra) room += static_cast<int>(link.bw / trial_.bw_intra + 1e-3F);
      }
      sum += room;
      least = std::min(least, room);
    }
    const bool closed = trial_.pattern == Pattern::ring && !options_.inter;
    bound = std::min(bound, closed ? least : sum / (gpus - 1));
  }
  if (options_.inter) {
    const auto whole = std::max(1.0F, static_cast<float>(static_cast<int>(trial_.bw_inter)));
    int ports = 0;
    for (const float bw : net_left_) ports += static_cast<int>(bw / whole + 1e-3F);
    if (trial_.bw_inter >= 1) bound = std::min(bound, ports);
  }
  return bound;
}

// Of one channel.
int Search::least_hops() const {
  const int gpus = topo_.gpus();
  int step = 1 << 20, entry = 1 << 20, exit = 1 << 20;
  for (int g = 0; g < gpus; ++g) {
    for (int p = 0; p < gpus; ++p) {
      if (p != g && topo_.gpu_path(g, p).hops() > 0) step = std::min(step, topo_.gpu_path(g, p).hops());
    }
    for (int n = 0; n < topo_.nets() && options_.inter; ++n) {
      if (const int h = topo_.path(NodeType::net, n, NodeType::gpu, g).hops(); h > 0) entry = std::min(entry, h);
      if (const int h = topo_.net_path(g, n).hops(); h > 0) exit = std::min(exit, h);
    }
  }
  const bool closed = trial_.pattern == Pattern::ring && !options_.inter;
  int hops = gpus > 1 ? step * (closed ? gpus : gpus - 1) : 0;
  if (options_.inter) hops += entry + exit * (trial_.pattern == Pattern::balanced_tree && gpus > 1 ? 2 : 1);
  return hops;
}

bool Search::hopeless() const {
  if (trial_.pattern == Pattern::nvls || trial_.pattern == Pattern::collnet_direct) return false;
  const int most = channel_bound();
  if (most < std::max(1, trial_.min_channels)) return true;
  if (best_.channels == 0) return false;
  const float could = static_cast<float>(most) * trial_.bw_intra;
  const float have = static_cast<float>(best_.channels) * best_.bw_intra;
  if (could != have) return could < have;
  // As wide as what there is: only fewer hops would help, and only against a graph of the same shape.
  return trial_.pattern != best_.pattern || trial_.cross_nic != best_.cross_nic || most * least_hops() >= best_.hops;
}

}  // namespace linkcast::models::nccl
