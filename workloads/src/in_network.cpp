// Reduction in the network (CollNet: SHARP): one rank for each slice of a machine, its head, sends to the switches,
// which reduce on the way up a tree and multicast on the way down: each NIC carries S/H out and S/H in, whatever the
// number of machines. Inside a machine the slices are gathered at the heads by the NVSwitch (NVLS), by all-to-all
// (CollNetDirect), or along a line (CollNetChain).
//
// At `chunk` it is simulated as at `flow`: the switches' own pipelining has no public description to follow.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "jitter.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "pieces.hpp"
#include "ports.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Algorithm;
using models::nccl::Op;
using sim::Bytes;
using sim::Time;

/// Bytes for each byte of the call's size: of one head out and in (all heads together), of the switch inside.
struct Traffic {
  double out = 1, in = 1, reads = 1, stores = 1;
};

Traffic traffic_of(Op op, int nodes) {
  const double n = nodes;
  if (op == Op::all_gather) return {1 / n, (n - 1) / n, 0, 1};
  if (op == Op::reduce_scatter) return {(n - 1) / n, 1 / n, 1, 0};
  return {};
}

void add_inside(const Context& c, Algorithm algorithm, const Traffic& t, int node, int channel, const Costs& costs,
                UsageSum& sum) {
  const auto& machine = c.cluster.machine(node);
  const auto heads = c.comm.collnet_heads_in_node(node);
  const int locals = c.edges.locals();
  if (algorithm == Algorithm::collnet_chain) {
    const auto line = c.comm.collnet_chain_in_node(channel, node);
    for (std::size_t i = 1; i < line.size(); ++i) {
      c.edges.add_lane(sum, node, line[i], line[i - 1], t.reads * costs.wire);
      c.edges.add_lane(sum, node, line[i - 1], line[i], t.stores * costs.wire);
    }
    return;
  }
  const double part = 1.0 / static_cast<double>(std::max<std::size_t>(1, heads.size()));
  for (int r = 0; r < locals; ++r) {
    if (algorithm == Algorithm::collnet_direct) {
      for (const int head : heads) {
        if (head == r) continue;
        c.edges.add_lane(sum, node, r, head, t.reads * part);
        c.edges.add_lane(sum, node, head, r, t.stores * part);
      }
      continue;
    }
    const auto& gpu = machine.gpu_model(machine.gpus()[static_cast<std::size_t>(r)]);
    const double own = part * static_cast<double>(std::count(heads.begin(), heads.end(), r));
    for (const bool out : {true, false}) {
      const double weight = out ? t.reads + own * t.stores : t.stores + own * t.reads;
      if (weight <= 0) continue;
      for (const auto& u : port(machine, gpu, r, out, PortTraffic::in_switch))
        sum.add(c.cluster.resource(node, u.resource), u.weight * weight);
    }
  }
}

/// The heads' NICs, and the cables of a reduction tree over the leaves that they hang from: what many leaves send
/// towards the root meets in a switch and goes on as one stream, so that a cable carries it once. The trees of the
/// heads, and the several that SHARP makes for each, are spread over the ways as the network spreads a flow.
Time add_network(const Context& c, const Traffic& t, int heads, const Costs& costs, UsageSum& sum) {
  const auto& network = c.cluster.network();
  const auto ports = network.ports();
  std::vector<std::uint32_t> leaf_of(ports, 0), cable_of(ports, ~0U);
  for (std::uint32_t i = 0; i < network.cables().size(); ++i) {
    const auto& cable = network.cables()[i];
    if (cable.up && cable.a < ports) leaf_of[cable.a] = cable.b, cable_of[cable.a] = i;
  }
  Time slowest;
  const double share = 1.0 / heads;
  for (int h = 0; h < heads; ++h) {
    std::set<std::uint32_t> leaves;
    std::map<std::pair<topologies::CableId, bool>, double> tree;
    topologies::NicPlace root{};
    for (int node = 0; node < c.comm.nodes(); ++node) {
      NetUse use{c.comm.collnet_net(h, node), static_cast<std::uint64_t>(h)};
      use.edge.to = use.edge.from;
      c.edges.add_sender(sum, use, t.out * share);
      c.edges.add_receiver(sum, use, t.in * share);
      const auto nic = c.edges.sending_nic(use);
      if (node == 0) root = nic;
      std::vector<std::uint32_t> plugged;
      for (const auto p : network.ports_of(nic.node, nic.nic))
        if (cable_of[static_cast<std::uint32_t>(p)] != ~0U) plugged.push_back(static_cast<std::uint32_t>(p));
      for (const auto end : plugged) {
        const double part = share / static_cast<double>(plugged.size());
        sum.add(c.cluster.cable(topologies::CableId{cable_of[end]}, true), t.out * part);
        sum.add(c.cluster.cable(topologies::CableId{cable_of[end]}, false), t.in * part);
        if (leaves.insert(leaf_of[end]).second && node > 0) {
          const auto inner = [&](topologies::CableId id, bool forward, double w) {
            if (network.cables()[static_cast<std::size_t>(id)].a < ports) return;
            auto& once = tree[{id, forward}];
            once = std::max(once, w);
          };
          network.add(nic, root, t.out * share, use.flow, inner);
          network.add(root, nic, t.in * share, use.flow, inner);
        }
      }
      const Time hop = c.edges.nic_time(use, costs).hop;
      const auto way = network.way(nic, root);
      if (node > 0 && !way)
        throw sim::InputError(fmt::format("{}: no way from {}.nic[{}] to {}.nic[{}]", c.cluster.name(),
                                          c.cluster.node_name(node), nic.nic, c.cluster.node_name(0), root.nic),
                              "a cable or a switch is missing or down, or nothing joins these rails");
      slowest = std::max(slowest, node > 0 ? hop + way->latency : hop);
    }
    for (const auto& [at, weight] : tree) sum.add(c.cluster.cable(at.first, at.second), weight);
  }
  return slowest + network.model().reduction;
}

}  // namespace

Schedule build_in_network(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan) {
  Schedule s;
  s.channels = plan.channels;
  const auto algorithm = plan.choice.algorithm;
  const Costs costs = costs_of(c.gpu, models::nccl::Protocol::simple, plan.channels);
  const int nodes = c.comm.nodes();
  const auto heads = static_cast<int>(c.comm.collnet_heads_in_node(0).size());
  if (heads == 0) throw sim::InternalError("reduction in the network without a head");
  const Traffic t = traffic_of(call.op, nodes);
  const auto shape = c.shapes.get({static_cast<int>(algorithm), static_cast<int>(call.op), plan.channels, 1}, [&] {
    FlowShape made;
    made.flows.emplace_back();
    for (int channel = 0; channel < plan.channels; ++channel) made.flows[0].channels.push_back(channel);
    ShapeBuilder builder{c.resources, 1};
    for (int node = 0; node < nodes; ++node) add_inside(c, algorithm, t, node, 0, costs, builder.inside(0));
    made.flows[0].there_and_back = add_network(c, t, heads, costs, builder.network(0));
    builder.finish(made, c.classify);
    // inside and network are rates of the whole call here: its channels are one flow
    made.inside = scaled(made.inside, plan.channels);
    return made;
  });
  s.classes = shape->classes;
  const auto& p = costs.protocol;
  const bool nvls = algorithm == Algorithm::nvls;
  const Bytes largest = *std::max_element(plan.channel_bytes.begin(), plan.channel_bytes.end());
  const Bytes loop = std::min(plan.chunk * heads, largest);
  const sim::Rate block = nvls ? c.gpu.simple.local : p.send;
  const Time overhead = nvls ? c.gpu.nvls_tree_overhead : p.overhead;
  const Time work = overhead + transfer_time(loop, std::min(block, scaled(shape->inside, 1.0 / plan.channels)));
  sim::PipelinedFlow flow;
  flow.bytes = call.bytes;
  flow.usages = shape->flows[0].usages;
  flow.cap = sim::Rate::from_GBps(static_cast<double>(loop.count()) / work.us() * 1e-3) *
             (static_cast<double>(call.bytes.count()) / static_cast<double>(largest.count()));
  flow.fixed.add(sim::Cause::latency, shape->flows[0].there_and_back);
  if (nvls) {
    flow.fixed.add(sim::Cause::latency, c.gpu.nvls_latency);
    const Time moving = transfer_time(call.bytes, shape->inside);
    s.jitter.add(sim::Cause::wait, bounded_jitter(c.gpu.nvls_jitter, moving, c.gpu.nvls_jitter_bound));
  } else {
    const int hops = algorithm == Algorithm::collnet_chain ? 2 * (c.edges.locals() - 1) : 2;
    flow.fixed.add(sim::Cause::latency, hops * (p.overhead + p.hop));
  }
  flow.fixed.add(sim::Cause::fill, work);
  s.flows.push_back(std::move(flow));
  return s;
}

}  // namespace linkcast::workloads
