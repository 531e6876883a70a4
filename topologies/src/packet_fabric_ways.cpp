// Which links a flow takes: between machines those that the network's routing takes, inside one those that the lane's
// loads add up to.
#include <algorithm>
#include <map>

#include "network_choice.hpp"
#include "network_tiers.hpp"
#include "packet_fabric_data.hpp"

namespace linkcast::topologies {
namespace {

struct Load {
  std::uint32_t arc;  // of whatever graph the caller has
  std::uint32_t from, to;
  double rest;
};
struct Path {
  double share;
  std::vector<std::uint32_t> arcs;
};

/// Paths that add up to the loads (flow decomposition; Ahuja, Magnanti, Orlin, Network Flows, 3.5): from `from` along
/// the fullest arc until `to`, with as much as all of it carries, until nothing is left. Nothing where the loads do not
/// add up. What goes in a circle is left out.
std::vector<Path> decomposed(std::vector<Load> loads, std::uint32_t from, std::uint32_t to) {
  std::map<std::uint32_t, std::vector<std::size_t>> out_of;
  double total = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    out_of[loads[i].from].push_back(i);
    if (loads[i].from == from) total += loads[i].rest;
  }
  const double dust = 1e-9 * total;
  std::vector<Path> paths;
  while (total > 0) {
    std::vector<std::size_t> way;
    std::map<std::uint32_t, std::size_t> seen;  // node -> how many arcs before it
    for (auto at = from; at != to;) {
      if (const auto [it, is_new] = seen.emplace(at, way.size()); !is_new) {
        auto least = loads[way.back()].rest;
        for (auto i = it->second; i < way.size(); ++i) least = std::min(least, loads[way[i]].rest);
        for (auto i = it->second; i < way.size(); ++i) loads[way[i]].rest -= least;
        way.clear();
        seen.clear();
        at = from;
        continue;
      }
      std::optional<std::size_t> best;
      for (const auto i : out_of[at])
        if (loads[i].rest > dust && (!best || loads[i].rest > loads[*best].rest)) best = i;
      if (!best) {
        const bool done = std::ranges::all_of(loads, [&](const Load& l) { return l.rest <= 1e-6 * total; });
        return done ? paths : std::vector<Path>{};
      }
      way.push_back(*best);
      at = loads[*best].to;
    }
    Path path{loads[way.front()].rest, {}};
    for (const auto i : way) path.share = std::min(path.share, loads[i].rest);
    for (const auto i : way) {
      loads[i].rest -= path.share;
      path.arcs.push_back(loads[i].arc);
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

void largest_first(std::vector<Path>& paths) {
  std::ranges::stable_sort(paths, [](const Path& a, const Path& b) { return a.share > b.share; });
}

std::vector<packet::LinkId> turned(const packet::Fabric& f, const std::vector<packet::LinkId>& links) {
  std::vector<packet::LinkId> back;
  for (auto it = links.rbegin(); it != links.rend(); ++it) back.push_back(f.reverse(*it));
  return back;
}

/// The cable of a port, as a link from it or to it.
packet::LinkId plug_link(const PacketFabric::Data& d, const Plug& p, bool leaving) {
  return d.link_of_arc(leaving ? p.arc : p.arc ^ 1, 0);
}

bool by_tables(const PacketFabric::Data& d) {
  const auto routing = d.cluster.network().routing();
  const auto choice = d.settings.routing;
  return !(routing == models::Routing::ecmp && choice == packet::Choice::hash) &&
         !(routing == models::Routing::by_destination && choice == packet::Choice::by_destination);
}

/// The cables of Network::add for this flow; empty where nothing connects them.
std::vector<packet::LinkId> chosen_links(const PacketFabric::Data& d, PortId from, PortId to, std::uint64_t flow) {
  const auto& n = d.cluster.network().data();
  const auto out = plug(n, from), in = plug(n, to);
  const auto ports = static_cast<std::uint32_t>(n.places.size());
  const auto ways = ways_between(n, out->to - ports, in->to - ports);
  if (!ways) return {};
  std::vector<packet::LinkId> links{plug_link(d, *out, true)};
  each_chosen(n, *ways, from, to, flow,
              [&](std::uint32_t arc, std::uint32_t which) { links.push_back(d.link_of_arc(arc, which)); });
  links.push_back(plug_link(d, *in, false));
  return links;
}

}  // namespace

std::optional<PacketWay> PacketFabric::way(PortId from, PortId to, std::uint64_t flow) const {
  const auto& d = *data_;
  const auto& n = d.cluster.network().data();
  const PacketWay ends{1, endpoint(from), endpoint(to), {}, {}};
  const auto out = plug(n, from), in = plug(n, to);
  if (!out || !in || ends.from == packet::no_node || ends.to == packet::no_node) return std::nullopt;
  const auto ports = static_cast<std::uint32_t>(n.places.size());
  if (out->to < ports || in->to < ports) {  // a cable from NIC to NIC
    if (out->to != n.end(to)) return std::nullopt;
    auto way = ends;
    way.links = {plug_link(d, *out, true)};
    way.back = turned(d.fabric, way.links);
    return way;
  }
  if (!by_tables(d)) {
    auto way = ends;
    way.links = chosen_links(d, from, to, flow);
    if (way.links.empty()) return std::nullopt;
    way.back = chosen_links(d, to, from, flow);
    return way;
  }
  const auto a = out->to - ports, b = in->to - ports;
  if (a != b && !ways_between(n, a, b)) return std::nullopt;
  return ends;
}

std::vector<PacketWay> PacketFabric::ways(NicPlace from, NicPlace to, std::uint64_t flow) const {
  std::vector<PacketWay> all;
  for (const auto& pair : pairs_of(data_->cluster.network(), from, to)) {
    if (auto way = this->way(pair.from, pair.to, flow)) {
      way->share = pair.share;
      all.push_back(std::move(*way));
    }
  }
  return all;
}

std::vector<PacketWay> PacketFabric::lane_ways(int node, DeviceId from, DeviceId to,
                                               std::span<const sim::Usage> usages) const {
  const auto& d = *data_;
  const PacketWay ends{1, gpu(node, from), gpu(node, to), {}, {}};
  if (ends.from == packet::no_node || ends.to == packet::no_node || ends.from == ends.to) return {};
  std::map<std::uint32_t, double> sum;  // by link
  for (const auto& u : usages) {
    if (static_cast<std::size_t>(u.resource) >= d.machine_resources()) return {};
    const auto l = d.machine_links[static_cast<std::size_t>(u.resource)];
    if (l == packet::no_link) return {};
    sum[static_cast<std::uint32_t>(l)] += u.weight;
  }
  std::vector<Load> loads;
  for (const auto& [l, weight] : sum) {
    const auto& spec = d.fabric.link(packet::LinkId{l});
    // A packet passes switches only: by way of another GPU is a hop to it and a hop from it.
    if (d.fabric.is_endpoint(spec.from) && spec.from != ends.from) return {};
    if (d.fabric.is_endpoint(spec.to) && spec.to != ends.to) return {};
    loads.push_back({l, static_cast<std::uint32_t>(spec.from), static_cast<std::uint32_t>(spec.to), weight});
  }
  auto paths = decomposed(std::move(loads), static_cast<std::uint32_t>(ends.from), static_cast<std::uint32_t>(ends.to));
  largest_first(paths);
  std::vector<PacketWay> result;
  for (const auto& p : paths) {
    auto& way = result.emplace_back(ends);
    way.share = p.share;
    for (const auto l : p.arcs) way.links.push_back(packet::LinkId{l});
    way.back = turned(d.fabric, way.links);
  }
  return result;
}

std::vector<PacketWay> PacketFabric::alone(sim::ResourceId resource) const {
  const auto& d = *data_;
  const auto links = links_of(resource);
  std::vector<PacketWay> result;
  const bool inside = static_cast<std::size_t>(resource) < d.machine_resources();
  const auto& from = inside ? d.tap_from : d.cable_tap_from;
  const auto& to = inside ? d.tap_to : d.cable_tap_to;
  for (const auto l : links) {
    const auto at = inside ? static_cast<std::size_t>(resource) : static_cast<std::size_t>(l);
    PacketWay way;
    way.share = 1.0 / static_cast<double>(links.size());
    if (at < from.size() && from[at] != packet::no_link) way.links.push_back(from[at]);
    way.links.push_back(l);
    if (at < to.size() && to[at] != packet::no_link) way.links.push_back(to[at]);
    way.from = d.fabric.link(way.links.front()).from;
    way.to = d.fabric.link(way.links.back()).to;
    if (!d.fabric.is_endpoint(way.from) || !d.fabric.is_endpoint(way.to)) return {};
    way.back = turned(d.fabric, way.links);
    result.push_back(std::move(way));
  }
  return result;
}

}  // namespace linkcast::topologies
