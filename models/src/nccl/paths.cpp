// The path tables of a Topo: breadth-first search from each device, then the detours that P2P limits, missing
// GPUDirect and PXN impose. Follows NCCL's paths.cc; knows no bandwidth budget and no graph.
#include <algorithm>
#include <numeric>

#include "nccl/topo.hpp"

namespace linkcast::models::nccl {

namespace {
PathType level_of(EdgeType t) {
  switch (t) {
    case EdgeType::nvl:
      return PathType::nvl;
    case EdgeType::c2c:
      return PathType::c2c;
    case EdgeType::pci:
      return PathType::pix;
    case EdgeType::sys:
      return PathType::sys;
    case EdgeType::loc:
    case EdgeType::net:
      return PathType::loc;  // only the way from the GPU to the NIC counts
  }
  return PathType::dis;
}

// A PHB path whose first part is NVLink-C2C has a name of its own since 2.27.
PathType joined(PathType a, PathType b, const Version& v) {
  const auto far = std::max(a, b), near = std::min(a, b);
  const bool p2c = v >= Version{2, 27, 0} && far == PathType::phb && near == PathType::c2c;
  return p2c ? PathType::p2c : far;
}
}  // namespace

void Topo::set_paths(NodeType base_type, int base_slot) {
  auto& table = paths_[static_cast<std::size_t>(base_type)][base_slot];
  const int base = of(base_type)[base_slot];
  table[base].bw = local_bw;
  table[base].type = PathType::loc;

  std::vector<int> frontier{base}, next;
  while (!frontier.empty()) {
    next.clear();
    for (const int at : frontier) {
      for (const int l : nodes_[at].links) {
        const auto& link = links_[l];
        const auto& here = nodes_[at];
        const auto& there = nodes_[link.to];
        if (link.reverse < 0) continue;
        const Path& path = table[at];
        Path& other = table[link.to];
        const float bw = std::min(path.bw, link.bw);
        // Through a GPU only over NVLink to a GPU, and only one such hop (NVB).
        if (at != base && here.type == NodeType::gpu &&
            (!options_.nvb || link.type != EdgeType::nvl || there.type != NodeType::gpu || path.hops() > 1)) {
          continue;
        }
        auto type = level_of(link.type);
        if (here.type == NodeType::pci && there.type == NodeType::pci) type = PathType::pxb;
        if (link.type == EdgeType::pci && (here.type == NodeType::cpu || there.type == NodeType::cpu)) {
          type = PathType::phb;
        }
        if (at != base && here.type == NodeType::gpu && path.type == PathType::nvl && type == PathType::nvl) {
          type = PathType::nvb;
        }
        type = std::max(path.type, type);
        const bool better = type < other.type || (type == other.type && other.bw < bw) ||
                            (type == other.type && other.bw == bw && other.hops() > path.hops() + 1);
        if (!better) continue;
        std::vector<int> links;
        links.reserve(path.links.size() + 1);
        links.push_back(link.reverse);
        links.insert(links.end(), path.links.begin(), path.links.end());
        other.links = std::move(links);
        other.bw = bw;
        other.type = type;
        if (std::find(next.begin(), next.end(), link.to) == next.end()) next.push_back(link.to);
      }
    }
    frontier.swap(next);
  }
}

void Topo::via(NodeType hub, int hub_slot, NodeType from, int a, NodeType to, int b) {
  const Path first = path(from, a, hub, hub_slot);
  const Path second = path(hub, hub_slot, to, b);
  Path& p = mutable_path(from, a, to, b);
  p.links = first.links;
  p.links.insert(p.links.end(), second.links.begin(), second.links.end());
  p.type = hub == NodeType::gpu ? PathType::pxn : joined(first.type, second.type, version_);
  p.bw = std::min(first.bw, second.bw);
}

std::vector<int> Topo::nearest(NodeType from, int slot, NodeType to, PathType* type) const {
  std::vector<int> found;
  auto best = PathType::dis;
  float bw = 0;
  for (int i = 0; i < count(to); ++i) {
    const Path& p = path(from, slot, to, i);
    if (p.bw > bw || (p.bw == bw && p.type < best)) {
      bw = p.bw;
      best = p.type;
      found.clear();
    }
    if (p.bw == bw && p.type == best) found.push_back(i);
  }
  if (type != nullptr) *type = best;
  return found;
}

int Topo::local_cpu(int gpu) const {
  int best = -1;
  for (const int c : nearest(NodeType::gpu, gpu, NodeType::cpu)) {
    if (best < 0 ||
        path(NodeType::gpu, gpu, NodeType::cpu, c).hops() < path(NodeType::gpu, gpu, NodeType::cpu, best).hops()) {
      best = c;
    }
  }
  return best;
}

bool Topo::p2p_allowed(int a, int b) const {
  auto level = PathType::pxb;
  if (version_ >= Version{2, 23, 0}) {
    if (amd_ && gpus() <= 2) level = PathType::sys;
  } else if (amd_ || power_) {
    level = PathType::sys;
  }
  if (options_.p2p_level >= 0) level = static_cast<PathType>(options_.p2p_level);
  return gpu_path(a, b).type <= level;
}

void Topo::divert_gpu_pairs() {
  for (int g = 0; g < gpus(); ++g) {
    for (int p = 0; p < gpus(); ++p) {
      if (p2p_allowed(p, g)) continue;
      if (const int cpu = local_cpu(g); cpu >= 0) via(NodeType::cpu, cpu, NodeType::gpu, p, NodeType::gpu, g);
    }
  }
}

// GPU writes through an Intel root complex travel in 64-byte packets and so cost 6/5 of their size on PCIe.
void Topo::mark_intel_roots() {
  for (int g = 0; g < gpus(); ++g) {
    for (const auto to : {NodeType::gpu, NodeType::net}) {
      for (int i = 0; i < count(to); ++i) {
        Path& way = mutable_path(NodeType::gpu, g, to, i);
        way.through_intel_root =
            way.type == PathType::phb && std::any_of(way.links.begin(), way.links.end(), [&](int l) {
              const auto& at = nodes_[links_[l].to];
              return at.type == NodeType::cpu && at.facts->arch != "arm64" && at.facts->vendor == "GenuineIntel";
            });
      }
    }
  }
}

void Topo::shorten_c2c_nets() {
  if (version_ < Version{2, 27, 0} || nets() == 0) return;
  for (int g = 0; g < gpus(); ++g) {
    const int cpu = local_cpu(g);
    if (cpu < 0) continue;
    for (const int n : nearest(NodeType::gpu, g, NodeType::net)) {
      const auto type = joined(path(NodeType::gpu, g, NodeType::cpu, cpu).type,
                               path(NodeType::net, n, NodeType::cpu, cpu).type, version_);
      if (type != PathType::p2c) continue;
      Path& there = mutable_path(NodeType::gpu, g, NodeType::net, n);
      Path& back = mutable_path(NodeType::net, n, NodeType::gpu, g);
      there.type = std::min(there.type, PathType::p2c);
      back.type = std::min(back.type, PathType::p2c);
    }
  }
}

int Topo::find_local_net(int gpu, int channel) const {
  const auto nets_near = nearest(NodeType::gpu, gpu, NodeType::net);
  if (nets_near.empty()) return -1;
  const int count_nets = static_cast<int>(nets_near.size());
  const int sharers = std::max<int>(1, static_cast<int>(nearest(NodeType::net, nets_near[0], NodeType::gpu).size()));
  int per_gpu = (count_nets + sharers - 1) / sharers;
  if (options_.devices == PathOptions::NetDevices::all) per_gpu = count_nets;
  if (options_.devices == PathOptions::NetDevices::at_most) per_gpu = std::min(options_.device_limit, count_nets);
  int first = node(NodeType::gpu, gpu).facts->dev;
  if (version_ < Version{2, 18, 0}) return nets_near[first % count_nets];  // one port, whatever the channel
  if (version_ >= Version{2, 30, 7}) first %= sharers;
  if ((count_nets & (count_nets - 1)) == 0) {  // neighbours start far apart: the bits are mirrored
    int mirrored = 0;
    for (int bit = 1, other = count_nets >> 1; bit < count_nets; bit <<= 1, other >>= 1) {
      if ((first & bit) != 0) mirrored |= other;
    }
    first = mirrored;
  }
  return nets_near[(first + channel % per_gpu) % count_nets];
}

// Send/recv asks for every pair of ranks, so the answers are kept.
void Topo::note_local_nets() {
  std::vector<std::vector<int>> ports(static_cast<std::size_t>(gpus()));
  for (int g = 0; g < gpus(); ++g) {
    for (int c = 0; c < std::max(1, nets()); ++c) {
      const int n = find_local_net(g, c);
      if (n < 0 || (c > 0 && n == ports[g][0])) break;
      ports[g].push_back(n);
    }
    const auto& gpu = node(NodeType::gpu, g);
    devices_.emplace_back(static_cast<std::int64_t>(gpu.host) << 32 | gpu.facts->dev, g);
  }
  ports_of_gpu_ = std::move(ports);
  std::stable_sort(devices_.begin(), devices_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

int Topo::gpu_of_device(int host, int dev) const {
  const auto key = static_cast<std::int64_t>(host) << 32 | dev;
  const auto it = std::lower_bound(devices_.begin(), devices_.end(), key,
                                   [](const auto& d, std::int64_t k) { return d.first < k; });
  return it != devices_.end() && it->first == key ? it->second : -1;
}

int Topo::find_local_gpu(int net) const {
  auto candidates = nearest(NodeType::net, net, NodeType::gpu);
  if (version_ < Version{2, 19, 0}) {  // any GPU that uses the port, near or not
    candidates.resize(static_cast<std::size_t>(gpus()));
    std::iota(candidates.begin(), candidates.end(), 0);
  }
  for (int c = 0; c < 64; ++c) {
    for (const int g : candidates) {
      if (local_net(g, c) == net) return g;
    }
  }
  return -1;
}

int Topo::intermediate_gpu(int gpu, int net) const {
  const Path& p = net_path(gpu, net);
  if (p.type != PathType::pxn) return gpu;
  for (const int l : p.links) {
    if (nodes_[links_[l].to].type == NodeType::gpu) return nodes_[links_[l].to].slot;
  }
  return gpu;
}

bool Topo::gpudirect(int gpu, int net, bool read) const {
  const Node& g = *node(NodeType::gpu, gpu).facts;
  if (!g.gdr || !node(NodeType::net, net).facts->gdr) return false;
  if (read) {
    if (options_.gdr_read_off) return false;
    // Reads share the GPU's PCIe lanes with other GPUs' traffic unless that has NVLinks; since 2.19 only before Ampere.
    const bool sensitive = g.cc < 80 || version_ < Version{2, 19, 0};
    if (!options_.gdr_read_forced && sensitive && gpus() > 1) {
      bool nvlink = false;
      for (int i = 0; i < gpus(); ++i) nvlink = nvlink || (i != gpu && gpu_path(gpu, i).type == PathType::nvl);
      if (!nvlink) return false;
    }
  }
  auto level = version_ >= Version{2, 27, 0} && options_.gdr_c2c ? PathType::p2c : PathType::pxb;
  if (options_.gdr_level >= 0) level = static_cast<PathType>(options_.gdr_level);
  return net_path(intermediate_gpu(gpu, net), net).type <= level;
}

void Topo::reroute_nets() {
  for (int n = 0; n < nets(); ++n) {
    int relay = find_local_gpu(n);
    for (int g = 0; g < gpus(); ++g) {
      if (options_.pxn) {
        // NVLink to the GPU next to the NIC, then that GPU's PCIe: sends only, receives stay local.
        if (relay >= 0 && relay != g) {
          const bool c2c = options_.pxn_c2c && version_ >= Version{2, 27, 0};
          const Path& relayed = net_path(relay, n);
          const Path& own = net_path(g, n);
          const bool reads = version_ < Version{2, 30, 0} || gpudirect(relay, n, true);
          const auto far = version_ < Version{2, 27, 0} ? PathType::pxb : PathType::pxn;
          if (relayed.type <= (c2c ? PathType::p2c : PathType::pxb) && reads &&
              gpu_path(relay, g).type <= PathType::nvl &&
              node(NodeType::gpu, relay).host == node(NodeType::gpu, g).host &&
              (relayed.bw > own.bw || own.type > far)) {
            via(NodeType::gpu, relay, NodeType::gpu, g, NodeType::net, n);
            relay = find_local_gpu(n);
          }
        }
      }
      const bool looked_at = version_ < Version{2, 21, 0} || net_path(g, n).type < PathType::phb;
      if (looked_at && !gpudirect(g, n, false)) {
        if (const int cpu = local_cpu(g); cpu >= 0) {
          via(NodeType::cpu, cpu, NodeType::net, n, NodeType::gpu, g);
          via(NodeType::cpu, cpu, NodeType::gpu, g, NodeType::net, n);
          relay = find_local_gpu(n);
        }
      }
    }
  }
  local_gpu_.resize(static_cast<std::size_t>(nets()));
  for (int n = 0; n < nets(); ++n) local_gpu_[n] = find_local_gpu(n);
}

PathType Topo::nearest_type(NodeType to) const {
  auto best = PathType::sys;
  for (int g = 0; g < gpus(); ++g) {
    for (int i = 0; i < count(to); ++i) {
      if (to != NodeType::gpu || i != g) best = std::min(best, path(NodeType::gpu, g, to, i).type);
    }
  }
  return best;
}

PathType Topo::farthest_type(NodeType to) const {
  auto worst = PathType::loc;
  for (int g = 0; g < gpus(); ++g) {
    for (int i = 0; i < count(to); ++i) {
      if (to != NodeType::gpu || i != g) worst = std::max(worst, path(NodeType::gpu, g, to, i).type);
    }
  }
  return worst;
}

bool Topo::split_nvlink() const {
  std::vector<int> island(static_cast<std::size_t>(gpus())), size(static_cast<std::size_t>(gpus()));
  for (int g = 0; g < gpus(); ++g) island[g] = g;
  for (int g = 0; g < gpus(); ++g) {
    for (int p = g + 1; p < gpus(); ++p) {
      if (gpu_path(g, p).type == PathType::nvl) island[p] = island[g];
    }
  }
  for (const int i : island) ++size[i];
  return std::count_if(size.begin(), size.end(), [](int n) { return n > 1; }) == 2;
}

bool Topo::all_nvlink() const { return farthest_type(NodeType::gpu) < PathType::pix; }
bool Topo::all_direct_nvlink() const { return farthest_type(NodeType::gpu) <= PathType::nvl; }

}  // namespace linkcast::models::nccl
