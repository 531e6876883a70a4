// Which network ports the search may use, and in which order. Source: ncclTopoSelectNets of NCCL's search.cc.
#include <algorithm>

#include "nccl/search.hpp"

namespace linkcast::models::nccl {

/// gpu < 0: for the start of a channel, all GPUs. `none`: only the preferred ports.
const std::vector<int>& Search::usable_nets(PathType limit, int gpu, bool none) {
  const auto gpus = static_cast<std::size_t>(topo_.gpus());
  const std::size_t level = none ? 13 : static_cast<std::size_t>(limit);
  const std::size_t key = level * (gpus + 1) + static_cast<std::size_t>(gpu + 1);
  auto& list = net_lists_[key];
  if (net_list_known_[key]) return list;
  net_list_known_[key] = 1;
  const auto add = [&](int n) {
    if (n >= 0 && std::find(list.begin(), list.end(), n) == list.end()) list.push_back(n);
  };

  std::vector<std::vector<int>> own;  // per GPU, by channel, until it repeats
  std::vector<int> who;
  for (int g = 0; g < topo_.gpus(); ++g) {
    if (gpu >= 0 && g != gpu) continue;
    std::vector<int> ports;
    for (int c = 0; c < options_.max_channels; ++c) {
      const int n = topo_.local_net(g, c);
      if (n < 0 || (c > 0 && n == ports[0])) break;
      ports.push_back(n);
    }
    own.push_back(std::move(ports));
    who.push_back(g);
  }
  if (topo_.hosts() > 1 && options_.scatter_nets && since(27, 5)) {
    // Fused hosts: one port of every GPU before the second of any.
    for (std::size_t c = 0;; ++c) {
      bool more = false;
      for (const auto& ports : own) {
        if (c >= ports.size()) continue;
        add(ports[c]);
        more = true;
      }
      if (!more) break;
    }
  } else {
    for (const auto& ports : own) {
      for (const int n : ports) add(n);
    }
  }
  if (none) return list;
  // NCCL_NETDEVS_POLICY=MAX:n also ends the list, since 2.28.7.
  const int cap = since(28, 7) ? topo_.device_limit() : 0;
  const auto most = static_cast<std::size_t>(cap == 0 ? 1 << 20 : gpu < 0 ? cap * topo_.gpus() : cap);
  if (list.size() >= most) return list;
  for (int t = 0; t <= static_cast<int>(limit); ++t) {
    for (const int g : who) {
      for (int n = 0; n < topo_.nets() && n < options_.max_channels; ++n) {
        if (topo_.net_path(g, n).type == static_cast<PathType>(t)) add(n);
        if (list.size() >= most) return list;
      }
    }
  }
  return list;
}

}  // namespace linkcast::models::nccl
