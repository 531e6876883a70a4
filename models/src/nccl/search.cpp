// The outer loops of the channel search: which bandwidth, path types and channel shapes are tried, in which order,
// and what happens once something was found. Source: ncclTopoCompute and ncclTopoSearchInit of NCCL's search.cc.
#include "nccl/search.hpp"

#include <algorithm>

namespace linkcast::models::nccl {

namespace {
constexpr std::int64_t global_steps = 1 << 19;
constexpr int attempt_steps = 1 << 14;
constexpr int same_channel_steps = 1 << 8;

// GB/s per channel, tried from the left: the speed arrays of search.cc in each tag.
std::vector<float> ladder(int cc, bool inter, const Version& v) {
  const auto since = [&](int minor, int patch = 0) { return v >= Version{2, minor, patch}; };
  std::vector<float> speeds;
  speeds.reserve(24);
  const auto add = [&](std::initializer_list<float> more) {
    for (const float s : more) speeds.push_back(s);
  };
  const std::initializer_list<float> slow_nets{2.4F, 1.2F, .24F, .12F};
  if (cc >= 100 && since(25)) {
    if (!inter) {
      add({90, 80, 70, 60, 50});
      if (since(29, 2)) add({45});
      add({40, 30, 24, 20, 19});
      if (since(27)) add({18});
      return speeds;
    }
    if (since(27)) add({96});
    if (since(30)) add({86});
    if (since(29, 7)) add({80});
    add({48});
    add({since(27) ? 45.1F : 45.0F});
    add({42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3});
    add(slow_nets);
    return speeds;
  }
  if (cc >= 90 && since(16)) {
    if (!inter) {
      if (!since(18)) return {66, 33, 24, 20, 15, 12, 6, 3};
      add({60});
      if (since(19)) add({50});
      add({40, 30, 24, 20, 15, 12});
      if (since(21)) add({11});
      add({6, 3});
      return speeds;
    }
    add({48, 45});
    if (since(18)) add({42, 40});
    add({30, 24});
    if (since(19)) add({22});
    if (since(18)) add({20, 17.5F});
    add({15, 12, 6, 3});
    add(slow_nets);
    return speeds;
  }
  const float third = since(18) ? 20 : 22;  // the 22 GB/s that an NVLink was counted with until 2.17
  if (!inter) {
    add({third * 2, 30, third, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3});
    return speeds;
  }
  add({48, 30});
  if (since(16)) add({28});
  add({24, third, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3});
  add(slow_nets);
  return speeds;
}
}  // namespace

Search::Search(const Topo& topo, const SearchOptions& options) : topo_{topo}, options_{options} {
  ladder_ = ladder(topo.cc_min(), options.inter, topo.version());
  left_.reserve(topo.links().size());
  for (const auto& link : topo.links()) left_.push_back(link.bw);
  used_.assign(static_cast<std::size_t>(topo.gpus()), 0);
  for (int n = 0; n < topo.nets(); ++n) {
    net_left_.push_back(static_cast<float>(topo.node(NodeType::net, n).facts->net_GBps));
    PathType type{};
    gpus_of_net_.push_back(topo.nearest(NodeType::net, n, NodeType::gpu, &type));
    gpus_of_net_type_.push_back(type);
  }
  sort_peers();
  note_levels();
  const auto lists = 14U * static_cast<std::size_t>(topo.gpus() + 1);
  net_lists_.resize(lists);
  net_list_known_.assign(lists, 0);

  if (!options.inter && topo.gpus() == 1) {
    max_bw_ = total_bw_ = local_bw;
    return;
  }
  for (int g = 0; g < topo.gpus(); ++g) {
    if (options.inter) {
      for (int n = 0; n < topo.nets(); ++n) {
        if (topo.net_path(g, n).hops() > 0) max_bw_ = std::max(max_bw_, topo.net_path(g, n).bw);
      }
    } else {
      for (int p = 0; p < topo.gpus(); ++p) {
        if (topo.gpu_path(g, p).hops() > 0) max_bw_ = std::max(max_bw_, topo.gpu_path(g, p).bw);
      }
    }
    float nvlink = 0, pci = 0;
    for (const int l : topo.node(NodeType::gpu, g).links) {
      const auto& link = topo.links()[l];
      if (link.type == EdgeType::nvl) nvlink += link.bw;
      if (link.type == EdgeType::pci) pci = link.bw;
    }
    total_bw_ = std::max(total_bw_, std::max(pci, nvlink));
  }
  // Since 2.30 the widest pair is taken between devices, before P2P limits apply.
  if (!options.inter && topo.version() >= Version{2, 30, 0}) max_bw_ = std::max(max_bw_, topo.raw_gpu_bw());
}

PathType Search::worse(PathType t) const {
  auto next = static_cast<PathType>(static_cast<int>(t) + 1);
  if (next == PathType::c2c && topo_.version() < Version{2, 26, 0}) next = PathType::pix;
  if (next == PathType::p2c && topo_.version() < Version{2, 27, 0}) next = PathType::pxn;
  return next;
}

Found Search::find(Pattern pattern, int min_channels, int max_channels, bool collnet) {
  const int gpus = topo_.gpus();
  const bool shape_may_cross =
      pattern == Pattern::ring || pattern == Pattern::balanced_tree || pattern == Pattern::split_tree;
  // Until 2.24 a single node had no NICs left when the search began.
  const bool can_cross = topo_.nets() > 1 && (shape_may_cross || !since(18)) && (options_.inter || since(25));
  requested_cross_nic_ = can_cross ? options_.cross_nic : 0;
  // Alternating rings (2) came with 2.19; before, crossing was one more thing to try.
  crossing_ = requested_cross_nic_ == 2 && since(19) ? 2 : requested_cross_nic_ != 0 && !since(19) ? 1 : 0;

  best_ = Found{};
  best_.pattern = pattern;
  best_.collnet = collnet;
  best_.min_channels = min_channels;
  best_.max_channels = max_channels;
  best_.cross_nic = requested_cross_nic_ == 1 ? 1 : 0;
  best_.gpus.assign(static_cast<std::size_t>(64 * std::max(1, gpus)), 0);
  for (auto& pair : best_.nets) pair = {-1, -1};

  auto nearest_intra = PathType::loc, nearest_inter = PathType::pix;
  auto farthest_intra = PathType::sys, farthest_inter = PathType::sys;
  if (!since(25)) {
    if (gpus > 1) nearest_intra = PathType::nvl;
  } else if (gpus > 1) {
    nearest_intra = topo_.nearest_type(NodeType::gpu);
    farthest_intra = topo_.farthest_type(NodeType::gpu);
  }
  if (options_.inter && since(25)) {
    nearest_inter = topo_.nearest_type(NodeType::net);
    farthest_inter = topo_.farthest_type(NodeType::net);
    farthest_intra = farthest_inter;
  }
  if (topo_.cc_min() < 90) farthest_inter = PathType::sys;  // balanced trees may have to come back through the CPU
  best_.type_intra = nearest_intra;
  best_.type_inter = nearest_inter;
  try_same_ = pattern != Pattern::nvls;
  best_.same_channels = try_same_;

  if (pattern == Pattern::nvls) {
    if (!topo_.has_switch() || topo_.cc_min() < 90) return best_;
    best_.max_channels = since(25) ? std::min(32, gpus) : std::min(options_.max_channels, gpus);
  }
  if (pattern == Pattern::collnet_direct) best_.max_channels = std::min(8, gpus);
  if (gpus == 1 && pattern != Pattern::ring) best_.pattern = Pattern::tree;
  // All GPUs take an equal part in NVLS inside a node.
  if (!options_.inter && best_.pattern == Pattern::nvls) best_.min_channels = best_.max_channels;
  // Trees need two channels to pay off between two NVLink islands, and rings must match.
  if (since(26) && best_.pattern == Pattern::ring && topo_.split_nvlink() && best_.max_channels >= 2 &&
      best_.min_channels == 1) {
    best_.min_channels = 2;
  }

  float total = total_bw_;
  if (gpus > 1 && best_.pattern != Pattern::ring) total *= static_cast<float>(gpus * 1.0 / (gpus - 1));
  speed_ = 0;
  const int last = static_cast<int>(ladder_.size()) - 1;
  const auto wanted = since(18) ? static_cast<float>(best_.min_channels) : 0.0F;
  while ((ladder_[speed_] > max_bw_ || ladder_[speed_] * wanted > total) && speed_ < last) {
    ++speed_;
  }
  const Found start = best_;
  const int fastest = speed_;
  exact_ = false;
  do {
    best_ = trial_ = start;
    speed_ = fastest;
    trial_.bw_intra = trial_.bw_inter = ladder_[speed_];
    global_budget_ = global_steps;
    uncertain_ = 0;
    ambiguous_ = false;
    fruitless_.clear();
    first_pass_ = true;
    bool enough = false;
    do {
      attempt();
      enough = budget_ == -1 || static_cast<float>(best_.channels) * best_.bw_inter >= total_bw_;
    } while (!enough && relax(nearest_intra, nearest_inter, farthest_intra, farthest_inter));
    exact_ = ambiguous_;
  } while (ambiguous_);  // whether the steps had run out cannot be told: once more, counting all of them
  first_pass_ = false;
  if (since(19)) duplicate_channels();
  raise_bandwidth();
  const bool none = best_.channels == 0;
  if (none && !collnet && best_.pattern != Pattern::nvls) fall_back();
  if (!since(19)) duplicate_channels();
  return best_;
}

void Search::attempt() {
  budget_ = trial_.same_channels ? same_channel_steps : attempt_steps;
  trial_.channels = 0;
  global_budget_ -= budget_;
  // The same walk again, with the same end: NCCL raises path levels one by one, whether any path has them or not.
  const bool repeatable = options_.prune && first_pass_ && trial_.pattern != Pattern::collnet_direct;
  const auto key = attempt_key();
  if (repeatable) {
    if (const auto known = fruitless_.find(key); known != fruitless_.end()) {
      budget_ = known->second.first;
      uncertain_ += known->second.second;
      return;
    }
  }
  improved_ = false;
  // An attempt without a chance is not walked. It uses up all its steps where there is much to try; elsewhere somewhere
  // between none and all, which matters only once the steps of all attempts together run out.
  int unknown = 0;
  if (trial_.same_channels || !options_.prune || !cannot_win())
    next_channel();
  else if (outlasts_budget(channel_bound()))
    budget_ = 0;
  else if (first_pass_ && !exact_)
    uncertain_ += unknown = budget_;
  else
    next_channel();
  if (improved_)
    fruitless_.clear();
  else if (repeatable)
    fruitless_.emplace(key, std::pair{budget_, unknown});
}

Search::Attempt Search::attempt_key() const {
  const auto reached = [](unsigned levels, PathType limit) {
    auto t = static_cast<int>(limit);
    while (t > 0 && (levels >> t & 1U) == 0) --t;
    return static_cast<PathType>(t);
  };
  return {trial_.pattern,
          trial_.cross_nic,
          trial_.same_channels,
          reached(intra_levels_, trial_.type_intra),
          reached(inter_levels_, trial_.type_inter),
          trial_.bw_inter};
}

void Search::note_levels() {
  for (int g = 0; g < topo_.gpus(); ++g) {
    for (const auto to : {NodeType::gpu, NodeType::nvs, NodeType::net}) {
      auto& levels = to == NodeType::net ? inter_levels_ : intra_levels_;
      for (int i = 0; i < topo_.count(to); ++i) {
        levels |= 1U << static_cast<int>(topo_.path(NodeType::gpu, g, to, i).type);
        levels |= 1U << static_cast<int>(topo_.path(to, i, NodeType::gpu, g).type);
      }
    }
  }
}

// The next combination to try while nothing is good enough: an odometer whose fastest digit is "all channels alike",
// then the shape of the tree, the path types, crossing NICs, and last a lower bandwidth.
bool Search::relax(PathType nearest_intra, PathType nearest_inter, PathType farthest_intra, PathType farthest_inter) {
  if (trial_.same_channels && !(since(19) && topo_.amd() && trial_.type_intra == PathType::sys)) {
    trial_.same_channels = false;
    return true;
  }
  trial_.same_channels = try_same_;
  global_budget_ += budget_;
  if (best_.channels > 0) {
    if (global_budget_ < 0) return false;
    ambiguous_ = global_budget_ < uncertain_;
    if (ambiguous_) return false;
  }

  if (since(18) && topo_.cc_min() >= 90 && trial_.pattern == Pattern::balanced_tree) {
    trial_.pattern = Pattern::tree;
    return true;
  }
  trial_.pattern = best_.pattern;

  const auto limit = options_.inter ? trial_.type_inter : farthest_intra;
  if (trial_.type_intra < limit && (best_.channels == 0 || trial_.type_intra < best_.type_intra)) {
    trial_.type_intra = worse(trial_.type_intra);
    if (trial_.type_intra < PathType::dis) return true;
  }
  trial_.type_intra = nearest_intra;

  if (options_.inter && trial_.type_inter < farthest_inter &&
      (best_.channels == 0 || trial_.type_inter < best_.type_inter || trial_.type_inter < PathType::pxn)) {
    trial_.type_inter = worse(trial_.type_inter);
    if (trial_.type_inter < PathType::dis) return true;
  }
  trial_.type_inter = nearest_inter;

  const bool shape_crosses = best_.pattern == Pattern::ring || best_.pattern == Pattern::balanced_tree;
  if (crossing_ != 0 && trial_.cross_nic == 0 && (shape_crosses || crossing_ == 1)) {
    trial_.cross_nic = crossing_;
    return true;
  }
  trial_.cross_nic = requested_cross_nic_ == 1 && since(19) ? 1 : 0;

  const bool lower = speed_ + 1 < static_cast<int>(ladder_.size());
  if (lower && (best_.channels == 0 || ladder_[speed_ + 1] / best_.bw_inter > .49F)) {
    trial_.bw_intra = trial_.bw_inter = ladder_[++speed_];
    return true;
  }
  return false;
}

// Few wide channels are split into twice as many, because one channel is one block of threads on the GPU.
void Search::duplicate_channels() {
  if (best_.channels == 0 || best_.pattern == Pattern::nvls || best_.bw_intra < 25) return;
  if (since(18) && topo_.cc_min() > 80 && best_.bw_intra < 50 && best_.channels > 4) return;
  const int gpus = topo_.gpus();
  const int doubled = std::min(best_.channels * 2, best_.max_channels);
  for (int c = best_.channels; c < doubled; ++c) {
    const int from = c - best_.channels;
    std::copy_n(best_.gpus.begin() + from * gpus, gpus, best_.gpus.begin() + c * gpus);
    best_.nets[c] = best_.nets[from];
  }
  const auto parts = static_cast<float>((doubled + best_.channels - 1) / best_.channels);
  best_.bw_intra /= parts;
  best_.bw_inter /= parts;
  best_.channels = doubled;
}

// With a solution in hand: as many channels, but faster? Rings as a whole, trees inside the node, NVLS outside.
void Search::raise_bandwidth() {
  trial_ = best_;
  const int last = static_cast<int>(ladder_.size()) - 1;
  speed_ = 0;
  while (ladder_[speed_] > best_.bw_inter && speed_ < last) ++speed_;
  trial_.bw_intra = trial_.bw_inter = ladder_[speed_];
  trial_.min_channels = best_.channels;
  budget_ = -1;
  while (budget_ != 0 && speed_ > 0) {
    if (best_.pattern == Pattern::ring) {
      if (!since(19)) break;
      trial_.bw_intra = trial_.bw_inter = ladder_[--speed_];
    } else if (since(19) && best_.pattern == Pattern::nvls && trial_.bw_inter == best_.bw_inter &&
               trial_.bw_inter < trial_.bw_intra * 2) {
      trial_.min_channels = trial_.max_channels = best_.channels;
      trial_.bw_inter = ladder_[--speed_];
    } else if (trial_.bw_intra == best_.bw_intra && trial_.bw_intra < trial_.bw_inter * 2) {
      trial_.bw_intra = ladder_[--speed_];
    } else {
      break;
    }
    attempt();
  }
}

void Search::fall_back() {
  for (int g = 0; g < topo_.gpus(); ++g) best_.gpus[g] = g;
  best_.bw_intra = 0.1F;
  best_.type_intra = PathType::sys;
  best_.channels = 1;
  best_.bw_inter = 0;
  best_.type_inter = PathType::dis;
  best_.nets[0] = {-1, -1};
  if (topo_.nets() == 0) return;
  const auto& first = usable_nets(PathType::loc, 0, true);
  const int entry = first.empty() ? -1 : first[0];
  const auto& last = usable_nets(PathType::loc, topo_.gpus() - 1, true);
  const int exit = last.empty() ? -1 : last[0];
  if (entry < 0 || exit < 0) return;
  best_.nets[0] = {entry, exit};
  best_.bw_inter = 0.1F;
  best_.type_inter = PathType::sys;
}

}  // namespace linkcast::models::nccl
