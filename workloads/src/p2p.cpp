// Send/recv and what NCCL builds from it: alltoall, sendrecv, gather, scatter (NCCL enqueue.cc, device/sendrecv.h). A
// message is cut into parts, one per channel; a channel's block works on up to eight sends and receives at once and
// shares its threads among them.
#include <algorithm>
#include <map>

#include "messages.hpp"
#include "p2p_block.hpp"
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

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const std::vector<Message>& list,
                                                       const models::nccl::P2pPlan& plan, const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  for (auto& kind : program->kinds) kind.overhead = Time{};  // in the rates, see shared()
  std::map<std::int64_t, std::uint32_t> patterns;
  for (const auto& m : list) {
    const auto& lane = c.edges.lane(0, m.from, m.to);
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
      Edges::travel(*program, wire, c.edges.lane_parts(0, m.from, m.to, costs.on(lane)));
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
  if (c.comm.nodes() > 1) return build_p2p_over_nodes(c, call, f);
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
  Costs costs = costs_of(c.gpu, plan.protocol, channels);
  if (plan.protocol == models::nccl::Protocol::simple) costs.protocol.send = c.gpu.p2p_channel;
  const Bytes part{ceil_div(message.count(), plan.channels_per_peer)};
  const Bytes chunk = std::min(plan.chunk, part);
  const Time overhead = costs.protocol.overhead;
  costs.protocol.send = block_share(costs.protocol.send, overhead, peers.sends, plan, channels, chunk);
  costs.protocol.local = block_share(costs.protocol.local, overhead, peers.receives, plan, channels, chunk);
  if (f != Fidelity::flow) {
    double usages = 0;
    for (const auto& m : messages) usages += static_cast<double>(c.edges.lane(0, m.from, m.to).usages.size());
    check_chunk_memory(c, call, parts_of(message, plan.channels_per_peer), 2,
                       usages / static_cast<double>(messages.size()));
    s.program = chunk_program(c, messages, plan, costs);
    return s;
  }
  const double parts = static_cast<double>(message.count()) / static_cast<double>(part.count());
  const Pieces pieces = pieces_of(part, plan.chunk);
  const auto& p = costs.protocol;
  std::vector<std::vector<sim::Usage>> usages(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& lane = c.edges.lane(0, messages[i].from, messages[i].to);
    add_usages(usages[i], lane.usages, costs.on(lane));
  }
  const std::vector<sim::Rate> caps(messages.size(), p.send * parts);
  const auto sent = rates_together(c.resources, usages, caps);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    sim::PipelinedFlow flow;
    flow.bytes = messages[i].bytes;
    flow.usages = std::move(usages[i]);
    flow.cap = std::min(p.send, p.local) * parts;
    flow.fixed.add(sim::Cause::latency, p.hop + c.edges.lane(0, messages[i].from, messages[i].to).latency);
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
