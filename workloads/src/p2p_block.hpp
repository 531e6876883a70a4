// What one part of a message gets of the thread block that serves it (NCCL device/sendrecv.h).
#pragma once

#include <algorithm>

#include "linkcast/models/nccl/communicator.hpp"
#include "pieces.hpp"

namespace linkcast::workloads {

/// What a part gets of its block, which serves `peers` messages: up to half of plan.concurrent at once share its
/// threads, more of them follow in turn. The work per chunk counts into the block's own rate, chunk / (overhead + chunk
/// / rate): the parts of different channels are not in step as a ring's are, so where a link is the limit it never
/// waits for that work (two A100 over PCIe reach the link's rate with chunks of 128 KiB).
inline sim::Rate block_share(sim::Rate rate, sim::Time overhead, int peers, const models::nccl::P2pPlan& plan,
                             int channels, sim::Bytes chunk) {
  const auto works = ceil_div(std::int64_t{peers} * plan.channels_per_peer, std::max(1, channels));
  const auto at_once = std::clamp<std::int64_t>(plan.concurrent / 2, 1, std::max<std::int64_t>(1, works));
  const sim::Time whole = overhead + transfer_time(chunk, rate * (1.0 / static_cast<double>(at_once)));
  const double in_turn = static_cast<double>(at_once) / static_cast<double>(std::max<std::int64_t>(1, works));
  return sim::Rate::from_GBps(static_cast<double>(chunk.count()) / whole.us() * 1e-3 * in_turn);
}

}  // namespace linkcast::workloads
