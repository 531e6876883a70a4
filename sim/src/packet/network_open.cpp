// Opening flows: their ways there and back, what control knows of them. See network_impl.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "network_impl.hpp"

namespace linkcast::sim::packet {
namespace {

/// Controls that do nothing to a flow before it is told of congestion.
bool calm(const ControlSettings& control) {
  if (const auto* plain = std::get_if<Uncontrolled>(&control)) return plain->window == Bytes{};
  return std::holds_alternative<dcqcn::Settings>(control) || std::holds_alternative<infiniband_cct::Settings>(control);
}

}  // namespace

bool one_round_trip(const ControlSettings& control) {
  return std::holds_alternative<hpcc::Settings>(control) || std::holds_alternative<nscc::Settings>(control);
}

std::vector<LinkId> Network::Impl::sample_way(LinkId first, NodeId to) const {
  const Fabric& f = world.fabric;
  std::vector<LinkId> way{first};
  NodeId at = f.link(first).to;
  while (at != to) {
    if (f.is_endpoint(at) || way.size() > 64) return {};
    const auto next = f.routes(at, to);
    if (next.empty()) return {};
    way.push_back(next.front());
    at = f.link(next.front()).to;
  }
  return way;
}

Time Network::Impl::crossing(const std::vector<LinkId>& way, Bytes payload) const {
  Time sum;
  for (const auto l : way) {
    const Wire& w = world.wires[static_cast<std::size_t>(l)];
    const auto size = static_cast<std::uint64_t>(payload.count()) + std::uint64_t{w.header};
    sum += Time::picoseconds(w.delay);
    if (!w.cut_through) sum += Time::picoseconds(static_cast<std::int64_t>((size * w.ps_per_byte) >> 32));
  }
  return sum;
}

void Network::Impl::unreachable(const FlowSpec& spec) const {
  throw InputError(fmt::format("no way from {} to {}", world.fabric.name_of(spec.from), world.fabric.name_of(spec.to)),
                   "a cable or a switch is missing or down, or the routing leaves it out");
}

std::pair<LinkId, std::vector<LinkId>> Network::Impl::way_of(const FlowSpec& spec, NodeId from, NodeId to,
                                                             const std::vector<LinkId>& given) const {
  const Fabric& f = world.fabric;
  NodeId at = from;
  for (const auto l : given) {
    if (static_cast<std::size_t>(l) >= f.links() || f.link(l).from != at)
      throw InternalError("packet network: a way whose links do not meet");
    at = f.link(l).to;
  }
  if (!given.empty() && at == to) return {given.front(), given};
  if (given.size() > 1) unreachable(spec);
  LinkId first = no_link;
  if (!given.empty()) {
    first = given.front();
  } else {
    const auto out = f.out_links(from);
    if (out.size() != 1) unreachable(spec);
    first = out.front();
  }
  auto way = sample_way(first, to);
  if (way.empty()) unreachable(spec);
  return {first, std::move(way)};
}

FlowId Network::Impl::open(const FlowSpec& spec) {
  if (started && parts.size() > 1) throw InternalError("packet network: flows are opened before parts run");
  World& w = world;
  const Transport& t = w.transports.at(spec.transport);
  const Fabric& f = w.fabric;
  if (!f.is_endpoint(spec.from) || !f.is_endpoint(spec.to) || spec.from == spec.to)
    throw InternalError("packet network: a flow is between two endpoints");
  const auto [first, way] = way_of(spec, spec.from, spec.to, spec.way);
  const bool given = spec.way.size() > 1 || f.link(first).to == spec.to;
  for (const auto l : t.acknowledged ? std::vector<LinkId>{} : way) {
    if (!may_drop(f.kind(f.link(l).to), t) && (f.link(l).bit_error_rate == 0 || f.link(l).link_retry)) continue;
    throw InputError(
        fmt::format("transport '{}' cannot repair a loss, but {} may lose its packets", t.name, f.name_of(l)),
        "a way of links that lose nothing, or acknowledgements and recovery");
  }
  Send s;
  s.link = static_cast<std::uint32_t>(first);
  s.from = static_cast<std::uint32_t>(spec.from);
  s.transport = spec.transport;
  s.entropy = static_cast<std::uint16_t>(mix(spec.hash) >> 48);
  s.given_way = given;
  s.route = given ? keep_way(way) : static_cast<std::uint32_t>(spec.to);
  if (spec.cap < Rate::bytes_per_second(2'000'000))
    throw InputError(fmt::format("a flow is held to {} B/s", spec.cap.bytes_per_second()), "at least 2 MB/s");
  if (!spec.cap.is_unlimited()) s.cap_ps_per_byte = ps_per_byte(spec.cap), s.capped = true;
  s.stations = static_cast<std::uint32_t>(w.station_refs.size());
  s.station_count = keep_stations(spec.out);
  Receive r;
  r.transport = spec.transport;
  r.entropy = static_cast<std::uint16_t>(mix(spec.hash, 1) >> 48);
  r.stations = static_cast<std::uint32_t>(w.station_refs.size());
  r.station_count = keep_stations(spec.in);
  if (t.acknowledged) {
    const auto [back_first, back] = way_of(spec, spec.to, spec.from, spec.way_back);
    r.link = static_cast<std::uint32_t>(back_first);
    r.given_way = spec.way_back.size() > 1 || f.link(back_first).to == spec.from;
    r.route = r.given_way ? keep_way(back) : static_cast<std::uint32_t>(spec.from);
    Path path;
    path.line = f.link(first).rate;
    path.base_rtt = crossing(way, t.mtu) + crossing(back, t.control_bytes);
    path.hops = static_cast<int>(way.size());
    path.packet = t.mtu + f.link(first).header;
    auto& bank = w.banks[spec.transport];
    if (one_round_trip(t.control)) {
      auto& paths = paths_of[spec.transport];
      if (started && !paths.empty()) path.base_rtt = std::max(path.base_rtt, paths.front().base_rtt);
      if (!started) paths.push_back(path);
    }
    s.control = bank.add(path);
    s.calm = calm(t.control) && bank.rate(s.control, Time{}) >= path.line;
  }
  w.sends.push_back(s);
  w.receives.push_back(r);
  w.send_stats.emplace_back();
  receivers.push_back(static_cast<std::uint32_t>(spec.to));
  if (w.keeps_times) w.posted.emplace_back(), w.delivered.emplace_back();
  return FlowId{static_cast<std::uint32_t>(w.sends.size() - 1)};
}

std::uint32_t Network::Impl::keep_way(const std::vector<LinkId>& way) {
  const auto at = static_cast<std::uint32_t>(world.ways.size());
  for (std::size_t i = 1; i < way.size(); ++i) world.ways.push_back(static_cast<std::uint32_t>(way[i]));
  return at;
}

std::uint8_t Network::Impl::keep_stations(const std::vector<StationUse>& uses) {
  for (const auto& u : uses) {
    const auto i = static_cast<std::size_t>(u.station);
    const double each = static_cast<double>(world.stations.at(i).ps_per_byte) * u.weight;
    world.station_refs.push_back({static_cast<std::uint32_t>(u.station), static_cast<std::uint64_t>(each + 0.5)});
  }
  return static_cast<std::uint8_t>(uses.size());
}

}  // namespace linkcast::sim::packet
