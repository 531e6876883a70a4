#include "edges.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/nccl_view.hpp"

namespace linkcast::workloads {

using topologies::Fabric;

Edges::Edges(const topologies::Cluster& cluster, const models::nccl::Version& version,
             const models::nccl::Environment& env, const Packets* packets)
    : cluster_{cluster}, packets_{packets}, locals_{cluster.gpus_per_node()} {
  for (int k = 0; k < cluster.kinds(); ++k) {
    lanes_.push_back(std::make_unique<Lanes>(cluster.kind(k), version, env));
    auto& of_kind = nics_.emplace_back();
    const auto devices = cluster.kind(k).devices();
    for (std::size_t d = 0; d < devices.size(); ++d)
      if (devices[d].kind == topologies::DeviceKind::nic)
        of_kind.push_back(topologies::DeviceId{static_cast<std::uint32_t>(d)});
    auto& of_net = nic_of_net_.emplace_back();
    const auto system = topologies::nccl_system(cluster.kind(k), version);
    for (const int n : system.of_type(models::nccl::NodeType::net))
      of_net.push_back(system.nodes()[static_cast<std::size_t>(n)].dev);
  }
  queue_pairs_ = static_cast<int>(std::clamp<long long>(env.integer("NCCL_IB_QPS_PER_CONNECTION").value_or(1), 1, 128));
}

const Lane& Edges::lane(int node, int from, int to) const {
  return lanes_[static_cast<std::size_t>(cluster_.kind_of(node))]->between(from, to);
}

void Edges::add_lane(UsageSum& sum, int node, int from, int to, double weight) const {
  const auto base = cluster_.resource(node, sim::ResourceId{0});
  for (const auto& u : lane(node, from, to).usages)
    sum.add(sim::ResourceId{static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(u.resource)},
            u.weight * weight);
}

std::vector<sim::Usage> Edges::placed(int node, const Lane& lane, double weight) const {
  auto usages = lane.usages;
  for (auto& u : usages) u = {cluster_.resource(node, u.resource), u.weight * weight};
  return usages;
}

int Edges::nic_of(int node, int net) const {
  return nic_of_net_[static_cast<std::size_t>(cluster_.kind_of(node))].at(static_cast<std::size_t>(net));
}

EdgeTime Edges::time(const Lane& lane, const Costs& costs) const {
  return {false, costs.protocol.hop + lane.latency, {}};
}

const Edges::NicRoute& Edges::nic_route(int node, int gpu, int nic, bool out, bool staged) const {
  const int kind = cluster_.kind_of(node);
  const auto [it, is_new] = routes_.try_emplace({kind, gpu, nic, out, staged});
  if (!is_new) return it->second;
  const auto& machine = cluster_.kind(kind);
  const auto g = machine.gpus()[static_cast<std::size_t>(gpu)];
  const auto& nics = nics_[static_cast<std::size_t>(kind)];
  if (nic < 0 || static_cast<std::size_t>(nic) >= nics.size())
    throw sim::InternalError("NCCL chose a NIC that " + machine.name() + " does not have");
  const auto n = nics[static_cast<std::size_t>(nic)];
  const auto route = out ? machine.route_to_nic(g, n, staged) : machine.route_from_nic(n, g, staged);
  if (!route)
    throw sim::InputError(machine.name() + ": no way between " + machine.devices()[static_cast<std::size_t>(g)].name +
                              " and " + machine.devices()[static_cast<std::size_t>(n)].name,
                          "both must hang below a CPU that is up");
  for (const auto& hop : route->hops) {
    const auto load = [&](bool forward, double weight) {
      const sim::Usage u{Fabric::resource(hop.link, forward), weight};
      add_usages(it->second.usages, {&u, 1}, 1.0);
    };
    load(hop.forward, hop.weight);
    // Through host memory one direction costs the other, as between GPUs (lanes.cpp).
    if (staged && machine.links()[static_cast<std::size_t>(hop.link)].kind == models::LinkKind::pcie)
      load(!hop.forward, hop.weight * host_path_coupling);
  }
  it->second.latency = route->latency;
  return it->second;
}

topologies::NicPlace Edges::sending_nic(const NetUse& use) const {
  const int node = node_of(use.edge.from);
  return {cluster_.original_node(node), nic_of(node, use.edge.send_net)};
}
topologies::NicPlace Edges::receiving_nic(const NetUse& use) const {
  const int node = node_of(use.edge.to);
  return {cluster_.original_node(node), nic_of(node, use.edge.recv_net)};
}

const Edges::NicRoute& Edges::sender_route(const NetUse& use) const {
  const auto& e = use.edge;
  const int gpu = e.send_proxy >= 0 ? e.send_proxy : local_of(e.from);
  return nic_route(node_of(e.from), gpu, sending_nic(use).nic, true, staged(e.send_gdr));
}
const Edges::NicRoute& Edges::receiver_route(const NetUse& use) const {
  const auto& e = use.edge;
  return nic_route(node_of(e.to), local_of(e.to), receiving_nic(use).nic, false, staged(e.recv_gdr));
}

void Edges::add_sender(UsageSum& sum, const NetUse& use, double weight) const {
  const int node = node_of(use.edge.from);
  for (const auto& u : sender_route(use).usages) sum.add(cluster_.resource(node, u.resource), u.weight * weight);
}
void Edges::add_receiver(UsageSum& sum, const NetUse& use, double weight) const {
  const int node = node_of(use.edge.to);
  for (const auto& u : receiver_route(use).usages) sum.add(cluster_.resource(node, u.resource), u.weight * weight);
}

void Edges::each_wire_usage(const NetUse& use, double weight, const Sink& sink) const {
  const auto& e = use.edge;
  const int from = node_of(e.from), to = node_of(e.to);
  for (const auto& u : sender_route(use).usages) sink(cluster_.resource(from, u.resource), u.weight * weight);
  for (const auto& u : receiver_route(use).usages) sink(cluster_.resource(to, u.resource), u.weight * weight);
  const auto cables = [&](topologies::CableId c, bool forward, double w) { sink(cluster_.cable(c, forward), w); };
  const auto a = sending_nic(use), b = receiving_nic(use);
  for (int q = 0; q < queue_pairs_; ++q) {
    const auto flow = use.flow * 131 + static_cast<std::uint64_t>(q);
    if (!cluster_.network().add(a, b, weight / queue_pairs_, flow, cables))
      throw sim::InputError(fmt::format("{}: no way from {}.nic[{}] to {}.nic[{}]", cluster_.name(),
                                        cluster_.node_name(from), a.nic, cluster_.node_name(to), b.nic),
                            "a cable or a switch is missing or down, or nothing joins these rails");
  }
}

void Edges::add_wire(UsageSum& sum, const NetUse& use, double weight) const {
  each_wire_usage(use, weight, [&](sim::ResourceId r, double w) { sum.add(r, w); });
}

std::vector<sim::Usage> Edges::wire(const NetUse& use) const {
  std::vector<sim::Usage> out;
  each_wire_usage(use, 1.0, [&](sim::ResourceId r, double w) {
    const sim::Usage u{r, w};
    add_usages(out, {&u, 1}, 1.0);
  });
  return out;
}

void Edges::add_relay(UsageSum& sum, const NetUse& use, double weight) const {
  const int local = local_of(use.edge.from), proxy = use.edge.send_proxy;
  if (proxy >= 0 && proxy != local) add_lane(sum, node_of(use.edge.from), local, proxy, weight);
}

std::vector<sim::Usage> Edges::relay(const NetUse& use, double weight) const {
  const int local = local_of(use.edge.from), proxy = use.edge.send_proxy;
  if (proxy < 0 || proxy == local) return {};
  const int node = node_of(use.edge.from);
  return placed(node, lane(node, local, proxy), weight);
}

std::vector<sim::packet::Part> Edges::lane_parts(int node, int from, int to, double weight) const {
  std::vector<sim::packet::Part> parts;
  if (packets_ == nullptr) return parts;
  const auto& gpus = cluster_.machine(node).gpus();
  const auto usages = placed(node, lane(node, from, to), weight);
  for (const auto& way : packets_->fabric().lane_ways(node, gpus[static_cast<std::size_t>(from)],
                                                      gpus[static_cast<std::size_t>(to)], usages))
    parts.push_back(packets_->inside(way));
  return parts;
}

std::vector<sim::packet::Part> Edges::relay_parts(const NetUse& use, double weight) const {
  const int local = local_of(use.edge.from), proxy = use.edge.send_proxy;
  if (proxy < 0 || proxy == local) return {};
  return lane_parts(node_of(use.edge.from), local, proxy, weight);
}

// Each queue pair takes its part of every message; a NIC with several ports splits that again.
std::vector<sim::packet::Part> Edges::wire_parts(const NetUse& use, double weight) const {
  std::vector<sim::packet::Part> parts;
  if (packets_ == nullptr) return parts;
  const auto& fabric = packets_->fabric();
  const auto stations = [&](const NicRoute& route, int node) {
    std::vector<sim::packet::StationUse> uses;
    for (const auto& u : route.usages)
      if (const auto s = fabric.station(cluster_.resource(node, u.resource))) uses.push_back({*s, u.weight});
    return uses;
  };
  const auto out = stations(sender_route(use), node_of(use.edge.from));
  const auto in = stations(receiver_route(use), node_of(use.edge.to));
  for (int q = 0; q < queue_pairs_; ++q) {
    const auto flow = use.flow * 131 + static_cast<std::uint64_t>(q);
    for (const auto& way : fabric.ways(sending_nic(use), receiving_nic(use), flow)) {
      auto part = packets_->between(way);
      part.weight *= weight / queue_pairs_;
      part.flow.hash = flow;
      part.flow.out = out;
      part.flow.in = in;
      const auto from = fabric.port_of(way.from), to = fabric.port_of(way.to);
      if (from && to) {
        if (const auto s = fabric.port_station(*from)) part.flow.out.push_back({*s, 1});
        if (const auto s = fabric.host_station(*from, true)) part.flow.out.push_back({*s, 1});
        if (const auto s = fabric.host_station(*to, false)) part.flow.in.push_back({*s, 1});
        if (way.links.empty())
          if (const auto shortest = cluster_.network().way(*from, *to)) part.latency = shortest->latency;
      }
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

void Edges::travel(sim::ChunkProgram& program, sim::ConnectionId connection, std::vector<sim::packet::Part> parts) {
  if (parts.empty()) return;
  if (!program.ways) program.ways = std::make_shared<sim::packet::Ways>();
  const auto c = static_cast<std::size_t>(connection);
  if (program.ways->of.size() <= c) program.ways->of.resize(c + 1);
  program.ways->of[c] = std::move(parts);
}

EdgeTime Edges::time(const NetUse& use, const Costs& costs) const {
  auto t = nic_time(use, costs);
  if (const auto way = cluster_.network().way(sending_nic(use), receiving_nic(use))) t.hop += way->latency;
  return t;
}

EdgeTime Edges::nic_time(const NetUse& use, const Costs& costs) const {
  const auto& model = cluster_.network().model();
  EdgeTime t{true, model.latency, model.message};
  if (!costs.cut_through) {
    t.hop += model.simple;
    const auto& machine = cluster_.machine(node_of(use.edge.to));
    const auto gpu = machine.gpus()[static_cast<std::size_t>(local_of(use.edge.to))];
    if (machine.gpu_model(gpu).compute_capability < 90) t.hop += model.flush;
  }
  t.hop += sender_route(use).latency + receiver_route(use).latency;
  return t;
}

sim::ConnectionId Connector::add(sim::AgentId from, sim::AgentId to, sim::Time latency, std::vector<sim::Usage> usages,
                                 std::vector<sim::packet::Part> parts) {
  sim::Connection c;
  c.from = from;
  c.to = to;
  c.slots = slots_;
  c.latency = latency;
  c.credit_latency = latency;
  c.usages = std::move(usages);
  program_.connections.push_back(std::move(c));
  const sim::ConnectionId id{static_cast<std::uint32_t>(program_.connections.size() - 1)};
  Edges::travel(program_, id, std::move(parts));
  return id;
}

Connector::Ends Connector::inside(int node, int from, int to, sim::AgentId sender, sim::AgentId receiver) {
  const Lane& lane = edges_.lane(node, from, to);
  const auto id = add(sender, receiver, edges_.time(lane, costs_).hop, edges_.placed(node, lane, costs_.on(lane)),
                      edges_.lane_parts(node, from, to, costs_.on(lane)));
  return {id, id};
}

Connector::Ends Connector::across(std::span<const NetUse> uses, sim::AgentId sender, sim::AgentId receiver,
                                  std::int64_t units, std::function<sim::Bytes(std::int64_t)> bytes_at,
                                  std::uint32_t pattern) {
  if (nic_kind_ < 0) {
    nic_kind_ = static_cast<int>(program_.kinds.size());
    program_.kinds.push_back({network_.message, network_.flow_rate, sim::Cause::nic, false});
  }
  const sim::AgentId nic{static_cast<std::uint32_t>(program_.agents.size())};
  std::vector<sim::Usage> relay, wire;
  std::vector<sim::packet::Part> relay_parts, wire_parts;
  bool relays_known = true;
  const double part = costs_.wire / static_cast<double>(uses.size());
  sim::Time hop;
  for (const auto& use : uses) {
    add_usages(relay, edges_.relay(use, part), 1.0);
    add_usages(wire, edges_.wire(use), part);
    const auto append = [](auto& to, auto&& parts) { to.insert(to.end(), parts.begin(), parts.end()); };
    append(wire_parts, edges_.wire_parts(use, part));
    const auto before = relay_parts.size();
    append(relay_parts, edges_.relay_parts(use, part));
    relays_known = relays_known && (relay_parts.size() > before || edges_.relay(use, part).empty());
    hop = std::max(hop, edges_.time(use, costs_).hop);
  }
  if (!relays_known) relay_parts.clear();
  const auto in = add(sender, nic, sim::Time{}, std::move(relay), std::move(relay_parts));
  const auto out = add(nic, receiver, hop, std::move(wire), std::move(wire_parts));
  sim::Agent agent;
  agent.units = units;
  agent.pattern = pattern;
  agent.at = [in, out, kind = static_cast<std::uint16_t>(nic_kind_), bytes_at = std::move(bytes_at)](std::int64_t k,
                                                                                                     sim::Unit& u) {
    u.kind = kind;
    u.bytes = bytes_at(k);
    u.receive.assign(1, in);
    u.send.assign(1, out);
  };
  program_.agents.push_back(std::move(agent));
  return {in, out};
}

}  // namespace linkcast::workloads
