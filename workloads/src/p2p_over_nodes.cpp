// Send/recv between machines: alltoall, sendrecv, gather, scatter over NICs (NCCL enqueue.cc, transport/net.cc). A
// message goes over the NIC of its own GPU or, aligned to the receiver's rail, over that of a neighbour (PXN). All
// messages of a call have one size, so at `flow` they are one flow: the call ends when the busiest link has carried
// all that crosses it. Proxy threads handle messages one after the other, which is what small ones cost.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "messages.hpp"
#include "p2p_block.hpp"
#include "pieces.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using sim::Bytes;
using sim::Time;

/// What all messages of a call load, for each byte of a message, and the work of the busiest NIC.
struct Loads {
  UsageSum inside, network;
  std::map<topologies::NicPlace, double> sent, received;  // messages by NIC
  EdgeTime hop;                                           // the slowest
  int sends = 0, receives = 0;                            // of the busiest rank
  bool crosses = false;

  double busiest_nic() const {
    double most = 0;
    for (const auto* side : {&sent, &received})
      for (const auto& [_, n] : *side) most = std::max(most, n);
    return most;
  }
};

NetUse use_of(const Context& c, int from, int to, int part) {
  const auto flow = (static_cast<std::uint64_t>(from) * 1'000'003 + static_cast<std::uint64_t>(to)) * 67 +
                    static_cast<std::uint64_t>(part);
  return {c.comm.p2p_net(from, to, part), flow};
}

void add_message(const Context& c, int from, int to, int parts, const Costs& costs, Loads& loads) {
  const int a = c.edges.node_of(from), b = c.edges.node_of(to);
  if (a == b) {
    const int x = c.edges.local_of(from), y = c.edges.local_of(to);
    c.edges.add_lane(loads.inside, a, x, y, costs.on(c.edges.lane(a, x, y)));
    return;
  }
  loads.crosses = true;
  for (int part = 0; part < parts; ++part) {
    const NetUse use = use_of(c, from, to, part);
    c.edges.add_relay(loads.inside, use, costs.wire / parts);
    c.edges.add_wire(loads.network, use, costs.wire / parts);
    loads.sent[c.edges.sending_nic(use)] += 1.0 / parts;
    loads.received[c.edges.receiving_nic(use)] += 1.0 / parts;
    loads.hop = std::max(loads.hop, c.edges.time(use, costs));
  }
}

/// Every rank to every rank: per machine by pairs of its GPUs, in the network by rails.
void add_all_to_all(const Context& c, int parts, const Costs& costs, Loads& loads) {
  const int nodes = c.comm.nodes(), locals = c.edges.locals();
  const auto& network = c.cluster.network();
  const double others = nodes - 1;
  std::map<std::pair<int, int>, double> demand;  // (sender's NIC, receiver's NIC) -> messages for each pair of nodes
  for (int node = 0; node < nodes; ++node) {
    const int next = (node + 1) % nodes;
    for (int a = 0; a < locals; ++a) {
      for (int b = 0; b < locals; ++b) {
        if (a != b) c.edges.add_lane(loads.inside, node, a, b, costs.on(c.edges.lane(node, a, b)));
        for (int part = 0; part < parts; ++part) {
          const NetUse out = use_of(c, node * locals + a, next * locals + b, part);
          const double weight = costs.wire * others / parts;
          c.edges.add_relay(loads.inside, out, weight);
          c.edges.add_sender(loads.network, out, weight);
          c.edges.add_receiver(loads.network, out, weight);
          loads.sent[c.edges.sending_nic(out)] += others / parts;
          loads.received[c.edges.receiving_nic(out)] += others / parts;
          if (node == 0) demand[{c.edges.sending_nic(out).nic, c.edges.receiving_nic(out).nic}] += 1.0 / parts;
          if (node == 0 || node + 1 == nodes || node % 64 == 0)
            loads.hop = std::max(loads.hop, c.edges.time(out, costs));
        }
      }
    }
  }
  loads.crosses = nodes > 1;
  const auto cables = [&](topologies::CableId cable, bool forward, double w) {
    loads.network.add(c.cluster.cable(cable, forward), w);
  };
  const auto stranded = [&] {
    throw sim::InputError(c.cluster.name() + ": some NICs cannot reach each other",
                          "a cable or a switch is missing or down, or nothing joins these rails");
  };
  const auto place = [&](int node, int nic) { return topologies::NicPlace{c.cluster.original_node(node), nic}; };
  // Every NIC to every NIC alike: uniform traffic, if no flow has a way of its own. Else half a million pairs on 512
  // machines of two NICs.
  std::set<int> all;
  double least = demand.empty() ? 0 : demand.begin()->second, most = least;
  for (const auto& [nics, messages] : demand) {
    all.insert({nics.first, nics.second});
    least = std::min(least, messages);
    most = std::max(most, messages);
  }
  const bool split = network.routing() == models::Routing::adaptive || network.routing() == models::Routing::spray;
  if (split && demand.size() == all.size() * all.size() && most - least <= 1e-9 * most) {
    std::vector<topologies::NicPlace> nics;
    for (int node = 0; node < nodes; ++node)
      for (const int nic : all) nics.push_back(place(node, nic));
    if (!network.add_all_to_all(nics, costs.wire * most, cables)) stranded();
    return;
  }
  for (const auto& [nics, messages] : demand) {
    const double weight = costs.wire * messages;
    if (nics.first == nics.second) {
      std::vector<topologies::NicPlace> rail;
      for (int node = 0; node < nodes; ++node) rail.push_back(place(node, nics.first));
      if (!network.add_all_to_all(rail, weight, cables)) stranded();
      continue;
    }
    for (int a = 0; a < nodes; ++a)
      for (int b = 0; b < nodes; ++b)
        if (a != b && !network.add(place(a, nics.first), place(b, nics.second), weight,
                                   static_cast<std::uint64_t>(a) * 1'000'003 + static_cast<std::uint64_t>(b), cables))
          stranded();
  }
}

Loads loads_of(const Context& c, const models::nccl::Call& call, int parts, const Costs& costs) {
  Loads loads{UsageSum{c.resources}, UsageSum{c.resources}, {}, {}, {}, 0, 0, false};
  const int n = c.comm.ranks();
  if (call.op == Op::alltoall) {
    add_all_to_all(c, parts, costs, loads);
    loads.sends = loads.receives = n - 1;
    return loads;
  }
  const auto list = messages_of(call, n);
  for (const auto& m : list) add_message(c, m.from, m.to, parts, costs, loads);
  loads.sends = call.op == Op::scatter ? n - 1 : 1;
  loads.receives = call.op == Op::gather ? n - 1 : 1;
  return loads;
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const std::vector<Message>& list,
                                                       const models::nccl::P2pPlan& plan, const Costs& costs) {
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = unit_kinds(costs);
  for (auto& kind : program->kinds) kind.overhead = Time{};  // in the rates, see p2p_block.hpp
  Costs wire = costs;
  wire.wire /= c.cluster.network().model().p2p_efficiency;
  Connector connector{*program, c.edges, c.cluster.network().model(), wire, 8};
  std::map<std::pair<std::int64_t, int>, std::uint32_t> patterns;
  for (const auto& m : list) {
    const Bytes part{ceil_div(m.bytes.count(), plan.channels_per_peer)};
    Bytes left = m.bytes;
    for (int index = 0; left.count() > 0; ++index) {
      const Bytes mine = std::min(part, left);
      left -= mine;
      const Pieces pieces = pieces_of(mine, plan.chunk);
      const auto pattern = [&](int role) {
        return patterns.emplace(std::pair{mine.count(), role}, static_cast<std::uint32_t>(patterns.size()))
            .first->second;
      };
      const sim::AgentId sender{static_cast<std::uint32_t>(program->agents.size())};
      const sim::AgentId receiver{static_cast<std::uint32_t>(sender) + 1};
      program->agents.resize(program->agents.size() + 2);
      const int a = c.edges.node_of(m.from), b = c.edges.node_of(m.to);
      const auto hop = a == b ? connector.inside(a, c.edges.local_of(m.from), c.edges.local_of(m.to), sender, receiver)
                              : connector.across(
                                    std::array{use_of(c, m.from, m.to, index)}, sender, receiver, pieces.count,
                                    [pieces](std::int64_t k) { return pieces.at(k); }, pattern(2));
      for (const bool sends : {true, false}) {
        auto& agent = program->agents[static_cast<std::size_t>(sends ? sender : receiver)];
        agent.units = pieces.count;
        agent.pattern = pattern(sends ? 0 : 1);
        agent.at = [=](std::int64_t k, sim::Unit& u) {
          u.kind = sends ? kind_send : kind_local;
          u.bytes = pieces.at(k);
          u.receive.clear();
          u.send.clear();
          if (sends)
            u.send.push_back(hop.send);
          else
            u.receive.push_back(hop.receive);
        };
      }
    }
  }
  return program;
}

}  // namespace

Schedule build_p2p_over_nodes(const Context& c, const models::nccl::Call& call, Fidelity f) {
  Schedule s;
  s.algorithm = "P2P";
  const int n = c.comm.ranks();
  const Bytes message = call.op == Op::sendrecv ? call.bytes : Bytes{std::max<std::int64_t>(1, call.bytes.count() / n)};
  const auto plan = c.comm.p2p_plan(call, message);
  s.protocol = std::string(name_of(plan.protocol));
  const int channels = c.comm.channels().p2p;
  Costs costs = costs_of(c.gpu, plan.protocol, channels);
  if (plan.protocol == models::nccl::Protocol::simple) costs.protocol.send = c.gpu.p2p_channel;
  const Loads loads = loads_of(c, call, plan.channels_per_peer, costs);
  s.channels = std::max(plan.channels_per_peer,
                        std::min(channels, plan.channels_per_peer * std::max(loads.sends, loads.receives)));
  const Bytes part{ceil_div(message.count(), plan.channels_per_peer)};
  const Bytes chunk = std::min(plan.chunk, part);
  const Time overhead = costs.protocol.overhead;
  costs.protocol.send = block_share(costs.protocol.send, overhead, loads.sends, plan, channels, chunk);
  costs.protocol.local = block_share(costs.protocol.local, overhead, loads.receives, plan, channels, chunk);
  if (f == Fidelity::chunk) {
    s.program = chunk_program(c, messages_of(call, n), plan, costs);
    return s;
  }
  const auto& p = costs.protocol;
  const double parts = static_cast<double>(message.count()) / static_cast<double>(part.count());
  FlowShape shape;
  shape.flows.emplace_back().channels = {0};
  ShapeBuilder builder{c.resources, 1};
  builder.inside(0) = loads.inside;
  builder.network(0).add(loads.network, 1.0 / c.cluster.network().model().p2p_efficiency);
  builder.finish(shape, c.classify);
  sim::PipelinedFlow flow;
  flow.bytes = message;
  flow.usages = std::move(shape.flows[0].usages);
  flow.cap = std::min(p.send, p.local) * parts;
  flow.fixed.add(sim::Cause::latency, loads.crosses ? loads.hop.hop : p.hop + c.edges.lane(0, 0, 1).latency);
  if (loads.crosses) {
    flow.cap = std::min(flow.cap, scaled(c.cluster.network().model().flow_rate, parts));
    // The proxy of the busiest NIC posts every chunk of every message in turn.
    const auto posts = loads.busiest_nic() * static_cast<double>(plan.channels_per_peer) *
                       static_cast<double>(pieces_of(part, plan.chunk).count);
    const Time posting = Time::from_us(posts * loads.hop.message.us());
    if (posting > Time{}) {
      const auto rate = sim::Rate::from_GBps(static_cast<double>(message.count()) / posting.us() * 1e-3);
      if (rate < flow.cap) flow.cap = rate, flow.cap_cause = sim::Cause::nic;
    }
    flow.fixed.add(sim::Cause::fill, transfer_time(chunk, p.send) + transfer_time(chunk, p.local));
  } else {
    flow.fixed.add(sim::Cause::sm, transfer_time(chunk, p.local));
  }
  s.flows.push_back(std::move(flow));
  s.classes = shape.classes;
  return s;
}

}  // namespace linkcast::workloads
