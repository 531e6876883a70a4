// Ring broadcast and reduce (NCCL device/broadcast.h): a line of ranks that hands chunks on.
//
// The line hands over in pieces much smaller than a chunk. On eight A100 a broadcast takes 55 to 66 us longer than its
// bytes at the line's rate, from 3 MiB to 384 MiB (corpus a100-80x8-broadcast-cw), where six hand-overs of whole 512
// KiB chunks would take 300 us: it pays the latency of every hop, but no chunk-sized fill. So a rank starts a chunk
// when its head arrives, in Simple too.
#include <algorithm>
#include <array>
#include <cmath>
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

/// The hop between machines that follows the last rank of `node` in a channel's ring.
NetUse crossing(const Context& c, int channel, int node) {
  return {c.comm.ring_net(channel, node),
          static_cast<std::uint64_t>(channel) * 1'000'003 + static_cast<std::uint64_t>(node)};
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Call& call,
                                                       const models::nccl::Plan& plan, const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  Connector connector{*program, c.edges, c.cluster.network().model(), costs, 8};  // NCCL_STEPS, one step a chunk here
  std::map<std::pair<std::int64_t, int>, std::uint32_t> patterns;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const auto line = line_of(c, call, channel);
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const Pieces pieces = pieces_of(bytes, plan.chunk);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    const auto n = static_cast<std::uint32_t>(line.size());
    program->agents.resize(program->agents.size() + n);
    const auto pattern_of = [&](int place) {
      return patterns.emplace(std::pair{bytes.count(), place}, static_cast<std::uint32_t>(patterns.size()))
          .first->second;
    };
    constexpr int of_a_nic = 4;
    std::vector<Connector::Ends> hop(n);  // from the i-th rank to the next
    for (std::uint32_t i = 0; i + 1 < n; ++i) {
      const sim::AgentId from{first + i}, to{first + i + 1};
      const int node = c.edges.node_of(line[i]);
      if (node == c.edges.node_of(line[i + 1]))
        hop[i] = connector.inside(node, c.edges.local_of(line[i]), c.edges.local_of(line[i + 1]), from, to);
      else
        hop[i] = connector.across(
            std::array{crossing(c, channel, node)}, from, to, pieces.count,
            [pieces](std::int64_t k) { return pieces.at(k); }, pattern_of(of_a_nic));
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      const bool sends = i + 1 < n;
      const bool receives = i > 0;
      auto& agent = program->agents[first + i];
      agent.units = pieces.count;
      agent.pattern = pattern_of((receives ? 1 : 0) + (sends ? 2 : 0));
      const auto from = receives ? hop[i - 1].receive : sim::ConnectionId{};
      const auto to = hop[i].send;
      agent.at = [=](std::int64_t k, sim::Unit& out) {
        out.bytes = pieces.at(k);
        out.receive.clear();
        out.send.clear();
        if (receives) out.receive.push_back(from);
        if (sends) out.send.push_back(to);
        out.kind = sends ? kind_send : kind_local;
      };
    }
  }
  return program;
}

/// When the first piece has reached the last rank of a line over several machines: inside them it is passed on while it
/// arrives; a NIC begins when it stands whole in its buffer.
Time first_piece_over_nodes(const Context& c, const std::vector<int>& line, int channel, const Costs& costs,
                            Bytes piece, sim::Rate inside, sim::Rate network) {
  const auto& p = costs.protocol;
  Time start = p.overhead + transfer_time(piece, inside);
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const int node = c.edges.node_of(line[i]);
    if (node == c.edges.node_of(line[i + 1])) {
      start +=
          p.overhead + p.hop + c.edges.lane(node, c.edges.local_of(line[i]), c.edges.local_of(line[i + 1])).latency;
    } else {
      const auto t = c.edges.time(crossing(c, channel, node), costs);
      // The copy into the NIC's buffer keeps up with what arrives; the next rank works on what the NIC brings, or is
      // slower.
      start += p.overhead + t.message + std::max(transfer_time(piece, network), transfer_time(piece, p.send)) + t.hop;
    }
  }
  return start;
}

/// When the first piece has reached the last rank, with all edges busy: every rank begins a hop and an overhead after
/// the one before it, and ends no earlier than a hop after that one has; where its own edge is the quicker, its
/// overhead hides behind that.
Time first_piece(const Context& c, const std::vector<int>& line, const Costs& costs, Bytes piece, double channels) {
  const auto& p = costs.protocol;
  std::vector<std::vector<sim::Usage>> edges;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const auto& lane = c.edges.lane(0, line[i], line[i + 1]);
    add_usages(edges.emplace_back(), lane.usages, costs.on(lane) * channels);
  }
  const auto rates = rates_together(c.resources, edges, std::vector<sim::Rate>(edges.size(), p.send));
  Time start, end;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Time hop = i > 0 ? p.hop + c.edges.lane(0, line[i - 1], line[i]).latency : Time{};
    if (i > 0) start += p.overhead + hop;
    const Time own = start + p.overhead + transfer_time(piece, rates[i]);
    end = i > 0 ? std::max(own, end + hop) : own;
  }
  return end + p.hop + c.edges.lane(0, line[line.size() - 2], line.back()).latency;
}

}  // namespace

Schedule build_chain(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  Costs costs = costs_of(c.gpu, plan.choice.protocol, plan.channels);
  costs.cut_through = true;
  Schedule s;
  s.channels = plan.channels;
  if (f != Fidelity::flow) {
    s.program = chunk_program(c, call, plan, costs);
    return s;
  }
  const bool several = c.comm.nodes() > 1;
  // One flow for all channels that take the same line (over the same NICs); their pieces move in step.
  struct Line {
    int channel = 0;
    Bytes largest, sum;
    double channels() const { return static_cast<double>(sum.count()) / static_cast<double>(largest.count()); }
  };
  std::map<std::pair<std::vector<int>, int>, Line> lines;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const int nic = !several ? 0 : c.hashed() ? channel : c.comm.ring_net(channel, 0).send_net;
    auto& line = lines[{line_of(c, call, channel), nic}];
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    if (line.sum.count() == 0) line.channel = channel;
    line.largest = std::max(line.largest, bytes);
    line.sum += bytes;
  }
  const sim::Rate flow_rate = c.cluster.network().model().flow_rate;
  FlowShape shape;
  ShapeBuilder builder{c.resources, lines.size()};
  std::vector<sim::Rate> caps;
  std::size_t i = 0;
  for (const auto& [key, line] : lines) {
    const auto& order = key.first;
    auto& flow = shape.flows.emplace_back();
    flow.channels.assign(static_cast<std::size_t>(std::lround(line.channels())), line.channel);
    for (std::size_t k = 0; k + 1 < order.size(); ++k) {
      const int node = c.edges.node_of(order[k]);
      if (node == c.edges.node_of(order[k + 1])) {
        const int a = c.edges.local_of(order[k]), b = c.edges.local_of(order[k + 1]);
        c.edges.add_lane(builder.inside(i), node, a, b, costs.on(c.edges.lane(node, a, b)));
      } else {
        const NetUse use = crossing(c, line.channel, node);
        c.edges.add_relay(builder.inside(i), use, costs.wire);
        c.edges.add_wire(builder.network(i), use, costs.wire);
      }
    }
    auto slowest = std::min(costs.protocol.send, costs.protocol.local);
    if (several) slowest = std::min(slowest, flow_rate);
    caps.push_back(slowest * line.channels());
    ++i;
  }
  builder.finish(shape, c.classify);
  s.classes = shape.classes;
  std::vector<std::vector<sim::Usage>> usages;
  for (auto& flow : shape.flows) usages.push_back(std::move(flow.usages));
  const auto rates = rates_together(shape.classes ? shape.classes->table : c.resources, usages, caps);
  i = 0;
  for (const auto& [key, line] : lines) {
    const double channels = line.channels();
    const Pieces pieces = pieces_of(line.largest, plan.chunk);
    const Bytes piece = pieces.at(0);
    sim::PipelinedFlow flow;
    flow.bytes = line.sum;
    flow.usages = usages[i];
    flow.cap = caps[i];
    const Time alone = transfer_time(piece, rates[i] * (1 / channels));
    const Time last = transfer_time(pieces.last, rates[i] * (1 / channels));
    const Time through = several ? first_piece_over_nodes(c, key.first, line.channel, costs, piece,
                                                          std::min(costs.protocol.send, shape.inside),
                                                          std::min(flow_rate, shape.network))
                                 : first_piece(c, key.first, costs, piece, channels);
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
