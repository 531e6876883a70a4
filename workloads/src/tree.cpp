// Tree all_reduce (NCCL graph/trees.cc, device/all_reduce.h): each channel has a tree; data is reduced up to its root
// and broadcast down again, both at once, by two parts of a block.
//
// What is measured: one part of a block is as quick as a whole block that does nothing else, as long as both together
// stay below what the GPU can do (forced Tree on 4 H100: 173 GB/s up and down, 346 of 389; Tree/LL128 on two nodes of
// GH200 and of V100 reaches twice what a third of a block would). And inside a machine the chain hands over in pieces
// smaller than a chunk, as broadcast does (chain.cpp): Tree/Simple of 2 MiB on two GH200 nodes takes 129 us, where
// six hand-overs of whole chunks would need 200.
#include <algorithm>
#include <array>
#include <map>

#include "pieces.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using sim::Bytes;
using sim::Time;

struct Tree {
  std::vector<int> parent;  // -1: the root
  std::vector<std::vector<int>> children;
  int root = 0;
};

Tree tree_of(const Context& c, int channel) {
  Tree t;
  t.parent = c.comm.tree_parents(channel);
  const auto n = t.parent.size();
  t.children.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    if (t.parent[r] < 0)
      t.root = static_cast<int>(r);
    else
      t.children[static_cast<std::size_t>(t.parent[r])].push_back(static_cast<int>(r));
  }
  return t;
}

enum TreeKind : std::uint16_t { kind_up = 0, kind_down = 1, kind_root = 2, kind_leaf = 3 };

NetUse net_use(models::nccl::NetEdge edge, int channel, int node, bool up) {
  return {edge,
          (static_cast<std::uint64_t>(channel) * 2 + (up ? 1 : 0)) * 1'000'003 + static_cast<std::uint64_t>(node)};
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Plan& plan,
                                                       const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  const auto& p = costs.protocol;
  program->kinds = {{p.overhead, p.send, sim::Cause::sm, true},
                    {p.overhead, p.send, sim::Cause::sm, true},
                    {p.overhead, p.send, sim::Cause::sm, true},
                    {p.overhead, p.local, sim::Cause::sm, true}};
  Connector connector{*program, c.edges, c.cluster.network().model(), costs, 8};
  using Key = std::vector<std::int64_t>;
  std::map<Key, std::uint32_t> patterns;
  const auto pattern_of = [&](Key key) {  // 0 is that of the agents without units
    return patterns.emplace(std::move(key), static_cast<std::uint32_t>(patterns.size() + 1)).first->second;
  };
  constexpr std::int64_t of_a_nic = 100;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const Tree t = tree_of(c, channel);
    const auto n = static_cast<std::uint32_t>(t.parent.size());
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const Pieces pieces = pieces_of(bytes, plan.chunk);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    program->agents.resize(program->agents.size() + 2 * n);  // upwards, then downwards; the root does both in one
    const auto up_agent = [&](int r) { return sim::AgentId{first + static_cast<std::uint32_t>(r)}; };
    const auto down_agent = [&](int r) {
      return r == t.root ? up_agent(r) : sim::AgentId{first + n + static_cast<std::uint32_t>(r)};
    };
    std::vector<Connector::Ends> up_hop(n), down_hop(n);  // over the edge above rank r
    const auto piece = [pieces](std::int64_t k) { return pieces.at(k); };
    for (std::uint32_t r = 0; r < n; ++r) {
      if (t.parent[r] < 0) continue;
      const int rank = static_cast<int>(r), above = t.parent[r];
      const int node = c.edges.node_of(rank);
      if (node == c.edges.node_of(above)) {
        const int a = c.edges.local_of(rank), b = c.edges.local_of(above);
        up_hop[r] = connector.inside(node, a, b, up_agent(rank), up_agent(above));
        down_hop[r] = connector.inside(node, b, a, down_agent(above), down_agent(rank));
      } else {
        const auto nic = pattern_of({bytes.count(), of_a_nic});
        up_hop[r] = connector.across(std::array{net_use(c.comm.tree_up_net(channel, node), channel, node, true)},
                                     up_agent(rank), up_agent(above), pieces.count, piece, nic);
        down_hop[r] = connector.across(std::array{net_use(c.comm.tree_down_net(channel, node), channel, node, false)},
                                       down_agent(above), down_agent(rank), pieces.count, piece, nic);
      }
    }
    const auto fill = [&](sim::AgentId id, std::vector<sim::ConnectionId> from, std::vector<sim::ConnectionId> to,
                          TreeKind kind, std::int64_t over_network) {
      auto& agent = program->agents[static_cast<std::size_t>(id)];
      agent.units = pieces.count;
      agent.pattern = pattern_of({bytes.count(), kind, static_cast<std::int64_t>(from.size()),
                                  static_cast<std::int64_t>(to.size()), over_network});
      agent.at = [=](std::int64_t k, sim::Unit& out) {
        out.kind = kind;
        out.bytes = pieces.at(k);
        out.receive = from;
        out.send = to;
      };
    };
    for (std::uint32_t r = 0; r < n; ++r) {
      const int rank = static_cast<int>(r);
      std::vector<sim::ConnectionId> from_children, to_children;
      // Those in the own machine first, so that agents of one pattern name their connections in one order.
      auto children = t.children[r];
      const auto far = std::stable_partition(
          children.begin(), children.end(), [&](int child) { return c.edges.node_of(child) == c.edges.node_of(rank); });
      const std::int64_t over_network =
          (children.end() - far) + (t.parent[r] >= 0 && c.edges.node_of(t.parent[r]) != c.edges.node_of(rank) ? 8 : 0);
      for (const int child : children) {
        from_children.push_back(up_hop[static_cast<std::size_t>(child)].receive);
        to_children.push_back(down_hop[static_cast<std::size_t>(child)].send);
      }
      if (t.parent[r] < 0) {
        fill(up_agent(rank), from_children, to_children, kind_root, over_network);
      } else {
        fill(up_agent(rank), from_children, {up_hop[r].send}, kind_up, over_network);
        const auto kind = to_children.empty() ? kind_leaf : kind_down;
        fill(down_agent(rank), {down_hop[r].receive}, std::move(to_children), kind, over_network);
      }
    }
  }
  return program;
}

/// Channels whose trees are the same over the same NICs: one flow.
std::vector<FlowShape::Flow> flows_of(const Context& c, int channels) {
  std::map<std::vector<int>, FlowShape::Flow> flows;
  for (int channel = 0; channel < channels; ++channel) {
    std::vector<int> key;
    for (int node = 0; node < std::min(c.comm.nodes(), 2); ++node) {
      const auto chain = c.comm.tree_in_node(channel, node);
      key.insert(key.end(), chain.begin(), chain.end());
    }
    if (c.comm.nodes() > 1) {
      const int tree = c.comm.tree_index(channel);
      const int child = c.comm.tree_place(tree, 0).parent >= 0 ? 0 : 1;  // node 0 or 1 has a parent
      const auto e = c.comm.tree_up_net(channel, child);
      key.insert(key.end(), {tree, e.send_net, e.recv_net, e.send_proxy});
      if (c.cluster.kinds() > 1 || c.hashed()) key.push_back(channel);
    }
    flows[std::move(key)].channels.push_back(channel);
  }
  std::vector<FlowShape::Flow> out;
  for (auto& [_, flow] : flows) out.push_back(std::move(flow));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.channels[0] < b.channels[0]; });
  return out;
}

/// The way of a piece from a rank to the root, or back.
struct Way {
  Time hops;                       // hand-overs
  int stages = 0, net_stages = 0;  // edges inside machines, between them
  int all() const { return stages + net_stages; }
};

/// Nodes whose edges tell how fast one message is: enough to meet every kind of NIC, few on a large cluster.
constexpr std::size_t sampled_edges = 16;

/// Loads of a channel's tree for each byte, both ways, and the longest way.
void add_tree(const Context& c, int channel, const Costs& costs, UsageSum& inside, UsageSum& network, FlowShape& shape,
              FlowShape::Flow& flow) {
  const auto& p = costs.protocol;
  const int nodes = c.comm.nodes(), tree = c.comm.tree_index(channel);
  std::vector<Way> to_head(static_cast<std::size_t>(nodes));  // from a node's head to the root and back
  const auto edge = [&](int node, int from, int to) {
    const Lane& lane = c.edges.lane(node, from, to);
    c.edges.add_lane(inside, node, from, to, costs.on(lane));
    return lane.latency + p.hop;
  };
  std::vector<std::vector<Time>> chain_hops(static_cast<std::size_t>(nodes));  // there and back, by place in the chain
  for (int node = 0; node < nodes; ++node) {
    const auto chain = c.comm.tree_in_node(channel, node);
    auto& hops = chain_hops[static_cast<std::size_t>(node)];
    for (std::size_t i = 1; i < chain.size(); ++i)
      hops.push_back(edge(node, chain[i], chain[i - 1]) + edge(node, chain[i - 1], chain[i]));
  }
  // Nodes in an order in which parents come before their children.
  std::vector<int> order{};
  for (int node = 0; node < nodes; ++node)
    if (nodes == 1 || c.comm.tree_place(tree, node).parent < 0) order.push_back(node);
  Way longest;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const int node = order[at];
    const auto u = static_cast<std::size_t>(node);
    const auto& hops = chain_hops[u];
    Way end = to_head[u];
    for (const Time hop : hops) end.hops += hop, ++end.stages;
    if (end.all() > longest.all() || (end.all() == longest.all() && end.hops > longest.hops)) longest = end;
    if (nodes == 1) break;
    const auto place = c.comm.tree_place(tree, node);
    const auto chain = c.comm.tree_in_node(channel, node);
    for (int which = 0; which < 2; ++which) {
      const int child = place.child[which];
      if (child < 0) continue;
      Way way = to_head[u];
      const int rank = c.comm.tree_child_rank(channel, node, which);
      for (std::size_t i = 0; i + 1 < chain.size() && chain[i] != rank; ++i) way.hops += hops[i], ++way.stages;
      const NetUse up = net_use(c.comm.tree_up_net(channel, child), channel, child, true);
      const NetUse down = net_use(c.comm.tree_down_net(channel, child), channel, child, false);
      for (const auto& use : {up, down}) {
        c.edges.add_relay(inside, use, costs.wire);
        c.edges.add_wire(network, use, costs.wire);
        if (channel == 0 && at < sampled_edges)
          shape.message = std::min(shape.message, rate_alone(c.resources, c.edges.wire(use), sim::Rate::unlimited()));
        const auto t = c.edges.time(use, costs);
        way.hops += t.hop + t.message;
        flow.farthest = std::max(flow.farthest, t.hop);
      }
      ++way.net_stages;
      to_head[static_cast<std::size_t>(child)] = way;
      order.push_back(child);
    }
  }
  flow.there_and_back = longest.hops;
  flow.stages = longest.stages;
  flow.net_stages = longest.net_stages;
}

FlowShape shape_of(const Context& c, int channels, const Costs& costs) {
  FlowShape shape;
  shape.flows = flows_of(c, channels);
  ShapeBuilder builder{c.resources, shape.flows.size()};
  for (std::size_t i = 0; i < shape.flows.size(); ++i) {
    auto& flow = shape.flows[i];
    add_tree(c, flow.channels[0], costs, builder.inside(i), builder.network(i), shape, flow);
  }
  builder.finish(shape, c.classify);
  return shape;
}

}  // namespace

Schedule build_tree(const Context& c, const models::nccl::Call&, const models::nccl::Plan& plan, Fidelity f) {
  const auto protocol = plan.choice.protocol;
  const Costs costs = costs_of(c.gpu, protocol, 2 * plan.channels);  // each channel works up and down at once
  Schedule s;
  s.channels = plan.channels;
  if (f != Fidelity::flow) {
    s.program = chunk_program(c, plan, costs);
    return s;
  }
  const auto shape = shape_for(c, plan.choice.algorithm, protocol, plan.channels,
                               [&](int channels) { return shape_of(c, channels, costs); });
  s.classes = shape->classes;
  const auto& p = costs.protocol;
  const sim::Rate flow_rate = c.cluster.network().model().flow_rate;
  const sim::Rate network = std::min(flow_rate, shape->message);
  struct Part {
    Bytes largest, sum;
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
    auto slowest = std::min(p.send, p.local);
    if (c.comm.nodes() > 1) slowest = std::min(slowest, flow_rate);
    if (c.comm.nodes() > 1 && pieces_of(part.largest, plan.chunk).count > 8)
      slowest = std::min({slowest, window_rate(8, std::min(plan.chunk, part.largest), flow.farthest,
                                               std::min(flow_rate, shape->message))});
    parts.push_back(part);
    usages.push_back(flow.usages);
    caps.push_back(slowest * (static_cast<double>(part.sum.count()) / static_cast<double>(part.largest.count())));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [largest, sum] = parts[i];
    const auto& way = shape->flows[i];
    const auto pieces = pieces_of(largest, plan.chunk).count;
    const Bytes first = std::min(plan.chunk, largest);
    const auto stages = 2 * std::int64_t{way.stages + way.net_stages};
    sim::PipelinedFlow flow;
    flow.bytes = sum;
    flow.usages = std::move(usages[i]);
    flow.cap = caps[i];
    flow.fixed.add(sim::Cause::latency, way.there_and_back + (stages + pieces) * p.overhead);
    // A NIC begins when the piece stands whole in its buffer; the one that holds all back is in bytes / rate already.
    Time fill = 2 * std::int64_t{way.net_stages} * (transfer_time(first, p.send) + transfer_time(first, network));
    if (way.net_stages > 0) fill = fill - transfer_time(first, network);
    flow.fixed.add(sim::Cause::fill, fill);
    s.flows.push_back(std::move(flow));
  }
  return s;
}

}  // namespace linkcast::workloads
