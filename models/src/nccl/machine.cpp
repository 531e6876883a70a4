// One kind of node of a communicator: the environment's options for its paths, and the order of its ranks. Knows no
// other node.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>

#include "nccl/communicator_impl.hpp"

namespace linkcast::models::nccl {

namespace {
PathOptions path_options(const Environment& env, const Version& version) {
  PathOptions o;
  const auto level = [&](std::string_view name) {
    const auto text = env.get(name);
    return text ? static_cast<int>(path_level(*text).value_or(PathType::sys)) : -1;
  };
  o.p2p_level = level("NCCL_P2P_LEVEL");
  if (env.integer("NCCL_P2P_DISABLE") == 1) o.p2p_level = static_cast<int>(PathType::loc);
  o.nvb = env.integer("NCCL_NVB_DISABLE").value_or(0) == 0;
  o.pxn = env.integer("NCCL_PXN_DISABLE").value_or(0) == 0;
  o.pxn_c2c = env.integer("NCCL_PXN_C2C").value_or(version >= Version{2, 28, 0} ? 1 : 0) != 0;
  o.gdr_c2c = env.integer("NCCL_NET_GDR_C2C").value_or(1) != 0;
  o.gdr_level = level("NCCL_NET_GDR_LEVEL");
  if (const auto read = env.integer("NCCL_NET_GDR_READ")) {
    o.gdr_read_off = *read == 0;
    o.gdr_read_forced = *read > 0;
  }
  if (const auto policy = env.get("NCCL_NETDEVS_POLICY")) {
    std::string word = *policy;
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (word == "ALL") o.devices = PathOptions::NetDevices::all;
    if (word.starts_with("MAX:") && std::atoi(word.c_str() + 4) > 0) {
      o.device_limit = std::atoi(word.c_str() + 4);
      o.devices = PathOptions::NetDevices::at_most;
    }
  }
  return o;
}
}  // namespace

Machine::Machine(System s, const Config& config) : system{std::move(s)}, seen{seen_system(system, config)} {
  topo.emplace(seen.system, config.version, path_options(config.env, config.version));
  const auto at = seen.system.of_type(NodeType::gpu);
  slot.resize(at.size());
  std::iota(slot.begin(), slot.end(), 0);
  std::stable_sort(slot.begin(), slot.end(),
                   [&](int a, int b) { return seen.system.nodes()[at[a]].rank < seen.system.nodes()[at[b]].rank; });
  local_rank.resize(slot.size());
  for (std::size_t r = 0; r < slot.size(); ++r) local_rank[slot[r]] = static_cast<int>(r);
}

void Machine::list_ranks() {
  const auto lines = [&](const Found& found) {
    std::vector<std::vector<int>> all;
    for (int c = 0; c < found.channels; ++c) {
      std::vector<int> order;
      for (int i = 0; i < gpus(); ++i) order.push_back(local_rank[found.gpu(c, i, gpus())]);
      all.push_back(std::move(order));
    }
    return all;
  };
  rings = lines(ring);
  chains = lines(tree);
  collnet_chains = lines(collnet_chain);
  const auto first_ranks = [&](const Found& found, std::vector<int>& each_once) {
    for (int c = 0; c < found.channels; ++c) {
      const int head = local_rank[found.gpu(c, 0, gpus())];
      if (std::find(each_once.begin(), each_once.end(), head) == each_once.end()) each_once.push_back(head);
    }
  };
  first_ranks(nvls, heads);
  first_ranks(collnet_direct, collnet_heads);
}

}  // namespace linkcast::models::nccl
