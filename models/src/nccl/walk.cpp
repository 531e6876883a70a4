// One attempt of the channel search: depth first, GPU by GPU, channel by channel, taking bandwidth from every link on
// the way and giving it back on return. Source: the ncclTopoSearchRec* and ncclTopoFollowPath functions of NCCL's
// search.cc; the order of the tries and the count of steps are NCCL's, because they decide what is found in time.
#include <algorithm>

#include "nccl/search.hpp"

namespace linkcast::models::nccl {

namespace {
// NCCL keeps link budgets in thousandths of a GB/s.
void subtract(float& a, float b) {
  const float thousandths = (a - b) * 1000;
  a = static_cast<float>(static_cast<int>(thousandths + (thousandths < 0 ? -0.5F : 0.5F))) / 1000;
}
}  // namespace

// Takes `bw` from the first `steps` links of a path; `done` says how many of them had enough.
bool Search::take(const Path& path, bool from_gpu, int steps, float bw, int* done) {
  const auto& links = topo_.links();
  const auto& nodes = topo_.nodes();
  const float pci_bw = path.through_intel_root ? bw * 6 / 5 : bw;
  for (int step = 0; step < steps; ++step) {
    const int l = path.links[step];
    const auto& to = nodes[links[l].to];
    const float forward = links[l].type == EdgeType::pci ? pci_bw : bw;
    float backward = 0;
    if (to.type == NodeType::gpu && to.facts->cc < 80 && !from_gpu) backward += forward / 8;
    if (to.type == NodeType::cpu && to.facts->arch == "ppc64" && links[l].type == EdgeType::nvl) backward += forward;
    const int reverse = links[l].reverse;
    const bool count_back = backward != 0 && reverse >= 0;
    if (left_[l] < forward || (count_back && left_[reverse] < backward)) {
      *done = step;
      return false;
    }
    subtract(left_[l], forward);
    if (count_back) subtract(left_[reverse], backward);
  }
  *done = steps;
  return true;
}

// `share` of the channel's bandwidth on the way from a to b; negative gives it back. False: not allowed or no room.
bool Search::reserve(NodeType from, int a, NodeType to, int b, float share) {
  const Path& path = topo_.path(from, a, to, b);
  const auto inside = [](NodeType t) { return t == NodeType::gpu || t == NodeType::nvs; };
  const bool intra = inside(from) && inside(to);
  const auto limit = intra ? trial_.type_intra : trial_.type_inter;
  if (path.type >= PathType::dis) return false;
  if (share == 1) {
    if (path.type > limit) return false;
    const bool both_ways = trial_.pattern == Pattern::balanced_tree || trial_.pattern == Pattern::tree ||
                           trial_.pattern == Pattern::split_tree;
    if (both_ways && topo_.path(to, b, from, a).type > limit) return false;
  }
  const float bw = (intra ? trial_.bw_intra : trial_.bw_inter) * share;
  const bool from_gpu = from == NodeType::gpu;
  int done = 0;
  if (!take(path, from_gpu, path.hops(), bw, &done)) {
    take(path, from_gpu, done, -bw, &done);
    return false;
  }
  trial_.hops = static_cast<int>(static_cast<float>(trial_.hops) + share * static_cast<float>(path.hops()));
  return true;
}

int Search::replayed(int step) const { return trial_.gpu(trial_.channels - 1, step + 1, topo_.gpus()); }

void Search::next_channel() {
  Walk walk;
  if (options_.inter) {
    walk.back_to_net = trial_.pattern == Pattern::ring         ? topo_.gpus() - 1
                       : trial_.pattern == Pattern::split_tree ? 1
                                                               : 0;
    start_from_net(walk);
  } else {
    if (trial_.pattern == Pattern::ring) walk.back_to_first = topo_.gpus() - 1;
    start_here(walk);
  }
}

void Search::start_here(Walk walk) {
  if (trial_.pattern == Pattern::nvls) {
    try_gpu(NodeType::nic, -1, trial_.channels, 0, walk);
    return;
  }
  if (trial_.channels == 0) {
    walk.order = Order::pci;
    try_gpu(NodeType::nic, -1, 0, 0, walk);
  } else {
    walk.order = Order::replay;
    try_gpu(NodeType::nic, -1, replayed(-1), 0, walk);
  }
  if (trial_.same_channels && trial_.channels > 0) return;
  walk.order = Order::free;
  for (int g = 0; g < topo_.gpus(); ++g) try_gpu(NodeType::nic, -1, g, 0, walk);
}

void Search::start_from_net(Walk walk) {
  // NCCL truncates the bandwidth to whole GB/s where it books it on the port.
  const auto bw = static_cast<float>(static_cast<int>(trial_.bw_inter));
  const auto& nets = usable_nets(trial_.type_inter, -1);
  const int count = static_cast<int>(nets.size());
  const bool heads = trial_.pattern == Pattern::nvls || trial_.pattern == Pattern::collnet_direct;
  const int channel = trial_.channels;
  bool head_found = false;
  for (int i = 0; i < count; ++i) {
    if (heads && head_found) break;
    const int n = nets[(channel + i) % count];
    const Node& port = *topo_.node(NodeType::net, n).facts;
    if (trial_.collnet && !port.collnet) continue;
    if (net_left_[n] < bw) continue;
    // Alternating rings: every odd channel starts where the one before it ended.
    if (trial_.pattern == Pattern::ring && trial_.cross_nic == 2 && (channel & 1) != 0 &&
        n != trial_.nets[channel - 1][1]) {
      continue;
    }
    trial_.nets[channel][0] = n;
    trial_.latency_inter = static_cast<float>(port.net_latency_us);
    const auto book = [&](float amount) {
      for (int m = 0; m < topo_.nets(); ++m) {
        const Node& other = *topo_.node(NodeType::net, m).facts;
        if (other.guid == port.guid && other.port == port.port) net_left_[m] -= amount;
      }
    };
    book(bw);
    if (heads) {
      const int gpu = topo_.local_gpu(n);
      bool fresh = channel < count && gpu >= 0;
      for (int c = 0; c < channel && fresh; ++c) fresh = trial_.gpu(c, 0, topo_.gpus()) != gpu;
      if (fresh) {
        walk.order = Order::free;
        try_gpu(NodeType::net, n, gpu, 0, walk);
        head_found = true;
      }
    } else if (channel > 0 && trial_.same_channels) {
      walk.order = Order::replay;
      try_gpu(NodeType::net, n, replayed(-1), 0, walk);
    } else {
      if (channel == 0 && !(topo_.has_switch() && since(19))) {
        // The order of the bus as a reference, on a small budget of its own.
        const int saved = budget_;
        budget_ = 1 << 10;
        walk.order = Order::pci;
        try_gpu(NodeType::net, n, 0, 0, walk);
        budget_ = budget_ == -1 ? -1 : saved;
      }
      walk.order = Order::free;
      const int local = topo_.local_gpu(n);
      if (local >= 0) try_gpu(NodeType::net, n, local, 0, walk);
      if (gpus_of_net_type_[n] != PathType::dis) {
        for (const int g : gpus_of_net_[n]) {
          if (g != local) try_gpu(NodeType::net, n, g, 0, walk);
        }
      }
    }
    book(-bw);
  }
}

// `from_slot` < 0: the walk begins at this GPU.
void Search::try_gpu(NodeType from, int from_slot, int gpu, int step, Walk walk) {
  if (from_slot >= 0 && !reserve(from, from_slot, NodeType::gpu, gpu, 1)) return;
  const auto flag = std::uint64_t{1} << trial_.channels;
  used_[gpu] ^= flag;
  visit(gpu, step, walk);
  used_[gpu] ^= flag;
  if (from_slot >= 0) reserve(from, from_slot, NodeType::gpu, gpu, -1);
}

void Search::visit(int gpu, int step, Walk walk) {
  if (budget_ <= 0) return;
  --budget_;
  const int gpus = topo_.gpus();
  if (step == gpus) {
    finish_channel();
    return;
  }
  trial_.gpus[trial_.channels * gpus + step] = gpu;
  if (step == walk.back_to_net) {
    leave_to_net(gpu, step, walk);
  } else if (trial_.pattern == Pattern::nvls) {
    spread_over_switch(gpu);
  } else if (trial_.pattern == Pattern::collnet_direct) {
    spread_to_all(gpu);
  } else if (step < gpus - 1) {
    continue_to_gpus(gpu, step, walk);
  } else if (step == walk.back_to_first) {
    const int first = trial_.gpu(trial_.channels, 0, gpus);
    if (reserve(NodeType::gpu, gpu, NodeType::gpu, first, 1)) {
      walk.back_to_first = -1;
      visit(first, step + 1, walk);
      reserve(NodeType::gpu, gpu, NodeType::gpu, first, -1);
    }
  } else {
    visit(gpu, gpus, Walk{-1, -1, walk.order});
  }
}

void Search::finish_channel() {
  ++trial_.channels;
  if (better()) {
    best_ = trial_;
    improved_ = true;
    if (trial_.channels == trial_.max_channels) budget_ = -1;
    // Nothing better can follow: NCCL would walk on until its steps are used up. (In the second pass it matters
    // whether it has steps left, so there the walk goes on.)
    else if (first_pass_ && options_.prune && !trial_.same_channels && hopeless())
      budget_ = 0;
  }
  if (trial_.channels < trial_.max_channels) next_channel();
  --trial_.channels;
}

bool Search::better() const {
  if (trial_.channels < trial_.min_channels) return false;
  const auto sum = [](int channels, float bw) { return static_cast<float>(channels) * bw; };
  if (trial_.pattern == Pattern::nvls) {
    return (trial_.channels > best_.channels && trial_.channels <= topo_.gpus()) ||
           (since(19) && sum(trial_.channels, trial_.bw_inter) > sum(best_.channels, best_.bw_inter));
  }
  const float now = sum(trial_.channels, trial_.bw_intra);
  float before = sum(best_.channels, best_.bw_intra);
  // 2.18 and 2.19 gave graphs that stay on their NIC a bonus of 15 %.
  if (since(18) && !since(20)) before *= static_cast<float>(1.0 - (best_.cross_nic - trial_.cross_nic) * .15);
  if (now != before) return now > before;
  return trial_.pattern == best_.pattern && trial_.cross_nic == best_.cross_nic && trial_.hops < best_.hops;
}

void Search::leave_to_net(int gpu, int step, Walk walk) {
  const int channel = trial_.channels;
  const bool balanced = trial_.pattern == Pattern::balanced_tree;
  // A balanced tree loads each of its first two GPUs with half of the bytes of the network.
  Walk after = walk;
  after.back_to_net = balanced && step == 0 ? 1 : -1;
  const float bw = trial_.bw_inter;
  for (const int n : usable_nets(trial_.type_inter, gpu)) {
    if (!exit_allowed(trial_.nets[channel][0], n, step)) continue;
    if (balanced) trial_.bw_inter = bw / 2;
    const bool reached = reserve(NodeType::gpu, gpu, NodeType::net, n, 1);
    trial_.bw_inter = bw;
    if (!reached) continue;
    trial_.nets[channel][1] = n;
    visit(gpu, step, after);
    if (balanced) trial_.bw_inter = bw / 2;
    reserve(NodeType::gpu, gpu, NodeType::net, n, -1);
    trial_.bw_inter = bw;
  }
}

bool Search::exit_allowed(int entry, int exit, int step) const {
  const Node& in = *topo_.node(NodeType::net, entry).facts;
  const Node& out = *topo_.node(NodeType::net, exit).facts;
  if (in.plane >= 0 && out.plane >= 0 && in.plane != out.plane) return false;
  if (trial_.pattern == Pattern::tree && entry != exit) return false;
  if (trial_.pattern == Pattern::ring && trial_.cross_nic == 2) {
    if ((trial_.channels & 1) != 0 && exit != trial_.nets[trial_.channels - 1][0]) return false;
  } else if (trial_.cross_nic == 0) {
    if (in.rail >= 0 && out.rail >= 0) {
      if (in.rail != out.rail) return false;
    } else if (in.guid != out.guid || in.port != out.port) {
      return false;
    }
  }
  return trial_.pattern != Pattern::balanced_tree || step == 0 || exit == trial_.nets[trial_.channels][1];
}

void Search::continue_to_gpus(int gpu, int step, Walk walk) {
  if (walk.order == Order::pci) {
    try_gpu(NodeType::gpu, gpu, step + 1, step + 1, walk);
    return;
  }
  if (walk.order == Order::replay) {
    try_gpu(NodeType::gpu, gpu, replayed(step), step + 1, walk);
    return;
  }
  const int sort_net = walk.back_to_net == -1 ? 0 : walk.back_to_net == step + 1 ? 1 : -1;
  const auto base = scratch_.size();
  order_candidates(gpu, sort_net, scratch_, base);
  const auto end = scratch_.size();
  for (auto i = base; i < end; ++i) try_gpu(NodeType::gpu, gpu, scratch_[i], step + 1, walk);
  scratch_.resize(base);
}

namespace {
struct Score {
  int gpu, start, hops, bw, net_hops, pci_bw, net_bw;
};
}  // namespace

// Which GPU next: best network, then best NVLink, then nearest. With a switch only the two neighbours count, since
// NVSwitches prefer few peers.
void Search::order_candidates(int gpu, int sort_net, std::vector<int>& out, std::size_t at) {
  const auto flag = std::uint64_t{1} << trial_.channels;
  const auto open = [&](int g) { return g != gpu && topo_.gpu_path(gpu, g).hops() > 0 && (used_[g] & flag) == 0; };
  if (neighbours_only()) {
    for (const int g : neighbours(gpu)) {
      if (g >= 0 && open(g)) out.push_back(g);
    }
    return;
  }

  const int entry = sort_net != 0 && options_.inter ? trial_.nets[trial_.channels][0] : -1;
  if (entry < 0) {
    for (const int g : by_nvlink_[gpu]) {
      if (open(g)) out.push_back(g);
    }
  } else {
    order_by_net(gpu, entry, out);
  }
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(at);
  const auto like_first = [&](int g) {
    const Path& a = topo_.gpu_path(gpu, *first);
    const Path& b = topo_.gpu_path(gpu, g);
    return static_cast<int>(a.bw) == static_cast<int>(b.bw) && a.hops() == b.hops();
  };
  if (sort_net == -1 && std::all_of(first, out.end(), like_first)) std::reverse(first, out.end());
  if (!topo_.has_switch() || !since(19)) return;
  const auto preferred = neighbours(gpu);
  for (auto g = preferred.rbegin(); g != preferred.rend(); ++g) {
    const auto it = std::find(first, out.end(), *g);
    if (it != out.end()) std::rotate(first, it, it + 1);
  }
}

// On a switch: the neighbours in the order of the tries. The one that NCCL puts in front last is tried first.
std::array<int, 2> Search::neighbours(int gpu) const {
  const int gpus = topo_.gpus();
  const int previous = (gpu + gpus - 1) % gpus, next = (gpu + 1) % gpus;
  if (previous != next) {
    if (trial_.pattern == Pattern::ring) return {previous, next};
    if (trial_.pattern == Pattern::balanced_tree || trial_.pattern == Pattern::split_tree) return {next, previous};
  }
  return {next, -1};
}

void Search::sort_peers() {
  const int gpus = topo_.gpus();
  by_nvlink_.resize(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g) {
    auto& list = by_nvlink_[g];
    for (int i = 1; i < gpus; ++i) list.push_back((g + i) % gpus);
    std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
      const Path& x = topo_.gpu_path(g, a);
      const Path& y = topo_.gpu_path(g, b);
      const int wide = static_cast<int>(x.bw), narrow = static_cast<int>(y.bw);
      return wide != narrow ? wide > narrow : x.hops() < y.hops();
    });
  }
}

void Search::order_by_net(int gpu, int entry, std::vector<int>& out) const {
  const int gpus = topo_.gpus();
  const auto flag = std::uint64_t{1} << trial_.channels;
  std::vector<Score> scores;
  for (int i = 1; i < gpus; ++i) {
    const int g = (gpu + i) % gpus;
    const Path& p = topo_.gpu_path(gpu, g);
    if (p.hops() == 0 || (used_[g] & flag) != 0) continue;
    const Path& from_net = topo_.path(NodeType::net, entry, NodeType::gpu, g);
    Score s{g, i, p.hops(), static_cast<int>(p.bw), from_net.hops(), -1, static_cast<int>(from_net.bw)};
    for (const int l : topo_.node(NodeType::gpu, g).links) {
      const auto& link = topo_.links()[l];
      if (link.type != EdgeType::pci || link.reverse < 0) continue;
      s.pci_bw = static_cast<int>(std::min(left_[l], left_[link.reverse]));
      break;
    }
    scores.push_back(s);
  }
  std::sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) {
    if (a.net_bw != b.net_bw) return a.net_bw > b.net_bw;
    if (a.pci_bw != b.pci_bw) return a.pci_bw > b.pci_bw;
    if (a.net_hops != b.net_hops) return a.net_hops < b.net_hops;
    if (a.bw != b.bw) return a.bw > b.bw;
    if (a.hops != b.hops) return a.hops < b.hops;
    return a.start < b.start;
  });
  for (const auto& s : scores) out.push_back(s.gpu);
}

// An NVLS head reads and writes its slice once for everybody and once more for itself.
void Search::spread_over_switch(int head) {
  const int gpus = topo_.gpus();
  const auto share = [&](int g) { return g == head ? 2.0F : 1.0F; };
  int down = 0, up = 0;
  while (down < gpus && reserve(NodeType::nvs, 0, NodeType::gpu, down, share(down))) ++down;
  if (down == gpus) {
    while (up < gpus && reserve(NodeType::gpu, up, NodeType::nvs, 0, share(up))) ++up;
    if (up == gpus) visit(head, gpus, Walk{});
    while (up-- > 0) reserve(NodeType::gpu, up, NodeType::nvs, 0, -share(up));
  }
  while (down-- > 0) reserve(NodeType::nvs, 0, NodeType::gpu, down, -share(down));
}

void Search::spread_to_all(int head) {
  const int gpus = topo_.gpus();
  const auto share = static_cast<float>(1.0 / static_cast<float>(gpus - 1));
  int out = 0, in = 0;
  while (out < gpus && reserve(NodeType::gpu, head, NodeType::gpu, out, share)) ++out;
  if (out == gpus) {
    while (in < gpus && reserve(NodeType::gpu, in, NodeType::gpu, head, share)) ++in;
    if (in == gpus) visit(head, gpus, Walk{});
    while (in-- > 0) reserve(NodeType::gpu, in, NodeType::gpu, head, -share);
  }
  while (out-- > 0) reserve(NodeType::gpu, head, NodeType::gpu, out, -share);
}

}  // namespace linkcast::models::nccl
