// See packet_flows.hpp.
#include "packet_flows.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "linkcast/sim/diagnostic.hpp"
#include "mix.hpp"

namespace linkcast::sim {
namespace {

template <class Id>
std::uint64_t number(Id id) {
  return static_cast<std::uint64_t>(id);
}

/// Equal for flows that nothing tells apart.
std::uint64_t fingerprint(const packet::Part& part, Rate cap) {
  const auto& f = part.flow;
  std::uint64_t h = mix(number(f.from), number(f.to));
  const auto add = [&h](std::uint64_t v) { h = mix(h, v); };
  add(f.transport);
  add(f.hash);
  add(f.group);
  add(static_cast<std::uint64_t>(cap.bytes_per_second()));
  add(std::bit_cast<std::uint64_t>(part.weight));
  add(static_cast<std::uint64_t>(part.latency.ps()));
  for (const auto* links : {&f.way, &f.way_back}) {
    add(links->size());
    for (const auto l : *links) add(number(l));
  }
  for (const auto* stations : {&f.out, &f.in}) {
    add(stations->size());
    for (const auto& s : *stations) add(number(s.station)), add(std::bit_cast<std::uint64_t>(s.weight));
  }
  return h;
}

}  // namespace

PacketFlows::PacketFlows(const packet::Setting& setting, packet::Network& network, std::size_t resources)
    : setting_{setting}, network_{network}, carried_(resources, 0.0) {
  resource_of_station_.assign(setting.fabric->stations(), packet::Setting::no_resource);
  for (std::uint32_t r = 0; r < setting.resources.size(); ++r)
    if (const auto& s = setting.resources[r].station) resource_of_station_[number(*s)] = r;
}

std::vector<std::uint32_t> PacketFlows::take(std::span<const packet::Part> parts, Rate cap) {
  std::vector<std::uint32_t> flows;
  for (const auto& part : parts) {
    const Rate own = cap.is_unlimited() ? cap : std::max(Rate::bytes_per_second(1), cap * part.weight);
    const auto like = fingerprint(part, own);
    auto& free = free_[like];
    if (!free.empty()) {
      flows.push_back(free.back());
      free.pop_back();
      continue;
    }
    flows.push_back(static_cast<std::uint32_t>(flow_.size()));
    flow_.push_back(open(part, own, like));
    const auto id = number(flow_.back().id);
    if (id >= of_.size()) of_.resize(id + 1);
    of_[id] = flows.back();
  }
  return flows;
}

PacketFlows::Flow PacketFlows::open(const packet::Part& part, Rate cap, std::uint64_t like) {
  auto spec = part.flow;
  spec.cap = cap;
  // A sender reads ahead from its stations, so that its last bytes may leave before their time there is over.
  Rate rate = Rate::unlimited();
  for (const auto& s : spec.out) rate = std::min(rate, setting_.fabric->station_rate(s.station) * (1 / s.weight));
  Flow flow{network_.open(spec), part.weight, part.latency, rate, like, std::move(spec.way), {}};
  // Of a way that switches choose, only its beginning is known.
  if (flow.watched.empty())
    for (const auto l : setting_.fabric->out_links(spec.from)) flow.watched.push_back(l);
  for (const auto* stations : {&spec.out, &spec.in}) {
    for (const auto& s : *stations) {
      const auto r = resource_of_station_[number(s.station)];
      if (r != packet::Setting::no_resource) flow.stations.emplace_back(r, s.weight);
    }
  }
  return flow;
}

std::vector<packet::Part> PacketFlows::parts_of(std::span<const Usage> usages) const {
  std::vector<packet::Part> parts;
  std::vector<std::pair<packet::NodeId, std::size_t>> hosts;  // whose stations are one flow: which of `parts`
  for (const auto& u : usages) {
    const auto& place = setting_.resources[number(u.resource)];
    if (!place.station) {
      for (auto part : place.alone) {
        part.weight *= u.weight;
        parts.push_back(std::move(part));
      }
      continue;
    }
    if (place.alone.empty()) throw InternalError("a station without a link to reach it by");
    const auto host = place.alone.front().flow.from;
    auto at = std::ranges::find(hosts, host, [](const auto& h) { return h.first; });
    if (at == hosts.end()) {
      at = hosts.insert(at, {host, parts.size()});
      parts.push_back(place.alone.front());
    }
    auto& out = parts[at->second].flow.out;
    const auto same = std::ranges::find(out, *place.station, &packet::StationUse::station);
    same == out.end() ? out.push_back({*place.station, u.weight}) : void(same->weight += u.weight);
  }
  return parts;
}

void PacketFlows::count(std::uint32_t flow, Bytes message) {
  for (const auto& [r, weight] : flow_[flow].stations) carried_[r] += weight * static_cast<double>(message.count());
}

}  // namespace linkcast::sim
