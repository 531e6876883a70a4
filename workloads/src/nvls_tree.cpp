// NVLSTree all_reduce (NCCL device/all_reduce.h, transport/nvls.cc): in each machine the switch reduces a slice into
// its head, the heads of one slice form a tree over the machines (even channels the first, odd ones the second of the
// double binary tree), each over its own NIC, and what comes down is multicast. Inside a machine it is NVLS
// (nvls.cpp); between machines every edge of the tree carries S/H up and S/H down on each of H NICs.
#include <algorithm>
#include <cmath>
#include <map>

#include "jitter.hpp"
#include "pieces.hpp"
#include "ports.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using sim::Bytes;
using sim::Time;

/// The NICs of all heads on the edge from `child` to its parent, or back.
std::vector<NetUse> net_uses(const Context& c, int channel, int child, bool up) {
  std::vector<NetUse> uses;
  const auto heads = static_cast<int>(c.comm.nvls_heads_in_node(child).size());
  for (int h = 0; h < heads; ++h) {
    const auto edge = up ? c.comm.nvls_tree_up_net(channel, h, child) : c.comm.nvls_tree_down_net(channel, h, child);
    const auto flow =
        ((static_cast<std::uint64_t>(channel) * 64 + static_cast<std::uint64_t>(h)) * 2 + (up ? 1 : 0)) * 1'000'003;
    uses.push_back({edge, flow + static_cast<std::uint64_t>(child)});
  }
  return uses;
}

/// What one byte of the vector puts on the links of a machine: the reads that the switch adds up, and the multicast.
void add_machine(const Context& c, int node, double reads, double stores, UsageSum& sum) {
  const auto& machine = c.cluster.machine(node);
  const auto heads = c.comm.nvls_heads_in_node(node);
  const double part = 1.0 / static_cast<double>(heads.size());
  for (int r = 0; r < c.cluster.gpus_per_node(); ++r) {
    const auto& gpu = machine.gpu_model(machine.gpus()[static_cast<std::size_t>(r)]);
    const double own = part * static_cast<double>(std::count(heads.begin(), heads.end(), r));
    const auto add = [&](bool out, double weight) {
      if (weight <= 0) return;
      for (const auto& u : port(machine, gpu, r, out, PortTraffic::in_switch))
        sum.add(c.cluster.resource(node, u.resource), u.weight * weight);
    };
    add(true, reads + own * stores);
    add(false, stores + own * reads);
  }
}

/// One machine's usages as a list.
std::vector<sim::Usage> machine_usages(const Context& c, int node, double reads, double stores) {
  UsageSum sum{c.resources};
  add_machine(c, node, reads, stores, sum);
  return sum.take();
}

std::vector<FlowShape::Flow> flows_of(const Context& c, int channels) {
  std::map<std::vector<int>, FlowShape::Flow> flows;
  for (int channel = 0; channel < channels; ++channel) {
    const int tree = c.comm.nvls_tree_index(channel);
    const int child = c.comm.tree_place(tree, 0).parent >= 0 ? 0 : 1;
    std::vector<int> key{tree};
    for (const auto& use : net_uses(c, channel, child, true))
      key.insert(key.end(), {use.edge.send_net, use.edge.recv_net, use.edge.send_proxy});
    if (c.hashed()) key.push_back(channel);
    flows[std::move(key)].channels.push_back(channel);
  }
  std::vector<FlowShape::Flow> out;
  for (auto& [_, flow] : flows) out.push_back(std::move(flow));
  return out;
}

/// Nodes whose edges tell how fast one message is (tree.cpp).
constexpr int sampled_nodes = 16;

/// What the heads' NICs together give one chunk while the channel's other edges pause.
sim::Rate rate_of_message(const Context& c, const std::vector<NetUse>& uses) {
  std::vector<sim::Usage> sum;
  for (const auto& use : uses) add_usages(sum, c.edges.wire(use), 1.0 / static_cast<double>(uses.size()));
  return rate_alone(c.resources, sum, sim::Rate::unlimited());
}

FlowShape shape_of(const Context& c, int channels, const Costs& costs) {
  FlowShape shape;
  shape.flows = flows_of(c, channels);
  ShapeBuilder builder{c.resources, shape.flows.size()};
  const int nodes = c.comm.nodes();
  for (std::size_t i = 0; i < shape.flows.size(); ++i) {
    auto& flow = shape.flows[i];
    const int channel = flow.channels[0];
    const int tree = c.comm.nvls_tree_index(channel);
    std::vector<Time> edge(static_cast<std::size_t>(nodes));  // from a node to its parent and back
    for (int node = 0; node < nodes; ++node) {
      add_machine(c, node, 1.0, 1.0, builder.inside(i));
      if (c.comm.tree_place(tree, node).parent < 0) continue;
      for (const bool up : {true, false}) {
        const auto uses = net_uses(c, channel, node, up);
        if (channel == 0 && node < sampled_nodes) shape.message = std::min(shape.message, rate_of_message(c, uses));
        for (const auto& use : uses) {
          c.edges.add_relay(builder.inside(i), use, 1.0 / static_cast<double>(uses.size()));
          c.edges.add_wire(builder.network(i), use, 1.0 / static_cast<double>(uses.size()));
        }
        const auto t = c.edges.time(uses.front(), costs);
        edge[static_cast<std::size_t>(node)] += t.hop + t.message;
        flow.farthest = std::max(flow.farthest, t.hop);
      }
    }
    for (int node = 0; node < nodes; ++node) {
      Time way;
      int depth = 0;
      for (int at = node; c.comm.tree_place(tree, at).parent >= 0; at = c.comm.tree_place(tree, at).parent) {
        way += edge[static_cast<std::size_t>(at)];
        ++depth;
      }
      flow.net_stages = std::max(flow.net_stages, depth);
      flow.there_and_back = std::max(flow.there_and_back, way);
    }
  }
  builder.finish(shape, c.classify);
  return shape;
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Plan& plan,
                                                       const Costs& costs, sim::Rate block) {
  auto program = std::make_shared<sim::ChunkProgram>();
  enum : std::uint16_t { upwards = 0, downwards = 1, both = 2 };
  // The overhead of a chunk belongs to a machine's whole work on it: half up, half down.
  const Time overhead = c.gpu.nvls_tree_overhead;
  program->kinds = {{overhead / 2, block, sim::Cause::sm, false},
                    {overhead / 2, block, sim::Cause::sm, false},
                    {overhead, block, sim::Cause::sm, false}};
  Connector connector{*program, c.edges, c.cluster.network().model(), costs, plan.slots};
  const int nodes = c.comm.nodes();
  const auto n = static_cast<std::uint32_t>(nodes);
  std::map<std::vector<std::int64_t>, std::uint32_t> patterns;
  const auto pattern_of = [&](std::vector<std::int64_t> key) {  // 0 is that of the agents without units
    return patterns.emplace(std::move(key), static_cast<std::uint32_t>(patterns.size() + 1)).first->second;
  };
  constexpr std::int64_t of_a_nic = 100;
  std::vector<std::vector<sim::Usage>> reads, stores, all;
  for (int node = 0; node < nodes; ++node) {
    reads.push_back(machine_usages(c, node, 1, 0));
    stores.push_back(machine_usages(c, node, 0, 1));
    all.push_back(machine_usages(c, node, 1, 1));
  }
  for (int channel = 0; channel < plan.channels; ++channel) {
    const int tree = c.comm.nvls_tree_index(channel);
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const auto heads = static_cast<std::int64_t>(c.comm.nvls_heads_in_node(0).size());
    const Pieces loops = pieces_of(bytes, plan.chunk * heads);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    program->agents.resize(program->agents.size() + 2 * n);
    std::vector<Connector::Ends> up(n), down(n);
    const auto is_root = [&](int node) { return c.comm.tree_place(tree, node).parent < 0; };
    const auto up_agent = [&](int node) { return sim::AgentId{first + static_cast<std::uint32_t>(node)}; };
    const auto down_agent = [&](int node) {
      return is_root(node) ? up_agent(node) : sim::AgentId{first + n + static_cast<std::uint32_t>(node)};
    };
    for (int node = 0; node < nodes; ++node) {
      const int parent = c.comm.tree_place(tree, node).parent;
      if (parent < 0) continue;
      const auto nic = pattern_of({bytes.count(), of_a_nic});
      const auto piece = [loops](std::int64_t k) { return loops.at(k); };
      up[static_cast<std::size_t>(node)] =
          connector.across(net_uses(c, channel, node, true), up_agent(node), up_agent(parent), loops.count, piece, nic);
      down[static_cast<std::size_t>(node)] = connector.across(net_uses(c, channel, node, false), down_agent(parent),
                                                              down_agent(node), loops.count, piece, nic);
    }
    for (int node = 0; node < nodes; ++node) {
      const auto place = c.comm.tree_place(tree, node);
      std::vector<sim::ConnectionId> from, to;
      for (const int child : place.child) {
        if (child < 0) continue;
        from.push_back(up[static_cast<std::size_t>(child)].receive);
        to.push_back(down[static_cast<std::size_t>(child)].send);
      }
      const auto fill = [&](sim::AgentId id, std::vector<sim::ConnectionId> in, std::vector<sim::ConnectionId> out,
                            std::uint16_t kind, std::vector<sim::Usage> usages) {
        auto& agent = program->agents[static_cast<std::size_t>(id)];
        agent.units = loops.count;
        agent.pattern = pattern_of(
            {bytes.count(), kind, static_cast<std::int64_t>(in.size()), static_cast<std::int64_t>(out.size())});
        agent.local = std::move(usages);
        agent.at = [=](std::int64_t k, sim::Unit& u) {
          u.kind = kind;
          u.bytes = loops.at(k);
          u.receive = in;
          u.send = out;
        };
      };
      const auto i = static_cast<std::size_t>(node);
      if (place.parent < 0) {
        fill(up_agent(node), from, to, both, all[i]);
      } else {
        fill(up_agent(node), from, {up[i].send}, upwards, reads[i]);
        fill(down_agent(node), {down[i].receive}, to, downwards, stores[i]);
      }
    }
  }
  program->fixed.add(sim::Cause::latency, c.gpu.nvls_latency);
  return program;
}

}  // namespace

Schedule build_nvls_tree(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  Schedule s;
  s.channels = plan.channels;
  const Costs costs = costs_of(c.gpu, models::nccl::Protocol::simple, plan.channels);
  const sim::Rate block = call.registered ? sim::Rate::unlimited() : c.gpu.simple.local;
  const auto shape = c.shapes.get({static_cast<int>(plan.choice.algorithm), 0, plan.channels, 0},
                                  [&] { return shape_of(c, plan.channels, costs); });
  const auto heads = static_cast<std::int64_t>(c.comm.nvls_heads_in_node(0).size());
  // What the links inside let a channel do, and with the work for each chunk.
  const sim::Rate network =
      std::min(shape->message, scaled(c.cluster.network().model().flow_rate, static_cast<double>(heads)));
  const Time moving = transfer_time(call.bytes, scaled(shape->inside, plan.channels));
  s.jitter.add(sim::Cause::wait, bounded_jitter(c.gpu.nvls_jitter, moving, c.gpu.nvls_jitter_bound));
  if (f != Fidelity::flow) {
    s.program = chunk_program(c, plan, costs, block);
    return s;
  }
  s.classes = shape->classes;
  for (const auto& way : shape->flows) {
    Bytes largest, sum;
    for (const int channel : way.channels) {
      const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
      largest = std::max(largest, bytes);
      sum += bytes;
    }
    if (sum.count() == 0) continue;
    const Bytes loop = std::min(plan.chunk * heads, largest);
    const Time work = c.gpu.nvls_tree_overhead + transfer_time(loop, std::min(block, shape->inside));
    sim::PipelinedFlow flow;
    flow.bytes = sum;
    flow.usages = way.usages;
    flow.cap = sim::Rate::from_GBps(static_cast<double>(loop.count()) / work.us() * 1e-3) *
               (static_cast<double>(sum.count()) / static_cast<double>(largest.count()));
    if (c.comm.nodes() > 1) {
      if (pieces_of(largest, loop).count > plan.slots)
        flow.cap = std::min(flow.cap, scaled(window_rate(plan.slots, loop, way.farthest, network),
                                             static_cast<double>(sum.count()) / static_cast<double>(largest.count())));
      // Up the tree and down again: at each edge a NIC passes on a chunk that stands whole in its buffer, and the next
      // machine works on it.
      flow.fixed.add(sim::Cause::latency, way.there_and_back);
      flow.fixed.add(sim::Cause::fill, 2 * std::int64_t{way.net_stages} * (transfer_time(loop, network) + work) -
                                           std::max(transfer_time(loop, network), work));
    }
    flow.fixed.add(sim::Cause::latency, c.gpu.nvls_latency);
    s.flows.push_back(std::move(flow));
  }
  return s;
}

}  // namespace linkcast::workloads
