// Ring broadcast and reduce (NCCL device/broadcast.h): a line of ranks that hands chunks on.
//
// The line hands over in pieces much smaller than a chunk. On eight A100 a broadcast takes 55 to 66 us longer than its
// bytes at the line's rate, from 3 MiB to 384 MiB (corpus a100-80x8-broadcast-cw), where six hand-overs of whole 512
// KiB chunks would take 300 us: it pays the latency of every hop, but no chunk-sized fill. So a rank starts a chunk
// when its head arrives, in Simple too.
#include <algorithm>
#include <map>

#include "pieces.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using sim::Bytes;
using sim::Time;

/// The ranks of a channel from the first sender to the last receiver.
std::vector<int> line_of(const Context& c, const models::nccl::Call& call, int channel) {
  auto order = c.comm.ring(channel);
  const auto root = std::find(order.begin(), order.end(), call.root);
  std::rotate(order.begin(), root, order.end());                                          // broadcast: the root first
  if (call.op == Op::reduce) std::rotate(order.begin(), order.begin() + 1, order.end());  // reduce: the root last
  return order;
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Call& call,
                                                       const models::nccl::Plan& plan, const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  std::map<std::pair<std::int64_t, int>, std::uint32_t> patterns;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const auto line = line_of(c, call, channel);
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const Pieces pieces = pieces_of(bytes, plan.chunk);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    const auto first_connection = static_cast<std::uint32_t>(program->connections.size());
    const auto n = static_cast<std::uint32_t>(line.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      const bool sends = i + 1 < n;
      const bool receives = i > 0;
      const int place = (receives ? 1 : 0) + (sends ? 2 : 0);
      sim::Agent agent;
      agent.units = pieces.count;
      agent.pattern =
          patterns.emplace(std::pair{bytes.count(), place}, static_cast<std::uint32_t>(patterns.size())).first->second;
      const sim::ConnectionId from{first_connection + i - (receives ? 1u : 0u)};
      const sim::ConnectionId to{first_connection + i};
      agent.at = [=](std::int64_t k, sim::Unit& out) {
        out.bytes = pieces.at(k);
        out.receive.clear();
        out.send.clear();
        if (receives) out.receive.push_back(from);
        if (sends) out.send.push_back(to);
        out.kind = sends ? kind_send : kind_local;
      };
      program->agents.push_back(std::move(agent));
      if (!sends) continue;
      const auto& lane = c.lanes.between(line[i], line[i + 1]);
      sim::Connection connection;
      connection.from = sim::AgentId{first + i};
      connection.to = sim::AgentId{first + i + 1};
      connection.slots = 8;  // NCCL_STEPS, one step a chunk here
      connection.latency = costs.protocol.hop + lane.latency;
      connection.credit_latency = connection.latency;
      add_usages(connection.usages, lane.usages, costs.on(lane));
      program->connections.push_back(std::move(connection));
    }
  }
  return program;
}

/// When the first piece has reached the last rank, with all edges busy: every rank begins a hop and an overhead after
/// the one before it, and ends no earlier than a hop after that one has; where its own edge is the quicker, its
/// overhead hides behind that.
Time first_piece(const Context& c, const std::vector<int>& line, const Costs& costs, Bytes piece, double channels) {
  const auto& p = costs.protocol;
  std::vector<std::vector<sim::Usage>> edges;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const auto& lane = c.lanes.between(line[i], line[i + 1]);
    add_usages(edges.emplace_back(), lane.usages, costs.on(lane) * channels);
  }
  const auto rates = rates_together(c.resources, edges, std::vector<sim::Rate>(edges.size(), p.send));
  Time start, end;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Time hop = i > 0 ? p.hop + c.lanes.between(line[i - 1], line[i]).latency : Time{};
    if (i > 0) start += p.overhead + hop;
    const Time own = start + p.overhead + transfer_time(piece, rates[i]);
    end = i > 0 ? std::max(own, end + hop) : own;
  }
  return end + p.hop + c.lanes.between(line[line.size() - 2], line.back()).latency;
}

}  // namespace

Schedule build_chain(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  Costs costs = costs_of(c.gpu, plan.choice.protocol);
  costs.cut_through = true;
  Schedule s;
  s.channels = plan.channels;
  if (f == Fidelity::chunk) {
    s.program = chunk_program(c, call, plan, costs);
    return s;
  }
  // One flow for all channels that take the same line; their pieces move in step.
  std::map<std::vector<int>, std::pair<Bytes, Bytes>> lines;  // largest, sum
  for (int channel = 0; channel < plan.channels; ++channel) {
    auto& [largest, sum] = lines[line_of(c, call, channel)];
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    largest = std::max(largest, bytes);
    sum += bytes;
  }
  std::vector<std::vector<sim::Usage>> usages;
  std::vector<sim::Rate> caps;
  for (const auto& [line, bytes] : lines) {
    auto& u = usages.emplace_back();
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      const auto& lane = c.lanes.between(line[i], line[i + 1]);
      add_usages(u, lane.usages, costs.on(lane));
    }
    const auto slowest = std::min(costs.protocol.send, costs.protocol.local);
    caps.push_back(slowest * (static_cast<double>(bytes.second.count()) / static_cast<double>(bytes.first.count())));
  }
  const auto rates = rates_together(c.resources, usages, caps);
  std::size_t i = 0;
  for (const auto& [line, bytes] : lines) {
    const auto& [largest, sum] = bytes;
    const double channels = static_cast<double>(sum.count()) / static_cast<double>(largest.count());
    const Pieces pieces = pieces_of(largest, plan.chunk);
    const Bytes piece = pieces.at(0);
    sim::PipelinedFlow flow;
    flow.bytes = sum;
    flow.usages = usages[i];
    flow.cap = caps[i];
    const Time alone = transfer_time(piece, rates[i] * (1 / channels));
    const Time last = transfer_time(pieces.last, rates[i] * (1 / channels));
    const Time through = first_piece(c, line, costs, piece, channels);
    flow.fixed.add(sim::Cause::latency, std::max(Time{}, through - (pieces.count > 1 ? alone : last)) +
                                            (pieces.count - 1) * costs.protocol.overhead);
    // The last rank takes out what arrives; a short last piece may need longer for that than for its way.
    const Time take = costs.protocol.overhead + transfer_time(pieces.last, costs.protocol.local);
    flow.fixed.add(sim::Cause::latency, std::max(Time{}, take - last));
    s.flows.push_back(std::move(flow));
    ++i;
  }
  return s;
}

}  // namespace linkcast::workloads
