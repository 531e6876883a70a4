// Send/recv and what NCCL builds from it: alltoall, sendrecv, gather, scatter (NCCL enqueue.cc, device/sendrecv.h). A
// message is cut into parts, one per channel; a channel's block works on up to eight sends and receives at once and
// shares its threads among them.
#include <algorithm>
#include <map>

#include "messages.hpp"
#include "pieces.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using sim::Bytes;
using sim::Time;

/// The most messages that one rank sends, and that one receives.
struct Peers {
  int sends = 0, receives = 0;
};

Peers busiest(const std::vector<Message>& list, int ranks) {
  std::vector<Peers> of(static_cast<std::size_t>(ranks));
  Peers most;
  for (const auto& m : list) {
    most.sends = std::max(most.sends, ++of[static_cast<std::size_t>(m.from)].sends);
    most.receives = std::max(most.receives, ++of[static_cast<std::size_t>(m.to)].receives);
  }
  return most;
}

/// What a part gets of its block, which serves `peers` messages: up to half of plan.concurrent at once share its
/// threads, more of them follow in turn. The work per chunk counts into the block's own rate, chunk / (overhead + chunk
/// / rate): the parts of different channels are not in step as a ring's are, so where a link is the limit it never
/// waits for that work (two A100 over PCIe reach the link's rate with chunks of 128 KiB).
sim::Rate shared(sim::Rate rate, Time overhead, int peers, const models::nccl::P2pPlan& plan, int channels,
                 Bytes chunk) {
  const auto works = ceil_div(std::int64_t{peers} * plan.channels_per_peer, std::max(1, channels));
  const auto at_once = std::clamp<std::int64_t>(plan.concurrent / 2, 1, std::max<std::int64_t>(1, works));
  const Time whole = overhead + transfer_time(chunk, rate * (1.0 / static_cast<double>(at_once)));
  const double in_turn = static_cast<double>(at_once) / static_cast<double>(std::max<std::int64_t>(1, works));
  return sim::Rate::from_GBps(static_cast<double>(chunk.count()) / whole.us() * 1e-3 * in_turn);
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const std::vector<Message>& list,
                                                       const models::nccl::P2pPlan& plan, const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  for (auto& kind : program->kinds) kind.overhead = Time{};  // in the rates, see shared()
  std::map<std::int64_t, std::uint32_t> patterns;
  for (const auto& m : list) {
    const auto& lane = c.lanes.between(m.from, m.to);
    const Bytes part{ceil_div(m.bytes.count(), plan.channels_per_peer)};
    Bytes left = m.bytes;
    while (left.count() > 0) {
      const Bytes mine = std::min(part, left);
      left -= mine;
      const Pieces pieces = pieces_of(mine, plan.chunk);
      const auto pattern =
          2 * patterns.emplace(mine.count(), static_cast<std::uint32_t>(patterns.size())).first->second;
      const auto first = static_cast<std::uint32_t>(program->agents.size());
      const sim::ConnectionId wire{static_cast<std::uint32_t>(program->connections.size())};
      sim::Connection connection;
      connection.from = sim::AgentId{first};
      connection.to = sim::AgentId{first + 1};
      connection.slots = 8;
      connection.latency = costs.protocol.hop + lane.latency;
      connection.credit_latency = connection.latency;
      add_usages(connection.usages, lane.usages, costs.on(lane));
      program->connections.push_back(std::move(connection));
      for (const bool sends : {true, false}) {
        sim::Agent a;
        a.units = pieces.count;
        a.pattern = pattern + (sends ? 0u : 1u);
        a.at = [=](std::int64_t k, sim::Unit& u) {
          u.kind = sends ? kind_send : kind_local;
          u.bytes = pieces.at(k);
          u.receive.clear();
          u.send.clear();
          (sends ? u.send : u.receive).push_back(wire);
        };
        program->agents.push_back(std::move(a));
      }
    }
  }
  return program;
}

}  // namespace

Schedule build_p2p(const Context& c, const models::nccl::Call& call, Fidelity f) {
  const auto messages = messages_of(call, c.comm.ranks());
  Schedule s;
  s.algorithm = "P2P";
  if (messages.empty()) return s;
  const Bytes message = messages.front().bytes;
  const auto plan = c.comm.p2p_plan(call, message);
  s.protocol = std::string(name_of(plan.protocol));
  const Peers peers = busiest(messages, c.comm.ranks());
  const int channels = c.comm.channels().p2p;
  s.channels = std::max(plan.channels_per_peer,
                        std::min(channels, plan.channels_per_peer * std::max(peers.sends, peers.receives)));
  Costs costs = costs_of(c.gpu, plan.protocol);
  if (plan.protocol == models::nccl::Protocol::simple) costs.protocol.send = c.gpu.p2p_channel;
  const Bytes part{ceil_div(message.count(), plan.channels_per_peer)};
  const Bytes chunk = std::min(plan.chunk, part);
  const Time overhead = costs.protocol.overhead;
  costs.protocol.send = shared(costs.protocol.send, overhead, peers.sends, plan, channels, chunk);
  costs.protocol.local = shared(costs.protocol.local, overhead, peers.receives, plan, channels, chunk);
  if (f == Fidelity::chunk) {
    s.program = chunk_program(c, messages, plan, costs);
    return s;
  }
  const double parts = static_cast<double>(message.count()) / static_cast<double>(part.count());
  const Pieces pieces = pieces_of(part, plan.chunk);
  const auto& p = costs.protocol;
  std::vector<std::vector<sim::Usage>> usages(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& lane = c.lanes.between(messages[i].from, messages[i].to);
    add_usages(usages[i], lane.usages, costs.on(lane));
  }
  const std::vector<sim::Rate> caps(messages.size(), p.send * parts);
  const auto sent = rates_together(c.resources, usages, caps);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    sim::PipelinedFlow flow;
    flow.bytes = messages[i].bytes;
    flow.usages = std::move(usages[i]);
    flow.cap = std::min(p.send, p.local) * parts;
    flow.fixed.add(sim::Cause::latency, p.hop + c.lanes.between(messages[i].from, messages[i].to).latency);
    // With the flags in the data both ends work on a piece at once. Else the receiver takes the last piece out after it
    // has come, and after the one before, which a short last piece overtakes; a receiver that is slower than what
    // brings the data begins after the first has come.
    const sim::Rate share = sent[i] * (1.0 / parts);
    if (!costs.cut_through) {
      const Time last = transfer_time(pieces.last, p.local);
      const Time before =
          pieces.count > 1 ? transfer_time(pieces.size, p.local) - transfer_time(pieces.last, share) : Time{};
      const bool slow = p.local < share;
      flow.fixed.add(sim::Cause::sm, slow ? transfer_time(pieces.at(0), share) : last + std::max(Time{}, before));
    }
    s.flows.push_back(std::move(flow));
  }
  return s;
}

}  // namespace linkcast::workloads
