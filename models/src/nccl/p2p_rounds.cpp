// The order in which send/recv meets its peers, and the channels that carry each round. Source: ncclP2pSchedule
// (init.cc) and the channel rules of channel.h and device.h. One round costs O(1) after the first question.
#include <algorithm>
#include <bit>
#include <numeric>

#include "nccl/communicator_impl.hpp"

namespace linkcast::models::nccl {

namespace {
constexpr int batch = 8;  // sends and as many receives in one block at a time

// Distances follow the triangular numbers modulo a power of two: each once, and scattered.
std::vector<int> triangular(int n) {
  const unsigned wrap = std::bit_ceil(static_cast<unsigned>(n)) - 1;
  std::vector<int> deltas;
  deltas.reserve(static_cast<std::size_t>(n));
  unsigned delta = 0;
  for (unsigned step = 0; step <= wrap; delta = (delta + ++step) & wrap) {
    if (delta < static_cast<unsigned>(n)) deltas.push_back(static_cast<int>(delta));
  }
  return deltas;
}

// Up to 2.21: near and opposite nodes in turn, each in both directions, no distance twice.
std::vector<int> both_ways(int nodes) {
  std::vector<int> deltas;
  for (int d = 0; d <= nodes / 4; ++d) {
    const int half = nodes / 2 - d;
    const int four[] = {d, (nodes - d) % nodes, half, (nodes - half) % nodes};
    int i = 0;
    while (i < 4) {
      deltas.push_back(four[i]);
      ++i;
      if (i == 1 && four[1] == four[0]) ++i;
      if (i == 2 && four[2] == four[0]) ++i;
      if (i == 3 && (four[3] == four[2] || four[3] == four[1])) ++i;
    }
  }
  return deltas;
}

int bit_reversed(int v, int bits) {
  int reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= (v >> i & 1) << (bits - 1 - i);
  return reversed;
}
}  // namespace

// Ranks that are scheduled together. Until 2.28.3 always the whole node.
int Communicator::Impl::p2p_group() const {
  if (config.nodes == 1 || !since(28, 7)) return locals;
  int group = static_cast<int>(std::clamp<long long>(env("NCCL_P2P_SCHEDULE_GROUP_SIZE", batch), 1, ranks));
  if (locals % group != 0 || locals < group) group = std::gcd(group, locals);
  return group;
}

P2pRound Communicator::Impl::p2p_round(int round) const {
  if (round < 0 || round >= ranks) throw sim::InternalError{"no such round"};
  const int group = rails.group;
  std::call_once(deltas_once, [&] {
    group_deltas = since(22) ? triangular(ranks / group) : both_ways(ranks / group);
    if (since(28, 7) || !since(22)) {
      local_deltas.resize(static_cast<std::size_t>(group));
      std::iota(local_deltas.begin(), local_deltas.end(), 0);
    } else {
      local_deltas = triangular(group);
    }
  });
  return {group, ranks / group, group_deltas[round / group], local_deltas[round % group]};
}

int Communicator::Impl::p2p_channel(int round, int part) const {
  const int channels = counts.p2p;
  const int bits = std::countr_zero(std::bit_ceil(static_cast<unsigned>(channels)));
  const int group = rails.group;
  const int groups_of_a_node = (group + batch - 1) / batch;
  int base = round;
  if (!since(22)) {
    // By the distance itself, not by when its turn comes.
    const P2pRound r = p2p_round(round);
    base = config.nodes > 1 ? r.group_delta + r.local_delta / batch : r.local_delta;
    return (bit_reversed(base % channels, bits) + part) % channels;
  }
  if (config.nodes > 1) base = round / group * groups_of_a_node + round % group / batch;
  if (since(28)) return (bit_reversed(base, bits) + part) & (channels - 1);
  return ((base & 0xff) + bit_reversed(part, bits)) & (channels - 1);
}

}  // namespace linkcast::models::nccl
