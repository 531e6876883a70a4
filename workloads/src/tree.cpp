// Tree all_reduce (NCCL graph/trees.cc, device/all_reduce.h): each channel has a tree; data is reduced up to its root
// and broadcast down again, both at once, by two halves of a block (Simple: half and half; LL and LL128: 70 % up, 30 %
// down; the root does both).
#include <algorithm>
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
  std::vector<int> height;  // edges to the farthest leaf below
  std::vector<int> depth;   // edges to the root
  int root = 0;
  int longest = 0;
};

Tree tree_of(const Context& c, int channel) {
  Tree t;
  t.parent = c.comm.tree_parents(channel);
  const auto n = t.parent.size();
  t.children.resize(n);
  t.height.assign(n, 0);
  t.depth.assign(n, 0);
  for (std::size_t r = 0; r < n; ++r) {
    if (t.parent[r] < 0)
      t.root = static_cast<int>(r);
    else
      t.children[static_cast<std::size_t>(t.parent[r])].push_back(static_cast<int>(r));
  }
  for (std::size_t r = 0; r < n; ++r) {
    int d = 0;
    for (int at = static_cast<int>(r); t.parent[static_cast<std::size_t>(at)] >= 0; ++d) {
      at = t.parent[static_cast<std::size_t>(at)];
      auto& h = t.height[static_cast<std::size_t>(at)];
      h = std::max(h, d + 1);
    }
    t.depth[r] = d;
    t.longest = std::max(t.longest, d);
  }
  return t;
}

// The part of a block that works upwards (runTreeSplit of NCCL's device/all_reduce.h).
double up_share(models::nccl::Protocol p) { return p == models::nccl::Protocol::simple ? 0.5 : 0.7; }

enum TreeKind : std::uint16_t { kind_up = 0, kind_down = 1, kind_root = 2, kind_leaf = 3 };

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const models::nccl::Plan& plan,
                                                       const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  const double up = up_share(plan.choice.protocol);
  const auto& p = costs.protocol;
  program->kinds = {{p.overhead, p.send * up, sim::Cause::sm, costs.cut_through},
                    {p.overhead, p.send * (1 - up), sim::Cause::sm, costs.cut_through},
                    {p.overhead, p.send, sim::Cause::sm, costs.cut_through},
                    {p.overhead, p.local * (1 - up), sim::Cause::sm, costs.cut_through}};
  using Key = std::vector<std::int64_t>;
  std::map<Key, std::uint32_t> patterns;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const Tree t = tree_of(c, channel);
    const auto n = static_cast<std::uint32_t>(t.parent.size());
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const Pieces pieces = pieces_of(bytes, plan.chunk);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    const auto up_agent = [&](int r) { return first + static_cast<std::uint32_t>(r); };
    const auto down_agent = [&](int r) {
      return r == t.root ? up_agent(r) : first + n + static_cast<std::uint32_t>(r);
    };
    std::vector<sim::ConnectionId> up_connection(n), down_connection(n);  // of the edge above rank r
    for (std::uint32_t r = 0; r < n; ++r) {
      if (t.parent[r] < 0) continue;
      const auto connect = [&](int from, int to, std::uint32_t a, std::uint32_t b) {
        const auto& lane = c.lanes.between(from, to);
        sim::Connection connection;
        connection.from = sim::AgentId{a};
        connection.to = sim::AgentId{b};
        connection.slots = 8;
        connection.latency = p.hop + lane.latency;
        connection.credit_latency = connection.latency;
        add_usages(connection.usages, lane.usages, costs.on(lane));
        program->connections.push_back(std::move(connection));
        return sim::ConnectionId{static_cast<std::uint32_t>(program->connections.size() - 1)};
      };
      const int rank = static_cast<int>(r);
      up_connection[r] = connect(rank, t.parent[r], up_agent(rank), up_agent(t.parent[r]));
      down_connection[r] = connect(t.parent[r], rank, down_agent(t.parent[r]), down_agent(rank));
    }
    const auto make = [&](std::vector<sim::ConnectionId> from, std::vector<sim::ConnectionId> to, TreeKind kind) {
      sim::Agent agent;
      agent.units = pieces.count;
      const Key key{bytes.count(), kind, static_cast<std::int64_t>(from.size()), static_cast<std::int64_t>(to.size())};
      agent.pattern = patterns.emplace(key, static_cast<std::uint32_t>(patterns.size())).first->second;
      agent.at = [=](std::int64_t k, sim::Unit& out) {
        out.kind = kind;
        out.bytes = pieces.at(k);
        out.receive = from;
        out.send = to;
      };
      return agent;
    };
    const auto above = [&](const std::vector<int>& ranks, const std::vector<sim::ConnectionId>& of) {
      std::vector<sim::ConnectionId> out;
      for (const int r : ranks) out.push_back(of[static_cast<std::size_t>(r)]);
      return out;
    };
    for (std::uint32_t r = 0; r < n; ++r) {
      const auto from_children = above(t.children[r], up_connection);
      if (t.parent[r] < 0)
        program->agents.push_back(make(from_children, above(t.children[r], down_connection), kind_root));
      else
        program->agents.push_back(make(from_children, {up_connection[r]}, kind_up));
    }
    for (std::uint32_t r = 0; r < n; ++r) {
      if (t.parent[r] < 0) {
        program->agents.push_back(sim::Agent{});  // keeps the numbering; has no units
        continue;
      }
      const auto to = above(t.children[r], down_connection);
      program->agents.push_back(make({down_connection[r]}, to, to.empty() ? kind_leaf : kind_down));
    }
  }
  return program;
}

}  // namespace

Schedule build_tree(const Context& c, const models::nccl::Call&, const models::nccl::Plan& plan, Fidelity f) {
  const Costs costs = costs_of(c.gpu, plan.choice.protocol);
  Schedule s;
  s.channels = plan.channels;
  if (f == Fidelity::chunk) {
    s.program = chunk_program(c, plan, costs);
    return s;
  }
  std::map<std::vector<int>, std::pair<Bytes, Bytes>> trees;
  std::map<std::vector<int>, int> channel_of;
  for (int channel = 0; channel < plan.channels; ++channel) {
    auto parents = c.comm.tree_parents(channel);
    channel_of.emplace(parents, channel);
    auto& [largest, sum] = trees[std::move(parents)];
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    largest = std::max(largest, bytes);
    sum += bytes;
  }
  const double down = 1 - up_share(plan.choice.protocol);
  const auto& p = costs.protocol;
  std::vector<std::vector<sim::Usage>> usages;
  std::vector<sim::Rate> caps;
  std::vector<Tree> shapes;
  std::vector<Time> hops;
  for (const auto& [parents, bytes] : trees) {
    const Tree& t = shapes.emplace_back(tree_of(c, channel_of[parents]));
    auto& u = usages.emplace_back();
    // From the farthest rank to the root and back: every hand-over on the way.
    Time there_and_back;
    for (std::size_t r = 0; r < t.parent.size(); ++r) {
      Time way;
      for (auto at = r; t.parent[at] >= 0; at = static_cast<std::size_t>(t.parent[at]))
        way += 2 * p.hop + c.lanes.between(static_cast<int>(at), t.parent[at]).latency +
               c.lanes.between(t.parent[at], static_cast<int>(at)).latency;
      there_and_back = std::max(there_and_back, way);
      if (t.parent[r] < 0) continue;
      const auto& up_lane = c.lanes.between(static_cast<int>(r), t.parent[r]);
      add_usages(u, up_lane.usages, costs.on(up_lane));
      const auto& down_lane = c.lanes.between(t.parent[r], static_cast<int>(r));
      add_usages(u, down_lane.usages, costs.on(down_lane));
    }
    hops.push_back(there_and_back);
    const auto slowest = std::min({p.send * down, p.local * down, p.send});
    caps.push_back(slowest * (static_cast<double>(bytes.second.count()) / static_cast<double>(bytes.first.count())));
  }
  const auto rates = rates_together(c.resources, usages, caps);
  std::size_t i = 0;
  for (const auto& [parents, bytes] : trees) {
    const auto& [largest, sum] = bytes;
    const sim::Rate share = rates[i] * (static_cast<double>(largest.count()) / static_cast<double>(sum.count()));
    const auto pieces = pieces_of(largest, plan.chunk).count;
    const Bytes first = std::min(plan.chunk, largest);
    const auto stages = 2 * std::int64_t{shapes[i].longest};
    sim::PipelinedFlow flow;
    flow.bytes = sum;
    flow.usages = usages[i];
    flow.cap = caps[i];
    flow.fixed.add(sim::Cause::latency, hops[i] + (stages + pieces) * p.overhead);
    if (!costs.cut_through) {
      // A filling stage has the link for itself: only its own half of a block limits it.
      const Time fill = transfer_time(first, std::max(share, p.send * down));
      flow.fixed.add(sim::Cause::fill, stages * fill);
    }
    s.flows.push_back(std::move(flow));
    ++i;
  }
  return s;
}

}  // namespace linkcast::workloads
