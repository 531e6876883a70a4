// Routes between two GPUs. NVLink: all shortest ways over NVSwitches at once, as the hardware stripes addresses over
// links in proportion to their number. PCIe and host memory: the way with the least latency, by Dijkstra.
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>

#include <algorithm>
#include <deque>
#include <map>

#include "graph.hpp"

namespace linkcast::topologies {
namespace {

using Index = std::size_t;
Index index(DeviceId d) { return static_cast<Index>(d); }
LinkId link_id(Index i) { return LinkId{static_cast<std::uint32_t>(i)}; }

struct Arc {
  Index link;
  Index to;
  bool forward;
};

std::vector<std::vector<Arc>> arcs(const Fabric::Data& data, auto keep) {
  std::vector<std::vector<Arc>> out(data.devices.size());
  for (Index i = 0; i < data.links.size(); ++i) {
    const auto& l = data.links[i];
    if (!data.usable(link_id(i)) || !keep(l)) continue;
    out[index(l.a)].push_back({i, index(l.b), true});
    out[index(l.b)].push_back({i, index(l.a), false});
  }
  return out;
}

bool passes(const Fabric::Data& data, Index d, Transport t) {
  const auto kind = data.devices[d].kind;
  if (t == Transport::nvlink) return kind == DeviceKind::nvswitch;
  return kind == DeviceKind::pcie_switch || kind == DeviceKind::cpu;
}

/// Splits the load at each device over the links that lie on a shortest way to `to`, in proportion to their widths:
/// the hardware spreads addresses over links evenly, whatever their state, so a slow one holds back all.
std::optional<Route> nvlink_route(const Fabric::Data& data, Index from, Index to) {
  const auto next = arcs(data, [](const Link& l) { return l.kind == models::LinkKind::nvlink; });
  constexpr int unreached = -1;
  std::vector<int> distance(data.devices.size(), unreached);
  std::deque<Index> queue{to};
  distance[to] = 0;
  std::vector<Index> order;  // by growing distance
  while (!queue.empty()) {
    const auto d = queue.front();
    queue.pop_front();
    order.push_back(d);
    if (d != to && !passes(data, d, Transport::nvlink)) continue;
    for (const auto& arc : next[d]) {
      if (distance[arc.to] != unreached) continue;
      if (arc.to != from && !passes(data, arc.to, Transport::nvlink)) continue;
      distance[arc.to] = distance[d] + 1;
      queue.push_back(arc.to);
    }
  }
  if (distance[from] == unreached) return std::nullopt;

  Route route{Transport::nvlink, {}, {}};
  std::vector<double> load(data.devices.size(), 0.0);
  std::vector<sim::Time> arrival(data.devices.size());
  load[from] = 1.0;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto d = *it;
    if (d == to || load[d] == 0.0) continue;
    int width = 0;
    for (const auto& arc : next[d]) {
      if (distance[arc.to] == distance[d] - 1) width += data.links[arc.link].width;
    }
    for (const auto& arc : next[d]) {
      if (distance[arc.to] != distance[d] - 1) continue;
      const auto& l = data.links[arc.link];
      const double share = load[d] * l.width / width;
      route.hops.push_back({link_id(arc.link), arc.forward, share});
      load[arc.to] += share;
      const auto transit = arc.to == to ? sim::Time{} : data.device_extra[arc.to].transit;
      arrival[arc.to] = std::max(arrival[arc.to], arrival[d] + l.latency + transit);
    }
  }
  route.latency = arrival[to];
  return route;
}

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, std::int64_t, Arc>>;

/// The way of least latency over PCIe, CPUs, C2C (and memory, when it is an end). Empty when there is none.
std::vector<Arc> least_latency(const Fabric::Data& data, Index from, Index to) {
  Graph g{data.devices.size()};
  const auto inside = [&](Index d) { return d == from || d == to || passes(data, d, Transport::pcie_p2p); };
  const auto add = [&](Index a, Index b, Arc arc) {
    const auto& l = data.links[arc.link];
    const auto cost = l.latency + data.device_extra[b].transit + sim::Time::picoseconds(1);  // ties: fewer hops
    boost::add_edge(a, b, {cost.ps(), arc}, g);
  };
  for (Index i = 0; i < data.links.size(); ++i) {
    const auto& l = data.links[i];
    if (!data.usable(link_id(i)) || l.kind == models::LinkKind::nvlink || l.kind == models::LinkKind::network) continue;
    if (!inside(index(l.a)) || !inside(index(l.b))) continue;
    add(index(l.a), index(l.b), {i, index(l.b), true});
    add(index(l.b), index(l.a), {i, index(l.a), false});
  }
  std::vector<Index> before(data.devices.size());
  std::vector<std::int64_t> distance(data.devices.size());
  boost::dijkstra_shortest_paths(g, from, boost::predecessor_map(before.data()).distance_map(distance.data()));
  std::vector<Arc> way;
  if (distance[to] == std::numeric_limits<std::int64_t>::max()) return way;
  for (Index d = to; d != from; d = before[d]) {
    const Arc* best = nullptr;
    std::int64_t best_cost = 0;
    for (auto [e, end] = boost::out_edges(before[d], g); e != end; ++e) {
      if (boost::target(*e, g) != d) continue;
      const auto cost = boost::get(boost::edge_weight, g, *e);
      if (!best || cost < best_cost) {
        best = &g[*e];
        best_cost = cost;
      }
    }
    way.push_back(*best);
  }
  std::ranges::reverse(way);
  return way;
}

/// Peers that meet in a root complex move small packets, across sockets at a lower rate still: how many bytes of a PCIe
/// link's capacity each byte takes. 1 under a common switch.
double peer_overhead(const Fabric::Data& data, const std::vector<Arc>& way, bool nic = false) {
  double worst = 1.0;
  std::string socket;
  for (const auto& arc : way) {
    const auto& device = data.devices[arc.to];
    if (device.kind != DeviceKind::cpu) continue;
    const auto& extra = data.device_extra[arc.to];
    const auto own = device.attributes.find("socket");
    const auto name = own == device.attributes.end() ? std::string{} : own->second;
    const bool crossed = !socket.empty() && name != socket;
    worst = std::max({worst, nic ? extra.nic_overhead : extra.p2p_overhead, crossed ? extra.p2p_socket_overhead : 1.0});
    socket = name;
  }
  return worst;
}

void append(Route& route, const Fabric::Data& data, const std::vector<Arc>& way, double pcie_weight) {
  for (std::size_t i = 0; i < way.size(); ++i) {
    const auto& arc = way[i];
    const auto& link = data.links[arc.link];
    route.hops.push_back({link_id(arc.link), arc.forward, link.kind == models::LinkKind::pcie ? pcie_weight : 1.0});
    route.latency += link.latency;
    if (i + 1 < way.size()) route.latency += data.device_extra[arc.to].transit;
  }
}

std::optional<Route> pcie_route(const Fabric::Data& data, Index from, Index to) {
  if (!data.pcie_p2p) return std::nullopt;
  const auto way = least_latency(data, from, to);
  if (way.empty()) return std::nullopt;
  Route route{Transport::pcie_p2p, {}, {}};
  append(route, data, way, peer_overhead(data, way));
  return route;
}

/// The memory nearest to `gpu` (that of its CPU), if any.
std::optional<Index> memory_of(const Fabric::Data& data, Index gpu) {
  std::optional<Index> best;
  std::size_t hops = 0;
  for (Index d = 0; d < data.devices.size(); ++d) {
    if (data.devices[d].kind != DeviceKind::memory) continue;
    const auto way = least_latency(data, gpu, d);
    if (!way.empty() && (!best || way.size() < hops)) {
      best = d;
      hops = way.size();
    }
  }
  return best;
}

std::optional<Route> host_route(const Fabric::Data& data, Index from, Index to) {
  const auto memory = memory_of(data, from);
  if (!memory) return std::nullopt;
  const auto in = least_latency(data, from, *memory);
  const auto out = least_latency(data, *memory, to);
  if (in.empty() || out.empty()) return std::nullopt;
  Route route{Transport::host_memory, {}, {}};
  append(route, data, in, 1.0);
  append(route, data, out, 1.0);
  return route;
}

}  // namespace

std::optional<Route> find_route(const Fabric::Data& data, DeviceId from, DeviceId to, Transport t) {
  if (from == to) return std::nullopt;
  if (!data.device_extra[index(from)].up || !data.device_extra[index(to)].up) return std::nullopt;
  switch (t) {
    case Transport::nvlink:
      return nvlink_route(data, index(from), index(to));
    case Transport::pcie_p2p:
      return pcie_route(data, index(from), index(to));
    case Transport::host_memory:
      return host_route(data, index(from), index(to));
  }
  return std::nullopt;
}

std::optional<Route> find_nic_route(const Fabric::Data& data, DeviceId from, DeviceId to, bool staged) {
  if (!data.device_extra[index(from)].up || !data.device_extra[index(to)].up) return std::nullopt;
  Route route{staged ? Transport::host_memory : Transport::pcie_p2p, {}, {}};
  if (!staged) {
    const auto way = least_latency(data, index(from), index(to));
    if (way.empty()) return std::nullopt;
    append(route, data, way, peer_overhead(data, way, true));
    return route;
  }
  const bool out = data.device(from).kind == DeviceKind::gpu;
  const auto memory = memory_of(data, index(out ? from : to));
  if (!memory) return std::nullopt;
  const auto first = least_latency(data, index(from), *memory);
  const auto second = least_latency(data, *memory, index(to));
  if (first.empty() || second.empty()) return std::nullopt;
  append(route, data, first, 1.0);
  append(route, data, second, 1.0);
  return route;
}

std::optional<Route> find_route_through_gpu(const Fabric::Data& data, DeviceId from, DeviceId to) {
  const auto width = [&](DeviceId a, DeviceId b) {
    int n = 0;
    for (Index i = 0; i < data.links.size(); ++i) {
      const auto& l = data.links[i];
      const bool joins = (l.a == a && l.b == b) || (l.a == b && l.b == a);
      if (joins && l.kind == models::LinkKind::nvlink && data.usable(link_id(i))) n += l.width;
    }
    return n;
  };
  std::optional<DeviceId> via;
  int best = 0;
  for (auto gpu : data.gpus) {
    if (gpu == from || gpu == to) continue;
    const int n = std::min(width(from, gpu), width(gpu, to));
    if (n > best) {
      best = n;
      via = gpu;
    }
  }
  if (!via) return std::nullopt;
  auto route = find_route(data, from, *via, Transport::nvlink);
  const auto rest = find_route(data, *via, to, Transport::nvlink);
  if (!route || !rest) return std::nullopt;
  route->hops.insert(route->hops.end(), rest->hops.begin(), rest->hops.end());
  route->latency += rest->latency;
  return route;
}

}  // namespace linkcast::topologies
