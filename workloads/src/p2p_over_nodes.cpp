// Send/recv between machines: alltoall, sendrecv, gather, scatter over NICs (NCCL enqueue.cc, transport/net.cc). A
// message goes over the NIC of its own GPU or, aligned to the receiver's rail, over that of a neighbour (PXN). All
// messages of a call have one size, so at `flow` they are one flow: the call ends when the busiest link has carried
// all that crosses it. Proxy threads handle messages one after the other, which is what small ones cost.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

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

/// Messages from one NIC of a machine to one of another, for each ordered pair of machines: (sender's, receiver's) NIC.
using Demand = std::map<std::pair<int, int>, double>;

/// NICs that send to each other, and how many of `Uniform::messages` each takes part in: between two of them go the
/// product of both numbers times `messages`.
struct Uniform {
  std::vector<std::pair<int, int>> nics;  // NIC, times
  double messages = 0;
};

/// NICs reachable from each other by `demand`, one list for each group of them.
std::vector<std::vector<int>> groups_of(const Demand& demand) {
  std::map<int, int> group;  // by NIC: the smallest NIC of its group
  for (const auto& [nics, _] : demand) group.emplace(nics.first, nics.first), group.emplace(nics.second, nics.second);
  for (const auto& [nics, _] : demand) {
    const int from = group[nics.first], to = group[nics.second];
    if (from == to) continue;
    for (auto& [nic, of] : group)
      if (of == from || of == to) of = std::min(from, to);
  }
  std::map<int, std::vector<int>> lists;
  for (const auto& [nic, of] : group) lists[of].push_back(nic);
  std::vector<std::vector<int>> out;
  for (auto& [_, list] : lists) out.push_back(std::move(list));
  return out;
}

/// A GPU sends by one NIC whoever receives, and receives by one whoever sends, so NICs that serve g and h GPUs have g h
/// messages between them. Nothing where NCCL's choice depends on both ends in another way.
std::optional<Uniform> uniform(const Demand& demand, const std::vector<int>& nics) {
  const auto at = [&](int from, int to) {
    const auto it = demand.find({from, to});
    return it == demand.end() ? 0.0 : it->second;
  };
  double least = at(nics.front(), nics.front());
  for (const int nic : nics) least = std::min(least, at(nic, nic));
  if (least <= 0) return std::nullopt;
  constexpr int most_times = 64;  // more GPUs than that never share a NIC
  for (int unit = 1; unit <= 4; ++unit) {
    Uniform out{{}, least / (unit * unit)};
    for (const int nic : nics)
      out.nics.emplace_back(nic, static_cast<int>(std::lround(
                                     std::sqrt(std::min(at(nic, nic) / out.messages, 1.0 * most_times * most_times)))));
    const auto fits = [&](const auto& a, const auto& b) {
      const double want = out.messages * a.second * b.second;
      return std::abs(at(a.first, b.first) - want) <= 1e-9 * want;
    };
    if (std::ranges::all_of(out.nics, [&](const auto& a) {
          return std::ranges::all_of(out.nics, [&](const auto& b) { return fits(a, b); });
        }))
      return out;
  }
  return std::nullopt;
}

/// The nodes of the most common kind of machine, and the others.
std::pair<std::vector<int>, std::vector<int>> alike(const topologies::Cluster& cluster) {
  std::vector<std::vector<int>> of_kind(static_cast<std::size_t>(cluster.kinds()));
  for (int node = 0; node < cluster.nodes(); ++node)
    of_kind[static_cast<std::size_t>(cluster.kind_of(node))].push_back(node);
  const auto usual = std::ranges::max_element(of_kind, {}, [](const auto& list) { return list.size(); });
  std::pair<std::vector<int>, std::vector<int>> out{*usual, {}};
  for (const auto& list : of_kind)
    if (&list != &*usual) out.second.insert(out.second.end(), list.begin(), list.end());
  return out;
}

/// All messages from and to the machines that are not as most are (one has lost a NIC, say), pair by pair. From half a
/// million messages on, each of them with every k-th machine stands for those with the k - 1 after it.
void add_unlike(const Context& c, const std::vector<int>& members, const std::vector<int>& unlike, int parts,
                const Costs& costs, Loads& loads) {
  const int nodes = c.comm.nodes(), locals = c.edges.locals();
  constexpr std::int64_t most = 1 << 19;
  const auto messages = static_cast<std::int64_t>(unlike.size()) * nodes * locals * locals * 2 * parts;
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, messages / most));
  const auto add = [&](int from, int to, double weight) {
    for (int a = 0; a < locals; ++a) {
      for (int b = 0; b < locals; ++b) {
        for (int part = 0; part < parts; ++part) {
          const NetUse use = use_of(c, from * locals + a, to * locals + b, part);
          c.edges.add_relay(loads.inside, use, costs.wire * weight / parts);
          c.edges.add_wire(loads.network, use, costs.wire * weight / parts);
          loads.sent[c.edges.sending_nic(use)] += weight / parts;
          loads.received[c.edges.receiving_nic(use)] += weight / parts;
          loads.hop = std::max(loads.hop, c.edges.time(use, costs));
        }
      }
    }
  };
  std::size_t phase = 0;  // which of a stretch stands for it: another one for each machine
  for (const int node : unlike) {
    ++phase;
    for (const auto* list : {&members, &unlike}) {
      std::vector<int> others = *list;
      std::erase(others, node);
      for (std::size_t first = 0; first < others.size(); first += step) {
        const auto stretch = std::min(step, others.size() - first);
        const int other = others[first + phase % stretch];
        add(node, other, static_cast<double>(stretch));
        if (list == &members) add(other, node, static_cast<double>(stretch));
      }
    }
  }
}

/// The channels that messages between two GPUs take, over all machines: the first of the `parts` of a message depends
/// on the round (Communicator::p2p_channel), so on how far the machines lie apart. That matters where a GPU's NIC
/// depends on the channel, because several are as near to it (fewer NICs than GPUs).
int channels_between(const Context& c, int node, int next, int parts, int others) {
  const int all = std::min(c.comm.channels().p2p, parts * others), locals = c.edges.locals();
  for (int a = 0; a < locals; ++a) {
    for (int b = 0; b < locals; ++b) {
      const int from = node * locals + a, to = next * locals + b;
      const NetUse first = use_of(c, from, to, 0);
      for (int channel = 1; channel < all; ++channel) {
        const NetUse use = use_of(c, from, to, channel);
        if (c.edges.sending_nic(use) != c.edges.sending_nic(first) ||
            c.edges.receiving_nic(use) != c.edges.receiving_nic(first))
          return all;
      }
    }
  }
  return parts;
}

/// Every rank to every rank: per machine by pairs of its GPUs, in the network by NICs that send to each other.
void add_all_to_all(const Context& c, int parts, const Costs& costs, Loads& loads) {
  const int locals = c.edges.locals();
  const auto& network = c.cluster.network();
  const auto [members, unlike] = alike(c.cluster);
  const int nodes = static_cast<int>(members.size());
  const double others = nodes - 1;
  Demand demand;
  loads.crosses = c.comm.nodes() > 1;
  for (int node = 0; node < c.comm.nodes(); ++node)
    for (int a = 0; a < locals; ++a)
      for (int b = 0; b < locals; ++b)
        if (a != b) c.edges.add_lane(loads.inside, node, a, b, costs.on(c.edges.lane(node, a, b)));
  if (!unlike.empty()) add_unlike(c, members, unlike, parts, costs, loads);
  if (nodes < 2) return;
  if (nodes > 2) parts = std::max(parts, channels_between(c, members[0], members[1], parts, nodes - 1));
  for (int i = 0; i < nodes; ++i) {
    const int node = members[static_cast<std::size_t>(i)], next = members[static_cast<std::size_t>((i + 1) % nodes)];
    // Ways have one latency for each tier that they cross, so one machine of each stretch of 64 meets those of them all
    // (a unit has 32 to 72 machines); the first and the last are in units of their own, and far from each other.
    const bool timed = i == 0 || i + 1 == nodes || i % 64 == 0;
    for (int a = 0; a < locals; ++a) {
      for (int b = 0; b < locals; ++b) {
        for (int part = 0; part < parts; ++part) {
          const NetUse out = use_of(c, node * locals + a, next * locals + b, part);
          const double weight = costs.wire * others / parts;
          c.edges.add_relay(loads.inside, out, weight);
          c.edges.add_sender(loads.network, out, weight);
          c.edges.add_receiver(loads.network, out, weight);
          loads.sent[c.edges.sending_nic(out)] += others / parts;
          loads.received[c.edges.receiving_nic(out)] += others / parts;
          if (i == 0) demand[{c.edges.sending_nic(out).nic, c.edges.receiving_nic(out).nic}] += 1.0 / parts;
          if (timed) loads.hop = std::max(loads.hop, c.edges.time(out, costs));
        }
      }
    }
  }
  const auto cables = [&](topologies::CableId cable, bool forward, double w) {
    loads.network.add(c.cluster.cable(cable, forward), w);
  };
  const auto stranded = [&] {
    throw sim::InputError(c.cluster.name() + ": some NICs cannot reach each other",
                          "a cable or a switch is missing or down, or nothing joins these rails");
  };
  const auto place = [&](std::int64_t member, int nic) {
    return topologies::NicPlace{c.cluster.original_node(members[static_cast<std::size_t>(member)]), nic};
  };
  // Pairs of machines times pairs of NICs that are gone through one by one, in about a second.
  constexpr std::int64_t most_pairs = 1 << 20;
  const bool splits = network.routing() == models::Routing::adaptive || network.routing() == models::Routing::spray;
  std::int64_t crossing = 0;  // pairs of NICs
  for (const auto& [nics, _] : demand) crossing += nics.first != nics.second ? 1 : 0;
  const bool few = crossing * nodes * nodes <= most_pairs;
  for (const auto& group : groups_of(demand)) {
    // Switches that split load cables by what add_all_to_all() says to the byte. Those that hash load them unevenly by
    // chance, which few messages feel and many (hundreds on each cable) do not.
    const auto even = group.size() == 1 || splits || !few ? uniform(demand, group) : std::nullopt;
    if (even) {
      std::vector<topologies::NicPlace> senders;
      for (int node = 0; node < nodes; ++node)
        for (const auto& [nic, times] : even->nics)
          senders.insert(senders.end(), static_cast<std::size_t>(times), place(node, nic));
      if (!network.add_all_to_all(senders, costs.wire * even->messages, cables)) stranded();
      continue;
    }
    // Where there are too many pairs, every machine sends to equally many others and receives from as many, so that
    // what its NICs carry is exact; which distances stand for all differs by pair of NICs, for the cables beyond.
    const std::int64_t distances =
        few ? nodes - 1 : std::clamp<std::int64_t>(most_pairs / (crossing * nodes), 1, nodes - 1);
    for (auto it = demand.begin(); it != demand.end(); ++it) {
      const auto& [nics, messages] = *it;
      if (!std::ranges::binary_search(group, nics.first)) continue;
      if (nics.first == nics.second) {
        std::vector<topologies::NicPlace> rail;
        for (int node = 0; node < nodes; ++node) rail.push_back(place(node, nics.first));
        if (!network.add_all_to_all(rail, costs.wire * messages, cables)) stranded();
        continue;
      }
      const double weight = costs.wire * messages * others / static_cast<double>(distances);
      const auto shift = distances == nodes - 1 ? 0 : (nics.first * 131 + nics.second) % (nodes - 1);
      for (std::int64_t i = 0; i < distances; ++i) {
        const auto distance = 1 + (shift + i * (nodes - 1) / distances) % (nodes - 1);
        for (int a = 0; a < nodes; ++a) {
          const auto b = (a + distance) % nodes;
          if (!network.add(place(a, nics.first), place(b, nics.second), weight,
                           static_cast<std::uint64_t>(a) * 1'000'003 + static_cast<std::uint64_t>(b), cables))
            stranded();
        }
      }
    }
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

/// Agents and links of a message, on average: of some messages between ranks all over the cluster.
std::pair<double, double> agents_and_usages(const Context& c, const models::nccl::Call& call) {
  constexpr int samples = 64;
  const std::int64_t n = c.comm.ranks();
  double agents = 0, usages = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto any = i * n / samples, distance = call.op == Op::sendrecv ? 1 : 1 + i * (n - 1) / samples;
    int from = call.op == Op::scatter || call.op == Op::gather ? call.root : static_cast<int>(any);
    int to = static_cast<int>((from + distance) % n);
    if (call.op == Op::gather) std::swap(from, to);
    const int a = c.edges.node_of(from), b = c.edges.node_of(to);
    if (a == b) {
      agents += 2;
      usages += static_cast<double>(c.edges.lane(a, c.edges.local_of(from), c.edges.local_of(to)).usages.size());
      continue;
    }
    const NetUse use = use_of(c, from, to, 0);
    agents += 3;
    usages += static_cast<double>(c.edges.relay(use, 1.0).size() + c.edges.wire(use).size());
  }
  return {agents / samples, usages / samples};
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
  if (f != Fidelity::flow) {
    const auto [agents, usages] = agents_and_usages(c, call);
    check_chunk_memory(c, call, parts_of(message, plan.channels_per_peer), agents, usages);
  }
  const Loads loads = loads_of(c, call, plan.channels_per_peer, costs);
  s.channels = std::max(plan.channels_per_peer,
                        std::min(channels, plan.channels_per_peer * std::max(loads.sends, loads.receives)));
  const Bytes part{ceil_div(message.count(), plan.channels_per_peer)};
  const Bytes chunk = std::min(plan.chunk, part);
  const Time overhead = costs.protocol.overhead;
  costs.protocol.send = block_share(costs.protocol.send, overhead, loads.sends, plan, channels, chunk);
  costs.protocol.local = block_share(costs.protocol.local, overhead, loads.receives, plan, channels, chunk);
  if (f != Fidelity::flow) {
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
