// How many channels a communicator has, from what its ranks found: ncclTopoPostset of NCCL's graph/connect.cc and
// ncclNvlsTuning of transport/nvls.cc. Knows no rank and no size.
#include <algorithm>

#include "nccl/communicator_impl.hpp"

namespace linkcast::models::nccl {

void Communicator::Impl::count_channels() {
  counts.search = ring.channels;
  const int most = max_channels();
  int n = std::min(most, ring.channels * 2);  // the second half carries the second tree
  // Half as many again where CollNet leaves the inside of the node short.
  const Found& collnet_graph = since(22) ? collnet_chain : collnet_direct;
  if (collnet && collnet_graph.bw_intra > collnet_graph.bw_inter && locals > 1) n = std::min(most, n + n / 2);
  // Four compute channels per search channel where few GPUs share a node.
  const bool new_enough = since(25) ? cc_min >= 90 : cc_min == 90;
  const bool few = since(20) ? n < 16 : 2 * n <= most;
  if (since(18) && new_enough && config.nodes > 1 && ring.bw_intra > 45.0F && few) n *= 2;
  if (unpack && since(22) && config.nodes > 1 && n < 16 && env("NCCL_UNPACK_DOUBLE_NCHANNELS", 1) != 0) n *= 2;

  auto limit = env("NCCL_MAX_NCHANNELS", env("NCCL_MAX_NRINGS", most));
  limit = std::clamp<long long>(limit, 1, most);
  limit = std::min(limit, std::clamp<long long>(env("NCCL_MAX_CTAS", most), 1, most));
  auto least = env("NCCL_MIN_NCHANNELS", env("NCCL_MIN_NRINGS", 0));
  least = std::max(std::clamp<long long>(least, 0, most), std::clamp<long long>(env("NCCL_MIN_CTAS", 1), 1, most));
  n = static_cast<int>(std::min<long long>(n, limit));
  n = static_cast<int>(std::max<long long>(n, least));
  counts.comm = std::max(1, n);
  // From 2.22 to 2.27 there were never fewer channels than NVLS uses.
  if (nvls_usable && since(22) && !since(28)) {
    const bool blackwell = since(25) && cc_min >= 100;
    const int nvls_channels = !blackwell ? 16 : config.nodes == 1 && since(27) ? 24 : 32;
    counts.comm =
        std::max(counts.comm, static_cast<int>(std::min<long long>(env("NCCL_NVLS_NCHANNELS", nvls_channels), most)));
  }
}

float Communicator::Impl::min_net_bw() const {
  float least = 0;
  for (const auto& m : machines) {
    for (int g = 0; g < locals; ++g) {
      const int first = m->topo->local_net(g, 0);
      for (int c = 0; c < max_channels() && first >= 0; ++c) {
        const int n = m->topo->local_net(g, c);
        if (c > 0 && n == first) break;
        const float bw = m->topo->net_path(g, n).bw;
        least = least == 0 ? bw : std::min(least, bw);
      }
    }
  }
  return least;
}

void Communicator::Impl::tune_nvls() {
  const bool blackwell = cc_min >= 100 && since(25);
  const int nodes = config.nodes;
  int channels = 16, chunk = 0, tree_chunk = 0;
  if (blackwell) channels = nodes == 1 && since(27) ? 24 : 32;
  if (blackwell && nodes > 1 && since(30)) {
    // NCCL transport/nvls.cc: measured settings by NIC, GPUs per node and path.
    const float nic = min_net_bw();
    const bool near = nvls.type_inter <= PathType::pxb;
    chunk = 128 << 10;
    if (nodes == 2 && nic >= 48) {
      channels = 32;
      tree_chunk = 128 << 10;
      if (locals <= 4)
        chunk = tree_chunk = 256 << 10;
      else if (locals >= 16 || (locals <= 8 && near && nic < 96))
        tree_chunk = 64 << 10;
    } else if (nic >= 96) {
      channels = locals <= 8 ? 24 : 32;
      if (locals <= 8)
        chunk = tree_chunk = 256 << 10;
      else
        tree_chunk = locals < 32 ? 128 << 10 : 64 << 10;
    } else if (nic >= 48) {
      channels = 24;
      tree_chunk = near ? 64 << 10 : 128 << 10;
    }
  }
  if (config.env.get("NCCL_NVLS_NCHANNELS")) channels = static_cast<int>(env("NCCL_NVLS_NCHANNELS", channels));
  if (config.env.get("NCCL_NVLS_CHUNKSIZE") || chunk == 0) {
    chunk = static_cast<int>(std::min<long long>(env("NCCL_NVLS_CHUNKSIZE", 128 << 10), 1 << 30));
  }
  if (tree_chunk == 0) tree_chunk = nodes >= 4 && since(19) ? 64 << 10 : since(21) ? chunk : 512 << 10;
  if (const auto wish = env("NCCL_NVLSTREE_MAX_CHUNKSIZE", -2); wish > 0) tree_chunk = static_cast<int>(wish);
  const auto most = static_cast<long long>(max_channels());
  channels =
      static_cast<int>(std::clamp<long long>(channels, 1, std::clamp<long long>(env("NCCL_MAX_CTAS", most), 1, most)));
  channels = std::max(channels, static_cast<int>(std::clamp<long long>(env("NCCL_MIN_CTAS", 1), 1, most)));
  counts.nvls = nvls_usable ? channels : 0;
  nvls_chunk = chunk;
  nvls_tree_chunk = tree_chunk;
}

}  // namespace linkcast::models::nccl
