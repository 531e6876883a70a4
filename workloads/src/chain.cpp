// Ring broadcast and reduce (NCCL.md 3.3): a line of ranks that hands chunks on.
//
// The line hands over in pieces much smaller than a chunk. On eight A100 a broadcast takes 55 to 66 us longer than its
// bytes at the line's rate, from 3 MiB to 384 MiB (corpus a100-80x8-broadcast-cw), where six hand-overs of whole 512 KiB
// chunks would take 300 us: it pays the latency of every hop, but no chunk-sized fill. So a rank starts a chunk when its
// head arrives, in Simple too.
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
  std::rotate(order.begin(), root, order.end());                       // broadcast: the root first
  if (call.op == Op::reduce) std::rotate(order.begin(), order.begin() + 1, order.end());   // reduce: the root last
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
      agent.pattern = patterns.emplace(std::pair{bytes.count(), place}, static_cast<std::uint32_t>(patterns.size())).first->second;
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
  std::map<std::vector<int>, std::pair<Bytes, Bytes>> lines;   // largest, sum
  for (int channel = 0; channel < plan.channels; ++channel) {
    auto& [largest, sum] = lines[line_of(c, call, channel)];
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    largest = std::max(largest, bytes);
    sum += bytes;
  }
  std::vector<std::vector<sim::Usage>> usages;
  std::vector<sim::Rate> caps;
  std::vector<Time> hops;
  for (const auto& [line, bytes] : lines) {
    auto& u = usages.emplace_back();
    Time hop;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      const auto& lane = c.lanes.between(line[i], line[i + 1]);
      add_usages(u, lane.usages, costs.on(lane));
      hop += costs.protocol.hop + lane.latency;
    }
    hops.push_back(hop);
    const auto slowest = std::min(costs.protocol.send, costs.protocol.local);
    caps.push_back(slowest * (static_cast<double>(bytes.second.count()) / static_cast<double>(bytes.first.count())));
  }
  std::size_t i = 0;
  for (const auto& [line, bytes] : lines) {
    const auto& [largest, sum] = bytes;
    const Pieces pieces = pieces_of(largest, plan.chunk);
    const auto stages = static_cast<std::int64_t>(line.size()) - 1;   // hand-overs
    sim::PipelinedFlow flow;
    flow.bytes = sum;
    flow.usages = usages[i];
    flow.cap = caps[i];
    // The last rank only takes out: where that is quicker than the wire, its own overhead hides behind it.
    const Time overhead = costs.protocol.overhead;
    const bool hidden = overhead + transfer_time(pieces.last, costs.protocol.local) <= transfer_time(pieces.last, costs.protocol.send);
    flow.fixed.add(sim::Cause::latency, hops[i] + (stages + pieces.count - (hidden ? 1 : 0)) * overhead);
    s.flows.push_back(std::move(flow));
    ++i;
  }
  return s;
}

}  // namespace linkcast::workloads
