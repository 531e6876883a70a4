#include "messages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "pieces.hpp"

namespace linkcast::workloads {

std::vector<Message> messages_of(const models::nccl::Call& call, int ranks) {
  using models::nccl::Op;
  std::vector<Message> list;
  const sim::Bytes part{std::max<std::int64_t>(1, call.bytes.count() / ranks)};
  const auto add = [&](int from, int to, sim::Bytes bytes) {
    if (from != to) list.push_back({from, to, bytes});
  };
  switch (call.op) {
    case Op::sendrecv:
      for (int r = 0; r < ranks; ++r) add(r, (r + 1) % ranks, call.bytes);
      break;
    case Op::alltoall:
      for (int d = 1; d < ranks; ++d)
        for (int r = 0; r < ranks; ++r) add(r, (r + d) % ranks, part);
      break;
    case Op::gather:
      for (int r = 0; r < ranks; ++r) add(r, call.root, part);
      break;
    case Op::scatter:
      for (int r = 0; r < ranks; ++r) add(call.root, r, part);
      break;
    default:
      break;
  }
  return list;
}

std::int64_t count_messages(const models::nccl::Call& call, int ranks) {
  using models::nccl::Op;
  const std::int64_t n = ranks;
  switch (call.op) {
    case Op::sendrecv:
      return n > 1 ? n : 0;
    case Op::alltoall:
      return n * (n - 1);
    case Op::gather:
    case Op::scatter:
      return n - 1;
    default:
      return 0;
  }
}

std::int64_t parts_of(sim::Bytes message, int channels_per_peer) {
  return ceil_div(message.count(), ceil_div(message.count(), channels_per_peer));
}

namespace {

double chunk_bytes(double messages, double agents, double usages, bool fold) {
  // Measured with 64-bit libstdc++ as the peak of runs of 5,112 to 65,280 messages on dgx-h100, superpod-h100 and
  // superpod-gb200, which this meets within a fifth. Agents come with their connections, their census and what folding
  // knows of them; unfolded, with a worker, FIFOs and a flow each.
  const double agent = fold ? 600 : 1540, usage = fold ? 80 : 140;
  return messages * (agents * agent + usages * usage);
}

}  // namespace

void check_chunk_memory(const Context& c, const models::nccl::Call& call, std::int64_t parts, double agents,
                        double usages) {
  const auto messages = count_messages(call, c.comm.ranks());
  // Flows that a hash sends over different cables are not alike: 32 meta-24k take 5.9 KB for each message, folded or
  // not.
  const auto& network = c.cluster.network();
  const bool hashed = network.switches().size() > 1 && network.routing() != models::Routing::adaptive &&
                      network.routing() != models::Routing::spray;
  const double bytes = chunk_bytes(static_cast<double>(messages * parts), agents, usages, c.fold && !hashed);
  if (bytes <= most_chunk_bytes) return;
  throw sim::InputError(
      fmt::format(
          "{} of {} ranks is {} messages in {} parts each: at fidelity chunk about {:.1f} GiB, more than the 4 GiB "
          "that a replay may take",
          name_of(call.op), c.comm.ranks(), messages, parts, bytes / (1 << 30)),
      "use --fidelity flow, or fewer nodes");
}

}  // namespace linkcast::workloads
