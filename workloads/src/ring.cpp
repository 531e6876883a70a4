// Ring all_reduce, all_gather and reduce_scatter (NCCL device/all_reduce.h): every rank of a channel sends, n-2 times
// receives and sends on (twice that for all_reduce), and at last takes the result out of its FIFO. All ranks work from
// the start, so there is no fill; a channel's loops follow each other without a barrier.
#include <algorithm>
#include <array>
#include <map>

#include "jitter.hpp"
#include "pieces.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using sim::Bytes;
using sim::Time;

/// Sends of one rank in one loop; one more step takes the result out.
int sends_per_loop(Op op, int n) { return op == Op::all_reduce ? 2 * (n - 1) : n - 1; }

/// Equal loops: `count` times n blocks of `block` bytes, each handed on in `slices` units.
struct Loops {
  std::int64_t count = 0;
  Bytes block;
  int slices = 1;
  Bytes slice(int i) const {  // the first slices carry what does not divide
    const auto full = ceil_div(block.count(), slices);
    return Bytes{std::min(full, block.count() - full * i)};
  }
};

/// A channel's bytes as full loops and one shorter one.
std::vector<Loops> loops_of(Bytes channel, int n, const models::nccl::Plan& plan) {
  const auto slices_of = [&](Bytes block) { return block >= plan.slice_min * 2 ? plan.slices : 1; };
  std::vector<Loops> loops;
  const Bytes loop = plan.chunk * n;
  const std::int64_t full = channel / loop;
  if (full > 0) loops.push_back({full, plan.chunk, slices_of(plan.chunk)});
  const Bytes rest = channel - loop * full;
  if (rest.count() > 0) {
    const Bytes block{ceil_div(rest.count(), n)};
    loops.push_back({1, block, slices_of(block)});
  }
  return loops;
}

/// The units of one rank in one channel: which step and slice is unit i.
class RingUnits {
 public:
  RingUnits(std::vector<Loops> loops, int sends) : loops_{std::move(loops)}, steps_{sends + 1} {}
  std::int64_t count() const {
    std::int64_t n = 0;
    for (const auto& l : loops_) n += l.count * steps_ * l.slices;
    return n;
  }
  /// What a rank sends: all units but the last step's.
  std::int64_t sent() const { return count() / steps_ * (steps_ - 1); }
  Bytes sent_bytes(std::int64_t i) const {
    for (const auto& l : loops_) {
      const std::int64_t per_loop = std::int64_t{steps_ - 1} * l.slices;
      if (i < l.count * per_loop) return l.slice(static_cast<int>(i % per_loop % l.slices));
      i -= l.count * per_loop;
    }
    return Bytes{};
  }
  void at(std::int64_t i, sim::ConnectionId from, sim::ConnectionId to, sim::Unit& out) const {
    for (const auto& l : loops_) {
      const std::int64_t per_loop = std::int64_t{steps_} * l.slices;
      if (i >= l.count * per_loop) {
        i -= l.count * per_loop;
        continue;
      }
      const auto in_loop = i % per_loop;
      const auto step = in_loop / l.slices;
      out.bytes = l.slice(static_cast<int>(in_loop % l.slices));
      out.receive.clear();
      out.send.clear();
      if (step > 0) out.receive.push_back(from);
      if (step + 1 < steps_) out.send.push_back(to);
      out.kind = step + 1 < steps_ ? kind_send : kind_local;
      return;
    }
  }

 private:
  std::vector<Loops> loops_;
  int steps_;
};

/// The hop from each node to the next one, for the channels of one group.
NetUse crossing(const Context& c, int channel, int node) {
  return {c.comm.ring_net(channel, node),
          static_cast<std::uint64_t>(channel) * 1'000'003 + static_cast<std::uint64_t>(node)};
}

/// One agent for each rank of each channel, in the order of the channel's ring, and one for each NIC on the way.
std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Plan& plan,
                                                       const Costs& costs, int sends) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  Connector connector{*program, c.edges, c.cluster.network().model(), costs, plan.slots};
  const int n = c.comm.ranks();
  const int nodes = c.comm.nodes();
  std::map<std::int64_t, std::uint32_t> patterns;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const auto order = c.comm.ring(channel);
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const auto pattern = 2 * patterns.emplace(bytes.count(), static_cast<std::uint32_t>(patterns.size())).first->second;
    const auto units = std::make_shared<const RingUnits>(loops_of(bytes, n, plan), sends);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    const auto ring = static_cast<std::uint32_t>(n);
    program->agents.resize(program->agents.size() + ring);
    std::vector<Connector::Ends> hop(ring);  // from the i-th rank to the next
    for (std::uint32_t i = 0; i < ring; ++i) {
      const sim::AgentId from{first + i}, to{first + (i + 1) % ring};
      const int a = order[i], b = order[(i + 1) % ring];
      const int node = c.edges.node_of(a);
      if (nodes == 1 || node == c.edges.node_of(b))
        hop[i] = connector.inside(node, c.edges.local_of(a), c.edges.local_of(b), from, to);
      else
        hop[i] = connector.across(
            std::array{crossing(c, channel, node)}, from, to, units->sent(),
            [units](std::int64_t k) { return units->sent_bytes(k); }, pattern + 1);
    }
    for (std::uint32_t i = 0; i < ring; ++i) {
      auto& agent = program->agents[first + i];
      agent.units = units->count();
      agent.pattern = pattern;
      agent.pipelined = false;
      const auto from = hop[(i + ring - 1) % ring].receive, to = hop[i].send;
      agent.at = [units, from, to](std::int64_t k, sim::Unit& out) { units->at(k, from, to, out); };
    }
  }
  return program;
}

using Hops = std::map<EdgeTime, std::int64_t>;  // how many hops of each kind

/// What a channel gets of the links while it sends: inside machines, and of the NICs. Channels share a NIC, but not in
/// step: while one waits for its neighbour, another sends. So a NIC alone decides how long one message takes, and only
/// its whole load how long all take.
struct Shares {
  sim::Rate inside, network;
};

/// How long one channel takes in steady company (every channel at the same step), by the recursion that the chunk
/// engine executes; docs/models.md has the derivation. A chunk visits the hops in turn, so what counts over many steps
/// is the mean of what they take, unless one hop is so slow that all wait for it.
Time channel_time(const std::vector<Loops>& loops, int sends, const Costs& costs, const Hops& hops, const Shares& r,
                  int slots) {
  const auto& p = costs.protocol;
  std::int64_t ranks = 0;
  for (const auto& [_, count] : hops) ranks += count;
  const auto mean = [&](auto of) {
    Time sum;
    for (const auto& [hop, count] : hops) sum += count * of(hop);
    return sum / ranks;
  };
  Time total;
  for (const auto& l : loops) {
    const Time move = transfer_time(l.slice(0), r.inside);
    const Time take = transfer_time(l.slice(0), p.local);
    const Time copy = p.overhead + transfer_time(l.slice(0), p.send);  // into the buffer that the NIC reads
    const auto nic = [&](const EdgeTime& hop) { return hop.message + transfer_time(l.slice(0), r.network); };
    // A slot is free again when its slice has gone there and word of it has come back: long ways are held back by that.
    const auto window = [&](const EdgeTime& hop) { return (2 * hop.hop + nic(hop)) / slots; };
    Time loop;
    if (costs.cut_through) {
      Time slowest;
      for (const auto& [hop, _] : hops)
        slowest = std::max(slowest, hop.network ? std::max({copy, nic(hop), window(hop)}) : p.overhead + move);
      const Time period =
          std::max(slowest, mean([&](const EdgeTime& hop) {
                     return hop.network ? copy + nic(hop) + hop.hop : p.overhead + std::max(move, hop.hop);
                   }));
      loop = (sends - 1) * period + mean([&](const EdgeTime& hop) {
               return hop.network ? std::max(period, copy + nic(hop) + hop.hop) + p.overhead + take
                                  : std::max(period + p.overhead + take, p.overhead + move + hop.hop);
             });
    } else {
      const auto busy = [&](const EdgeTime& hop) {
        return l.slices * (hop.network ? std::max({copy, nic(hop), window(hop)}) : p.overhead + move);
      };
      Time slowest;  // a chunk on the hop that is busy longest
      for (const auto& [hop, _] : hops) slowest = std::max(slowest, busy(hop));
      const auto through = [&](const EdgeTime& hop) {
        return hop.network ? copy + nic(hop) + hop.hop : p.overhead + move + hop.hop;
      };
      const Time step = std::max(slowest, mean([&](const EdgeTime& hop) { return std::max(busy(hop), through(hop)); }));
      const Time local = p.overhead + take;
      // The last step waits for the own sends, then takes slice by slice what has arrived.
      loop = (sends - 1) * step + mean([&](const EdgeTime& hop) {
               const Time first = std::max(slowest, through(hop));
               const Time last =
                   through(hop) + (l.slices - 1) * (hop.network ? std::max(copy, nic(hop)) : p.overhead + move);
               return std::max(first + l.slices * local, last + local);
             });
    }
    total += l.count * loop;
  }
  return total;
}

/// Channels whose rings visit the ranks in the same cyclic order over the same NICs load the same links: one flow.
std::vector<FlowShape::Flow> flows_of(const Context& c, int channels) {
  // The ring of node 0 and of node 1, and where they are left and entered: every other node repeats one of them (unlike
  // machines have the channels of their own searches, in the same pairs of channels).
  std::map<std::vector<int>, FlowShape::Flow> flows;
  for (int channel = 0; channel < channels; ++channel) {
    std::vector<int> key;
    for (int node = 0; node < std::min(c.comm.nodes(), 2); ++node) {
      const auto order = c.comm.ring_in_node(channel, node);
      if (c.comm.nodes() > 1) {
        const auto e = c.comm.ring_net(channel, node);
        key.insert(key.end(), {e.send_net, e.recv_net, e.send_proxy});
      }
      key.insert(key.end(), order.begin(), order.end());
      if (c.comm.nodes() == 1) std::rotate(key.begin(), std::min_element(key.begin(), key.end()), key.end());
    }
    if (c.cluster.kinds() > 1 || c.hashed()) key.push_back(channel);
    flows[std::move(key)].channels.push_back(channel);
  }
  std::vector<FlowShape::Flow> out;
  for (auto& [_, flow] : flows) out.push_back(std::move(flow));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.channels[0] < b.channels[0]; });
  return out;
}

/// What the ring of a channel puts on the links of the machines and of the network, for each byte on every hop.
void add_ring(const Context& c, int channel, const Costs& costs, UsageSum& inside, UsageSum& network, Hops& hops) {
  const int nodes = c.comm.nodes();
  for (int node = 0; node < nodes; ++node) {
    const auto order = c.comm.ring_in_node(channel, node);
    const std::size_t edges = nodes == 1 ? order.size() : order.size() - 1;
    for (std::size_t i = 0; i < edges; ++i) {
      const int from = order[i], to = order[(i + 1) % order.size()];
      const Lane& lane = c.edges.lane(node, from, to);
      c.edges.add_lane(inside, node, from, to, costs.on(lane));
      ++hops[c.edges.time(lane, costs)];
    }
    if (nodes == 1) continue;
    const NetUse use = crossing(c, channel, node);
    c.edges.add_relay(inside, use, costs.wire);
    c.edges.add_wire(network, use, costs.wire);
    ++hops[c.edges.time(use, costs)];
  }
}

FlowShape shape_of(const Context& c, int channels, const Costs& costs) {
  FlowShape shape;
  shape.flows = flows_of(c, channels);
  ShapeBuilder builder{c.resources, shape.flows.size()};
  for (std::size_t i = 0; i < shape.flows.size(); ++i) {
    auto& flow = shape.flows[i];
    add_ring(c, flow.channels[0], costs, builder.inside(i), builder.network(i), flow.hops);
  }
  builder.finish(shape, c.classify);
  return shape;
}

}  // namespace

Schedule build_ring(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  const int n = c.comm.ranks();
  const int sends = sends_per_loop(call.op, n);
  const auto protocol = plan.choice.protocol;
  const Costs costs = costs_of(c.gpu, protocol, plan.channels);
  Schedule s;
  s.channels = plan.channels;
  if (f != Fidelity::flow) s.program = chunk_program(c, plan, costs, sends);
  const auto shape = shape_for(c, plan.choice.algorithm, protocol, plan.channels,
                               [&](int channels) { return shape_of(c, channels, costs); });
  s.classes = f == Fidelity::flow ? shape->classes : nullptr;

  // While they send, channels have the links inside for themselves where the network is what holds them back, and the
  // other way round.
  const sim::Rate flow_rate = c.cluster.network().model().flow_rate;
  const Shares shares{std::min(costs.protocol.send, shape->inside), std::min(flow_rate, shape->network_alone)};
  struct Part {
    Bytes largest, sum;  // of one channel, of all that are this flow
  };
  std::vector<Part> parts;
  std::vector<std::vector<sim::Usage>> usages;
  std::vector<sim::Rate> caps;
  for (const auto& flow : shape->flows) {
    Part part;
    for (const int channel : flow.channels) {
      const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
      part.largest = std::max(part.largest, bytes);
      part.sum += bytes;
    }
    const double channels = static_cast<double>(part.sum.count()) / static_cast<double>(part.largest.count());
    parts.push_back(part);
    usages.push_back(flow.usages);
    const sim::Rate cap = c.comm.nodes() > 1 ? std::min(costs.protocol.send, flow_rate) : costs.protocol.send;
    caps.push_back(cap * channels);
  }
  const auto rates = rates_together(shape->classes ? shape->classes->table : c.resources, usages, caps);

  Time slack;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [largest, sum] = parts[i];
    const double largest_part = static_cast<double>(largest.count()) / static_cast<double>(sum.count());
    const sim::Rate share = rates[i] * largest_part;
    const auto edge_bytes = [&](Bytes b) { return Bytes{ceil_div(b.count() * sends, n)}; };
    const Time moving = transfer_time(edge_bytes(largest), share);
    if (protocol == models::nccl::Protocol::simple)
      slack = std::max(slack, jitter(c.gpu.jitter, moving, share, costs.protocol.send));
    if (f != Fidelity::flow) continue;
    const auto loops = loops_of(largest, n, plan);
    Time local;
    for (const auto& l : loops) local += l.count * transfer_time(l.slice(0), costs.protocol.local);
    sim::PipelinedFlow flow;
    flow.bytes = edge_bytes(sum);
    flow.usages = std::move(usages[i]);
    flow.cap = caps[i];
    const bool several = c.comm.nodes() > 1;
    Time all =
        channel_time(loops, sends, costs, shape->flows[i].hops, several ? shares : Shares{share, share}, plan.slots);
    if (several) {
      // At least what the busiest link takes, after the first chunk has come round to it and before the last is taken.
      Time round;
      for (const auto& [hop, count] : shape->flows[i].hops) round = std::max(round, hop.hop + hop.message);
      all = std::max(all, moving + local + round + costs.protocol.overhead);
    }
    flow.fixed.add(sim::Cause::sm, local);
    flow.fixed.add(sim::Cause::latency, std::max(Time{}, all - moving - local));
    s.flows.push_back(std::move(flow));
  }
  s.jitter.add(sim::Cause::wait, slack);
  return s;
}

}  // namespace linkcast::workloads
