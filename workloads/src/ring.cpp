// Ring all_reduce, all_gather and reduce_scatter (NCCL device/all_reduce.h): every rank of a channel sends, n-2 times
// receives and sends on (twice that for all_reduce), and at last takes the result out of its FIFO. All ranks work from
// the start, so there is no fill; a channel's loops follow each other without a barrier.
#include <algorithm>
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

sim::Connection connection(const Lane& lane, const Costs& costs, int slots, std::uint32_t from, std::uint32_t to) {
  sim::Connection c;
  c.from = sim::AgentId{from};
  c.to = sim::AgentId{to};
  c.slots = slots;
  c.latency = costs.protocol.hop + lane.latency;
  c.credit_latency = c.latency;
  add_usages(c.usages, lane.usages, costs.on(lane));
  return c;
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Plan& plan,
                                                       const Costs& costs, int sends) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  const int n = c.comm.ranks();
  std::map<std::int64_t, std::uint32_t> patterns;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const auto order = c.comm.ring(channel);
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const auto pattern = patterns.emplace(bytes.count(), static_cast<std::uint32_t>(patterns.size())).first->second;
    const auto units = std::make_shared<const RingUnits>(loops_of(bytes, n, plan), sends);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    const auto first_connection = static_cast<std::uint32_t>(program->connections.size());
    const auto ring = static_cast<std::uint32_t>(n);
    for (std::uint32_t i = 0; i < ring; ++i) {
      const sim::ConnectionId to{first_connection + i};
      const sim::ConnectionId from{first_connection + (i + ring - 1) % ring};
      sim::Agent agent;
      agent.units = units->count();
      agent.pattern = pattern;
      agent.pipelined = false;
      agent.at = [units, from, to](std::int64_t k, sim::Unit& out) { units->at(k, from, to, out); };
      program->agents.push_back(std::move(agent));
      const auto& lane = c.lanes.between(order[i], order[(i + 1) % ring]);
      program->connections.push_back(connection(lane, costs, plan.slots, first + i, first + (i + 1) % ring));
    }
  }
  return program;
}

/// How long one channel takes in steady company (every channel at the same step, each at the rate `share`), by the
/// recursion that the chunk engine executes; see docs/models.md for the derivation.
Time channel_time(const std::vector<Loops>& loops, int sends, const Costs& costs, const std::vector<Time>& hops,
                  sim::Rate share) {
  const auto& p = costs.protocol;
  // A message visits the edges in turn: what counts over many steps is the mean of what they take.
  const auto mean = [&](auto of) {
    Time sum;
    for (const Time hop : hops) sum += of(hop);
    return sum / static_cast<std::int64_t>(hops.size());
  };
  Time total;
  for (const auto& l : loops) {
    const Time move = transfer_time(l.slice(0), share);
    const Time take = transfer_time(l.slice(0), p.local);
    Time loop;
    if (costs.cut_through) {
      const Time period = mean([&](Time hop) { return p.overhead + std::max(move, hop); });
      loop = (sends - 1) * period +
             mean([&](Time hop) { return std::max(period + p.overhead + take, p.overhead + move + hop); });
    } else {
      const Time send = p.overhead + move;
      const Time step = mean([&](Time hop) { return std::max(l.slices * send, send + hop); });
      const Time local = p.overhead + take;
      // The last step waits for the own sends, then takes slice by slice what has arrived.
      loop = (sends - 1) * step + mean([&](Time hop) {
               const Time first = std::max(l.slices * send, send + hop);
               return std::max(first + l.slices * local, l.slices * send + hop + local);
             });
    }
    total += l.count * loop;
  }
  return total;
}

/// Channels whose rings visit the ranks in the same cyclic order load the same links: one flow.
struct Group {
  std::vector<int> order;
  std::vector<int> channels;
  Bytes largest;  // of one channel
  Bytes sum;      // of all
};

std::vector<Group> group_by_ring(const Context& c, const models::nccl::Plan& plan) {
  std::map<std::vector<int>, Group> groups;
  for (int channel = 0; channel < plan.channels; ++channel) {
    auto order = c.comm.ring(channel);
    std::rotate(order.begin(), std::min_element(order.begin(), order.end()), order.end());
    auto& g = groups[order];
    g.order = order;
    g.channels.push_back(channel);
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    g.largest = std::max(g.largest, bytes);
    g.sum += bytes;
  }
  std::vector<Group> out;
  for (auto& [_, g] : groups) out.push_back(std::move(g));
  return out;
}

}  // namespace

Schedule build_ring(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  const int n = c.comm.ranks();
  const int sends = sends_per_loop(call.op, n);
  const Costs costs = costs_of(c.gpu, plan.choice.protocol);
  Schedule s;
  s.channels = plan.channels;

  const auto groups = group_by_ring(c, plan);
  std::vector<std::vector<sim::Usage>> usages;
  std::vector<sim::Rate> caps;
  std::vector<std::vector<Time>> hops;
  for (const auto& g : groups) {
    UsageSum sum{c.resources};
    auto& of_edges = hops.emplace_back();
    for (std::size_t i = 0; i < g.order.size(); ++i) {
      const auto& lane = c.lanes.between(g.order[i], g.order[(i + 1) % g.order.size()]);
      sum.add(lane.usages, costs.on(lane));
      of_edges.push_back(costs.protocol.hop + lane.latency);
    }
    usages.push_back(sum.take());
    caps.push_back(costs.protocol.send * (static_cast<double>(g.sum.count()) / static_cast<double>(g.largest.count())));
  }
  const auto rates = rates_together(c.resources, usages, caps);

  Time slack;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& g = groups[i];
    const double largest_part = static_cast<double>(g.largest.count()) / static_cast<double>(g.sum.count());
    const sim::Rate share = rates[i] * largest_part;
    const auto edge_bytes = [&](Bytes b) { return Bytes{ceil_div(b.count() * sends, n)}; };
    const Time moving = transfer_time(edge_bytes(g.largest), share);
    if (plan.choice.protocol == models::nccl::Protocol::simple)
      slack = std::max(slack, jitter(c.gpu.jitter, moving, share, costs.protocol.send));
    if (f == Fidelity::chunk) continue;
    const auto loops = loops_of(g.largest, n, plan);
    Time local;
    for (const auto& l : loops) local += l.count * transfer_time(l.slice(0), costs.protocol.local);
    sim::PipelinedFlow flow;
    flow.bytes = edge_bytes(g.sum);
    flow.usages = usages[i];
    flow.cap = caps[i];
    const Time all = channel_time(loops, sends, costs, hops[i], share);
    flow.fixed.add(sim::Cause::sm, local);
    flow.fixed.add(sim::Cause::latency, std::max(Time{}, all - moving - local));
    s.flows.push_back(std::move(flow));
  }
  s.jitter.add(sim::Cause::wait, slack);
  if (f == Fidelity::chunk) s.program = chunk_program(c, plan, costs, sends);
  return s;
}

}  // namespace linkcast::workloads
