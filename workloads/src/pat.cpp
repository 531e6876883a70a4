// PAT all_gather and reduce_scatter (NCCL 2.23 and later, one GPU per node; NCCL collectives.h PatAGAlgorithm): blocks
// travel along binomial trees, far neighbours first, so that a rank waits for log2(n) hops and not for n - 1. The bytes
// are those of a ring. reduce_scatter runs the same trees backwards.
#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "pieces.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using sim::Bytes;
using sim::Time;

/// One phase: every rank sends `blocks` blocks to the rank that is `distance` further.
struct Phase {
  int distance = 1;
  std::int64_t blocks = 1;
};

/// Distances halve, blocks double: n - 1 in all.
std::vector<Phase> phases_of(Op op, int n) {
  std::vector<Phase> phases;
  std::int64_t have = 1;
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) / 2; distance >= 1; distance /= 2) {
    const std::int64_t blocks = std::min<std::int64_t>(have, n - have);
    if (blocks <= 0) break;
    phases.push_back({distance, blocks});
    have += blocks;
  }
  if (op == Op::reduce_scatter) std::reverse(phases.begin(), phases.end());
  return phases;
}

NetUse use_of(const Context& c, int from, int to, int channel) {
  // All of a node's ports serve its one rank: NCCL spreads the channels over them as in the ring.
  auto edge = c.comm.ring_net(channel, from);
  const auto back = c.comm.ring_net(channel, (to + c.comm.nodes() - 1) % c.comm.nodes());
  edge.to = to;
  edge.recv_net = back.recv_net;
  edge.recv_gdr = back.recv_gdr;
  return {edge, static_cast<std::uint64_t>(channel) * 1'000'003 + static_cast<std::uint64_t>(from)};
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Plan& plan,
                                                       const std::vector<Phase>& phases, const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  Connector connector{*program, c.edges, c.cluster.network().model(), costs, 8};
  const int n = c.comm.ranks();
  std::map<std::pair<std::int64_t, std::size_t>, std::uint32_t> patterns;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const Bytes block{ceil_div(plan.channel_bytes[static_cast<std::size_t>(channel)].count(), n)};
    const auto pattern = [&](std::size_t role) {
      return patterns.emplace(std::pair{block.count(), role}, static_cast<std::uint32_t>(patterns.size()))
          .first->second;
    };
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    program->agents.resize(program->agents.size() + static_cast<std::size_t>(n));
    const auto agent_of = [&](int r) { return sim::AgentId{first + static_cast<std::uint32_t>(r)}; };
    std::vector<std::vector<Connector::Ends>> out(static_cast<std::size_t>(n)), in(static_cast<std::size_t>(n));
    for (std::size_t p = 0; p < phases.size(); ++p) {
      for (int r = 0; r < n; ++r) {
        const int to = (r + phases[p].distance) % n;
        const auto ends = connector.across(
            std::array{use_of(c, r, to, channel)}, agent_of(r), agent_of(to), 1,
            [bytes = block * phases[p].blocks](std::int64_t) { return bytes; }, pattern(1 + p));
        out[static_cast<std::size_t>(r)].push_back(ends);
        in[static_cast<std::size_t>(to)].push_back(ends);
      }
    }
    for (int r = 0; r < n; ++r) {
      auto& agent = program->agents[static_cast<std::size_t>(agent_of(r))];
      agent.units = static_cast<std::int64_t>(phases.size()) + 1;
      agent.pattern = pattern(0);
      agent.pipelined = false;
      agent.at = [phases, block, out = out[static_cast<std::size_t>(r)], in = in[static_cast<std::size_t>(r)]](
                     std::int64_t k, sim::Unit& u) {
        const auto p = static_cast<std::size_t>(k);
        u.receive.clear();
        u.send.clear();
        if (k > 0) u.receive.push_back(in[p - 1].receive);
        if (p < phases.size()) u.send.push_back(out[p].send);
        u.kind = p < phases.size() ? kind_send : kind_local;
        u.bytes = block * (p < phases.size() ? phases[p].blocks : phases.back().blocks);
      };
    }
  }
  return program;
}

}  // namespace

Schedule build_pat(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  Schedule s;
  s.channels = plan.channels;
  const Costs costs = costs_of(c.gpu, models::nccl::Protocol::simple, plan.channels);
  const int n = c.comm.ranks();
  const auto phases = phases_of(call.op, n);
  if (f != Fidelity::flow) {
    s.program = chunk_program(c, plan, phases, costs);
    return s;
  }
  const auto shape =
      c.shapes.get({static_cast<int>(plan.choice.algorithm), static_cast<int>(call.op), plan.channels, 0}, [&] {
        FlowShape made;
        std::map<int, FlowShape::Flow> by_port;
        for (int channel = 0; channel < plan.channels; ++channel)
          by_port[c.hashed() ? channel : c.comm.ring_net(channel, 0).send_net].channels.push_back(channel);
        for (auto& [_, flow] : by_port) made.flows.push_back(std::move(flow));
        ShapeBuilder builder{c.resources, made.flows.size()};
        for (std::size_t i = 0; i < made.flows.size(); ++i) {
          auto& flow = made.flows[i];
          for (const auto& phase : phases) {
            EdgeTime slowest;
            for (int r = 0; r < n; ++r) {
              const auto use = use_of(c, r, (r + phase.distance) % n, flow.channels[0]);
              c.edges.add_wire(builder.network(i), use, static_cast<double>(phase.blocks) / n);
              slowest = std::max(slowest, c.edges.time(use, costs));
            }
            flow.there_and_back += slowest.hop + slowest.message;
          }
          flow.net_stages = static_cast<int>(phases.size());
        }
        builder.finish(made, c.classify);
        return made;
      });
  s.classes = shape->classes;
  const auto& p = costs.protocol;
  for (const auto& way : shape->flows) {
    Bytes largest, sum;
    for (const int channel : way.channels) {
      const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
      largest = std::max(largest, bytes);
      sum += bytes;
    }
    if (sum.count() == 0) continue;
    const double channels = static_cast<double>(sum.count()) / static_cast<double>(largest.count());
    sim::PipelinedFlow flow;
    flow.bytes = sum;
    flow.usages = way.usages;
    // A rank copies what it sends into the buffer that the NIC reads: (n - 1) / n of the bytes.
    flow.cap = std::min(p.send, c.cluster.network().model().flow_rate) * (channels * n / (n - 1));
    flow.fixed.add(sim::Cause::latency, way.there_and_back + (way.net_stages + 1) * p.overhead);
    // Large messages are cut into chunks: the first must come round, the last must be taken out.
    const Bytes first = std::min(plan.chunk, Bytes{ceil_div(largest.count(), n)});
    flow.fixed.add(sim::Cause::fill, way.net_stages * transfer_time(first, p.send) + transfer_time(first, p.local));
    s.flows.push_back(std::move(flow));
  }
  return s;
}

}  // namespace linkcast::workloads
