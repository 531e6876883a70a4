// Send and receive: how many channels serve a pair and how a message is cut. Source: ncclTopoComputeP2pChannels and
// addP2pToPlan (NCCL graph/paths.cc, enqueue.cc). Knows no algorithm and no order of peers.
#include <algorithm>
#include <bit>

#include "nccl/communicator_impl.hpp"

namespace linkcast::models::nccl {

namespace {
int pow2_up(int v) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(1, v)))); }
int pow2_down(int v) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(1, v)))); }

// Chunk sizes travel to the GPU as 8-bit floats: five bits of exponent, three of fraction, rounded down.
std::int64_t as_small_float(std::int64_t v) {
  if (v < 16) return v;
  const int shift = 63 - std::countl_zero(static_cast<std::uint64_t>(v)) - 3;
  return v >> shift << shift;
}
}  // namespace

int Communicator::Impl::p2p_channels_between(const Topo& on, int gpu, int peer) const {
  const Path& path = on.gpu_path(peer, gpu);
  const bool nvlink = path.type == PathType::nvl || (since(30) && path.type == PathType::nvb);
  if (!nvlink) return 2;
  const auto one = static_cast<float>(nvlink_GBps(on.node(NodeType::gpu, gpu).facts->cc, config.version));
  return 2 * std::max(1, static_cast<int>(path.bw / one));
}

int Communicator::Impl::p2p_channels_to_network(const Topo& on, int gpu) const {
  if (const auto wish = env("NCCL_NCHANNELS_PER_NET_PEER", -1); wish > 0) {
    return static_cast<int>(std::min<long long>(wish, 64));
  }
  if (!since(19)) return 2;
  // As many NICs as the GPU's own link can feed.
  const int cpu = on.local_cpu(gpu);
  const float gpu_bw = cpu >= 0 ? on.path(NodeType::gpu, gpu, NodeType::cpu, cpu).bw : 0;
  int nics = 0;
  float bw = 0;
  for (int c = 0; c < max_channels(); ++c) {
    const int n = on.local_net(gpu, c);
    if (n < 0 || (c > 0 && n == on.local_net(gpu, 0))) break;
    bw += on.net_path(gpu, n).bw;
    ++nics;
    if (bw >= gpu_bw) break;
  }
  if (since(29)) {
    const int per_channel = static_cast<int>(std::max<long long>(1, env("NCCL_P2P_PER_CHANNEL_NET_BW", 14)));
    return nics > 0 ? std::max(nics, (static_cast<int>(bw) + per_channel - 1) / per_channel) : 2;
  }
  int n = 2;
  while (n * ranks > counts.p2p * 4 && n > 1) n /= 2;
  return std::max(nics, n);
}

void Communicator::Impl::count_p2p() {
  const int most = max_channels();
  int total =
      std::min(counts.comm, static_cast<int>(std::clamp<long long>(env("NCCL_MAX_P2P_NCHANNELS", most), 1, most)));
  total = std::max(total, static_cast<int>(std::clamp<long long>(env("NCCL_MIN_P2P_NCHANNELS", 1), 1, most)));
  counts.p2p = total;
  int per_peer = since(29) ? most : total;
  for (const auto& m : machines) {
    for (int g = 0; g < locals; ++g) {
      for (int p = 0; p < locals; ++p) {
        if (p != g) per_peer = std::min(per_peer, p2p_channels_between(*m->topo, g, p));
      }
      if (config.nodes > 1) per_peer = std::min(per_peer, p2p_channels_to_network(*m->topo, g));
    }
  }
  counts.p2p_per_peer_raw = per_peer;
  per_peer = pow2_up(per_peer);
  counts.p2p = std::min(pow2_up(total), pow2_down(253));
  const bool user = env("NCCL_NCHANNELS_PER_NET_PEER", -1) > 0;
  if (since(29) && config.nodes > 1 && !user) {
    const auto peers = env("NCCL_P2P_MAX_PEERS", ranks);
    while (per_peer > 1 && per_peer * ceil_div(peers, 8) > counts.p2p) per_peer /= 2;
  } else {
    per_peer = std::min(per_peer, counts.p2p);
  }
  counts.p2p_per_peer = per_peer;
}

std::int64_t Communicator::Impl::p2p_chunk() const {
  std::int64_t chunk = 0;
  if (config.nodes > 1) {
    const bool grace_blackwell = since(29) && !x86 && !power && cc_min >= 100;
    chunk = env("NCCL_P2P_NET_CHUNKSIZE", 128 << 10) * (grace_blackwell ? 2 : 1);
  } else if (topo->all_nvlink()) {
    chunk = env("NCCL_P2P_NVL_CHUNKSIZE", 512 << 10);
  } else {
    chunk = env("NCCL_P2P_PCI_CHUNKSIZE", 128 << 10);
  }
  return since(19) ? std::min<std::int64_t>(chunk, simple_buffer() / 8) : chunk;
}

P2pPlan Communicator::Impl::p2p_plan(sim::Bytes message, bool network) const {
  const auto bytes = std::max<std::int64_t>(0, message.count());
  const std::int64_t step = p2p_chunk();
  const int most = counts.p2p_per_peer;
  int least = most;
  while (least > 1 && static_cast<std::int64_t>(least) * ranks > counts.p2p) least /= 2;

  const bool several = config.nodes > 1;
  std::int64_t small = std::max<std::int64_t>(1, several ? step / 2 : step / 8), large = several ? step : step * 32;
  if (!since(13) && !several) {
    // group.cc before 2.13 gave a message one channel until it was large. The bound is measured: on 4 and 8 A100 a
    // message of 3 MiB moves at the rate of one channel, 6 MiB of two, 12 MiB of four (corpus a100-80x*-sendrecv-cw).
    least = 1;
    large = 4 << 20;
  }
  P2pPlan plan;
  plan.channels_per_peer =
      static_cast<int>(std::min<std::int64_t>(least, std::max<std::int64_t>(1, ceil_div(bytes, small))));
  std::int64_t part = std::max(small, ceil_div(bytes, plan.channels_per_peer));
  while (part > large && plan.channels_per_peer <= most / 2) {
    plan.channels_per_peer *= 2;
    part = ceil_div(bytes, plan.channels_per_peer);
  }
  // Over the network send/recv has no LL buffers unless they are asked for.
  const bool buffers = !network || env("NCCL_ALLOC_P2P_NET_LL_BUFFERS", 0) == 1;
  const bool ll = buffers && bytes <= plan.channels_per_peer * env("NCCL_P2P_LL_THRESHOLD", 16384);
  plan.protocol = ll ? Protocol::ll : Protocol::simple;
  std::int64_t chunk = ll ? env("NCCL_LL_BUFFSIZE", 512 << 10) / 8 : step;
  if (const auto wish = env("NCCL_CHUNK_SIZE", 0); wish > 0) {
    chunk = wish;
  } else if (network) {
    // Small messages in small pieces, so that several are on their way. Up to 2.21 each part was looked at by itself.
    const std::int64_t looked_at = since(22) ? bytes : std::min(bytes, part);
    if (!ll && looked_at < step)
      chunk /= 4;
    else if (looked_at < 8 * (ll ? env("NCCL_LL_BUFFSIZE", 512 << 10) / 8 : step))
      chunk /= 2;
  }
  if (ll) chunk /= 2;  // half of an LL line is flags
  plan.chunk = sim::Bytes{since(22) ? as_small_float(chunk) : chunk};
  plan.concurrent = 8;
  return plan;
}

}  // namespace linkcast::models::nccl
