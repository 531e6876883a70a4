// Where one flow goes in a network: by shortest ways, at each switch an even split over the cables that lie on one
// (adaptive, spray), or one of them by a hash of the flow (ECMP) or by the destination; a dragonfly's split also goes
// round (network_detours.hpp). Knows no machine.
#include <algorithm>

#include "network_choice.hpp"
#include "network_detours.hpp"
#include "network_ways.hpp"

namespace linkcast::topologies {
namespace {

bool is_switch(const Network::Data& d, std::uint32_t end) { return end >= d.places.size(); }
std::uint32_t switch_of(const Network::Data& d, std::uint32_t end) {
  return end - static_cast<std::uint32_t>(d.places.size());
}

}  // namespace

std::vector<PortPair> pairs_of(const Network& net, NicPlace from, NicPlace to) {
  std::vector<PortPair> out;
  double reaching = 0;
  for (const auto p : net.ports_of(from.node, from.nic)) {
    int nearest = 0;
    std::vector<PortId> there;
    for (const auto q : net.ports_of(to.node, to.nic)) {
      const auto way = net.way(p, q);
      if (!way) continue;
      if (there.empty() || way->switches < nearest) there.clear(), nearest = way->switches;
      if (way->switches == nearest) there.push_back(q);
    }
    for (const auto q : there) out.push_back({p, q, 1.0 / static_cast<double>(there.size())});
    reaching += there.empty() ? 0 : 1;
  }
  for (auto& pair : out) pair.share /= reaching;
  return out;
}

std::optional<Network::Way> Network::way(PortId from, PortId to) const {
  const auto& d = *data_;
  const auto out = plug(d, from);
  const auto in = plug(d, to);
  if (!out || !in) return std::nullopt;
  const auto latency = [&](const Plug& p) { return d.cable_models[d.cables[p.arc / 2].model].latency; };
  if (!is_switch(d, out->to) || !is_switch(d, in->to))
    return out->to == d.end(to) ? std::optional{Way{0, latency(*out)}} : std::nullopt;
  const auto ways = ways_between(d, switch_of(d, out->to), switch_of(d, in->to));
  if (!ways) return std::nullopt;
  return Way{ways->way.switches, latency(*out) + ways->way.latency + latency(*in)};
}

std::optional<Network::Way> Network::way(NicPlace from, NicPlace to) const {
  std::optional<Way> best;
  for (const auto& pair : pairs_of(*this, from, to)) {
    const auto way = this->way(pair.from, pair.to);
    if (!best || way->latency < best->latency) best = way;
  }
  return best;
}

bool Network::add(PortId from, PortId to, double weight, std::uint64_t flow, const Sink& sink) const {
  const auto& d = *data_;
  const auto out = plug(d, from);
  const auto in = plug(d, to);
  if (!out || !in) return false;
  const auto put = [&](std::uint32_t arc, double w) { sink(CableId{arc / 2}, (arc & 1) == 0, w); };
  if (!is_switch(d, out->to) || !is_switch(d, in->to)) {
    if (out->to != d.end(to)) return false;
    put(out->arc, weight);
    return true;
  }
  const auto ways = ways_between(d, switch_of(d, out->to), switch_of(d, in->to));
  if (!ways) return false;
  put(out->arc, weight);
  if (splits(d.routing)) {
    std::vector<Detours::Hop> hops;
    const auto detours = Detours::of(d);
    if (detours && detours->spread(switch_of(d, out->to), switch_of(d, in->to), hops)) {
      for (const auto& hop : hops) put(hop.arc, weight * hop.share);
    } else {
      for (const auto& arc : ways->arcs) put(arc.arc, weight * arc.share);
    }
  } else {
    each_chosen(d, *ways, from, to, flow, [&](std::uint32_t arc, std::uint32_t) { put(arc, weight); });
  }
  put(in->arc ^ 1, weight);
  return true;
}

bool Network::add(NicPlace from, NicPlace to, double weight, std::uint64_t flow, const Sink& sink) const {
  const auto pairs = pairs_of(*this, from, to);
  if (pairs.empty()) return false;
  // A message has a queue pair on each port of its NIC (NCCL's merged devices, ncclIbConnect), whatever the routing.
  for (const auto& p : pairs) add(p.from, p.to, weight * p.share, flow, sink);
  return true;
}

bool Network::sharp() const {
  return !data_->switches.empty() && std::ranges::all_of(data_->switches, [&](const NetworkSwitch& s) {
    return data_->switch_models[s.model].sharp;
  });
}

}  // namespace linkcast::topologies
