// Send/recv and what NCCL builds from it: alltoall, sendrecv, gather, scatter (NCCL.md 3.7). A message is cut into parts,
// one per channel; a channel's block works on up to eight sends and receives at once and shares its threads among them.
#include <algorithm>
#include <map>

#include "messages.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using sim::Bytes;
using sim::Time;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// How many parts of different messages one channel works on at once.
int company(const Context& c, const std::vector<Message>& list, const models::nccl::P2pPlan& plan) {
  std::vector<int> sends(static_cast<std::size_t>(c.comm.ranks()), 0);
  for (const auto& m : list) ++sends[static_cast<std::size_t>(m.from)];
  const int peers = *std::max_element(sends.begin(), sends.end());
  const auto works = ceil_div(std::int64_t{peers} * plan.channels_per_peer, std::max(1, c.comm.channels().p2p));
  return static_cast<int>(std::min<std::int64_t>(works, std::max(1, plan.concurrent / 2)));
}

/// What a part gets of its block. The work per chunk counts into the block's own rate, chunk / (overhead + chunk / rate):
/// the parts of different channels are not in step as a ring's are, so where a link is the limit it never waits for that
/// work (two A100 over PCIe reach the link's rate with chunks of 128 KiB).
Costs shared(Costs costs, int works, Bytes chunk) {
  const auto with_overhead = [&](sim::Rate rate) {
    const Time whole = costs.protocol.overhead + transfer_time(chunk, rate * (1.0 / works));
    return sim::Rate::from_GBps(static_cast<double>(chunk.count()) / whole.us() * 1e-3);
  };
  costs.protocol.send = with_overhead(costs.protocol.send);
  costs.protocol.local = with_overhead(costs.protocol.local);
  return costs;
}

struct Pieces {
  std::int64_t count;
  Bytes size, last;
};

Pieces pieces_of(Bytes bytes, Bytes chunk) {
  const auto n = std::max<std::int64_t>(1, ceil_div(bytes.count(), chunk.count()));
  return {n, chunk, bytes - chunk * (n - 1)};
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const std::vector<Message>& list,
                                                       const models::nccl::P2pPlan& plan, const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  for (auto& kind : program->kinds) kind.overhead = Time{};   // in the rates, see shared()
  std::map<std::int64_t, std::uint32_t> patterns;
  for (const auto& m : list) {
    const auto& lane = c.lanes.between(m.from, m.to);
    const Bytes part{ceil_div(m.bytes.count(), plan.channels_per_peer)};
    Bytes left = m.bytes;
    while (left.count() > 0) {
      const Bytes mine = std::min(part, left);
      left -= mine;
      const Pieces pieces = pieces_of(mine, plan.chunk);
      const auto pattern = 2 * patterns.emplace(mine.count(), static_cast<std::uint32_t>(patterns.size())).first->second;
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
          u.bytes = k + 1 < pieces.count ? pieces.size : pieces.last;
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
  if (messages.list.empty()) return s;
  const Bytes message = messages.list.front().bytes;
  const auto plan = c.comm.p2p_plan(call, message);
  s.protocol = std::string(name_of(plan.protocol));
  s.channels = std::min(c.comm.channels().p2p, plan.channels_per_peer * static_cast<int>(messages.list.size()) /
                                                   std::max(1, c.comm.ranks()));
  s.channels = std::max(s.channels, plan.channels_per_peer);
  Costs block = costs_of(c.gpu, plan.protocol);
  if (plan.protocol == models::nccl::Protocol::simple) block.protocol.send = c.gpu.p2p_channel;
  const Bytes part{ceil_div(message.count(), plan.channels_per_peer)};
  const Costs costs = shared(block, company(c, messages.list, plan), std::min(plan.chunk, part));
  if (f == Fidelity::chunk) {
    s.program = chunk_program(c, messages.list, plan, costs);
    return s;
  }
  const double parts = static_cast<double>(message.count()) / static_cast<double>(part.count());
  const Pieces pieces = pieces_of(part, plan.chunk);
  const auto& p = costs.protocol;
  for (const auto& m : messages.list) {
    const auto& lane = c.lanes.between(m.from, m.to);
    sim::PipelinedFlow flow;
    flow.bytes = m.bytes;
    add_usages(flow.usages, lane.usages, costs.on(lane));
    flow.cap = std::min(p.send, p.local) * parts;
    const Time hop = p.hop + lane.latency;
    flow.fixed.add(sim::Cause::latency, hop);
    const Time last = transfer_time(pieces.last, p.local);
    flow.fixed.add(sim::Cause::sm, costs.cut_through ? std::max(Time{}, last - transfer_time(pieces.last, p.send)) : last);
    s.flows.push_back(std::move(flow));
  }
  return s;
}

}  // namespace linkcast::workloads
