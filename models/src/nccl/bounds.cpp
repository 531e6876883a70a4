// Upper bounds on what one attempt of the channel search can find, so that attempts that cannot win are not walked
// step by step: NCCL would only run into its step budget there. Knows nothing of the walk's order.
#include <algorithm>
#include <vector>

#include "nccl/search.hpp"

namespace linkcast::models::nccl {

// What the paths that an attempt may use force upon single links.
struct Search::Forced {
  int channels = 1 << 20;  // that the busiest link could carry
  bool possible = true;    // every GPU can be left and reached, and all hang together
};

namespace {
int root_of(const std::vector<int>& parent, int g) {
  while (parent[g] != g) g = parent[g];
  return g;
}
}  // namespace

// Groups of GPUs that are near to each other: single GPUs, then those behind one switch, then those of one socket. A
// ring leaves and enters each group at least once per channel; a chain may spare one group. A link that all usable
// paths out of (into) a group share carries all of that.
Search::Forced Search::forced(bool closed) const {
  const int gpus = topo_.gpus();
  const auto& links = topo_.links();
  const float bw = trial_.bw_intra;
  const auto price = [&](const Path& p, int l) {
    return p.through_intel_root && links[l].type == EdgeType::pci ? bw * 6 / 5 : bw;
  };
  const auto usable = [&](const Path& p) {
    return p.hops() > 0 && p.type <= trial_.type_intra &&
           std::all_of(p.links.begin(), p.links.end(), [&](int l) { return links[l].bw >= price(p, l); });
  };
  std::vector<int> group(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g) group[g] = g;
  Forced result;
  int groups = gpus;
  for (auto level :
       {PathType::loc, PathType::nvl, PathType::c2c, PathType::pix, PathType::pxb, PathType::phb, PathType::sys}) {
    if (level > PathType::loc) {
      int joined = 0;
      for (int a = 0; a < gpus; ++a) {
        for (int b = a + 1; b < gpus; ++b) {
          const int x = root_of(group, a), y = root_of(group, b);
          if (x == y) continue;
          const Path& there = topo_.gpu_path(a, b);
          const Path& back = topo_.gpu_path(b, a);
          if (!(usable(there) && there.type <= level) && !(usable(back) && back.type <= level)) continue;
          group[std::max(x, y)] = std::min(x, y);
          ++joined;
        }
      }
      groups -= joined;
      if (joined == 0) continue;
    }
    if (groups == 1) return result;
    for (const bool out : {true, false}) {
      std::vector<float> load(links.size(), 0), most(links.size(), 0);
      for (int g = 0; g < gpus; ++g) {
        if (root_of(group, g) != g) continue;
        std::vector<int> common;
        bool any = false, dear = true;
        for (int a = 0; a < gpus; ++a) {
          if (root_of(group, a) != g) continue;
          for (int b = 0; b < gpus; ++b) {
            if (root_of(group, b) == g) continue;
            const Path& path = out ? topo_.gpu_path(a, b) : topo_.gpu_path(b, a);
            if (!usable(path)) continue;
            if (!any)
              common = path.links;
            else
              std::erase_if(common, [&](int l) {
                return std::find(path.links.begin(), path.links.end(), l) == path.links.end();
              });
            dear = dear && path.through_intel_root;
            any = true;
          }
        }
        if (!any && closed) result.possible = false;
        for (const int l : common) {
          const float taken = dear && links[l].type == EdgeType::pci ? bw * 6 / 5 : bw;
          load[l] += taken;
          most[l] = std::max(most[l], taken);
        }
      }
      for (std::size_t l = 0; l < links.size(); ++l) {
        const float per_channel = closed ? load[l] : load[l] - most[l];
        if (per_channel > 0)
          result.channels = std::min(result.channels, static_cast<int>(links[l].bw / per_channel + 1e-3F));
      }
    }
  }
  result.possible = false;  // the groups never became one
  return result;
}

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
        const auto level = link.type == EdgeType::nvl   ? PathType::nvl
                           : link.type == EdgeType::c2c ? PathType::c2c
                                                        : PathType::pix;
        if (level <= trial_.type_intra) room += static_cast<int>(link.bw / trial_.bw_intra + 1e-3F);
      }
      sum += room;
      least = std::min(least, room);
    }
    const bool closed = trial_.pattern == Pattern::ring && !options_.inter;
    const auto shared = forced(closed);
    if (!shared.possible) return 0;
    bound = std::min({bound, closed ? least : sum / (gpus - 1), shared.channels});
  }
  if (options_.inter) {
    const auto whole = std::max(1.0F, static_cast<float>(static_cast<int>(trial_.bw_inter)));
    int ports = 0;
    for (int n = 0; n < topo_.nets(); ++n) {
      ports += static_cast<int>(static_cast<float>(topo_.node(NodeType::net, n).facts->net_GBps) / whole + 1e-3F);
    }
    if (trial_.bw_inter >= 1) bound = std::min(bound, ports);
  }
  return bound;
}

// Of one channel. A chain is a spanning tree, so it has no fewer hops than the smallest one; a ring crosses the cut at
// that tree's longest edge twice.
int Search::least_hops() {
  if (span_hops_ < 0) measure_hops();
  const bool closed = trial_.pattern == Pattern::ring && !options_.inter;
  int hops = span_hops_ + (closed ? span_longest_ : 0);
  if (options_.inter)
    hops += entry_hops_ + exit_hops_ * (trial_.pattern == Pattern::balanced_tree && topo_.gpus() > 1 ? 2 : 1);
  return hops;
}

void Search::measure_hops() {
  const int gpus = topo_.gpus();
  constexpr int far = 1 << 20;
  span_hops_ = span_longest_ = 0;
  entry_hops_ = exit_hops_ = options_.inter ? far : 0;
  std::vector<int> distance(static_cast<std::size_t>(gpus), far);
  std::vector<char> in(static_cast<std::size_t>(gpus), 0);
  for (int added = 0, at = 0; added < gpus; ++added) {
    in[at] = 1;
    if (added > 0) {
      span_hops_ += distance[at];
      span_longest_ = std::max(span_longest_, distance[at]);
    }
    int next = -1;
    for (int p = 0; p < gpus; ++p) {
      if (in[p]) continue;
      for (const Path* path : {&topo_.gpu_path(at, p), &topo_.gpu_path(p, at)}) {
        if (path->hops() > 0) distance[p] = std::min(distance[p], path->hops());
      }
      if (next < 0 || distance[p] < distance[next]) next = p;
    }
    at = std::max(0, next);
  }
  for (int g = 0; g < gpus && options_.inter; ++g) {
    for (int n = 0; n < topo_.nets(); ++n) {
      if (const int h = topo_.path(NodeType::net, n, NodeType::gpu, g).hops(); h > 0)
        entry_hops_ = std::min(entry_hops_, h);
      if (const int h = topo_.net_path(g, n).hops(); h > 0) exit_hops_ = std::min(exit_hops_, h);
    }
  }
}

// A walk that would surely use up its steps. With a switch a channel can start at each GPU and turn two ways;
// without, any order of the GPUs is tried; and every further channel multiplies that.
bool Search::outlasts_budget(int channels) const {
  const int gpus = topo_.gpus();
  double orders = 1;
  if (neighbours_only())
    orders = 2.0 * gpus;
  else
    for (int i = 2; i <= gpus; ++i) orders *= i;
  double steps = gpus;
  for (int c = 0; c < channels && steps < 1e6; ++c) steps *= orders;
  return steps > 4 * 16384;
}

/// No graph of this attempt can replace the best one.
bool Search::cannot_win() {
  if (trial_.pattern == Pattern::nvls || trial_.pattern == Pattern::collnet_direct) return false;
  const int most = channel_bound();
  if (most < std::max(1, trial_.min_channels)) return true;
  if (best_.channels == 0) return false;
  if (!since(20) && trial_.cross_nic != best_.cross_nic) return false;
  const float could = static_cast<float>(most) * trial_.bw_intra;
  const float have = static_cast<float>(best_.channels) * best_.bw_intra;
  if (could != have) return could < have;
  // As wide as what there is: only fewer hops would help, and only against a graph of the same shape.
  return trial_.pattern != best_.pattern || trial_.cross_nic != best_.cross_nic || most * least_hops() >= best_.hops;
}

/// Nor would NCCL notice before all its steps are spent.
bool Search::hopeless() { return cannot_win() && outlasts_budget(channel_bound()); }

}  // namespace linkcast::models::nccl
