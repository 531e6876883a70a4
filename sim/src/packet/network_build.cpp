// Checks what cannot work together and lays out the arrays of a packet network. See network_impl.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "cut.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "network_impl.hpp"

namespace linkcast::sim::packet {

std::uint64_t ps_per_byte(Rate rate) {
  if (rate.is_unlimited()) return 0;
  __extension__ using Wide = unsigned __int128;
  const auto r = static_cast<Wide>(rate.bytes_per_second());
  return static_cast<std::uint64_t>(((Wide{1'000'000'000'000} << 32) + r - 1) / r);
}

Network::Impl::Impl(const Fabric& fabric, std::vector<Transport> transports, const Options& options)
    : world{fabric, std::move(transports), options} {
  check();
  build();
}

bool Network::Impl::may_drop(const NodeKind& k, const Transport& t) const {
  const auto lanes = world.fabric.lanes();
  if (k.control != FlowControl::none)
    return !lanes[t.lane].lossless || (t.acknowledged && !lanes[t.control_lane].lossless);
  return k.shared.count() <= (std::int64_t{1} << 50);  // more is never full
}

void Network::Impl::check() const {
  Bytes mtu{1};
  for (const auto& t : world.transports) {
    mtu = std::max(mtu, t.mtu);
    if (t.mtu < Bytes{1})
      throw InputError(fmt::format("transport '{}': an mtu of {} B", t.name, t.mtu.count()), "at least 1 B");
    if (t.recovery != Recovery::none && t.retransmit_timeout <= Time{})
      throw InputError(fmt::format("transport '{}': retransmit_timeout must be more than 0", t.name), "500 us, say");
    if (const auto wrong = problems(t.control); !wrong.empty())
      throw InputError(fmt::format("transport '{}': {}", t.name, wrong.front()), "");
  }
  world.fabric.check(mtu);
  const auto kinds = world.fabric.kinds();
  for (const auto& t : world.transports) {
    const auto lanes = world.fabric.lanes();
    if (t.lane >= lanes.size() || t.control_lane >= lanes.size())
      throw InputError(fmt::format("transport '{}' uses lane {}, but the network has {}", t.name,
                                   std::max(t.lane, t.control_lane), lanes.size()),
                       "lanes count from 0");
    if (t.ack_every < 1 || t.ack_every > 255)
      throw InputError(fmt::format("transport '{}': an acknowledgement for {} packets", t.name, t.ack_every),
                       "1 to 255");
    // What is not acknowledged is a link's own protocol: its flows are looked at when they are opened.
    if (t.recovery == Recovery::none && t.acknowledged) {
      for (const auto& k : kinds) {
        if (!may_drop(k, t)) continue;
        throw InputError(fmt::format("transport '{}' cannot repair a loss, but {} may drop its packets", t.name,
                                     k.name.empty() ? "a node" : k.name),
                         "a lossy class needs recovery go_back_n or selective; or make the lane lossless");
      }
      for (std::uint32_t l = 0; l < world.fabric.links(); ++l) {
        const auto& link = world.fabric.link(LinkId{l});
        if (link.bit_error_rate == 0 || link.link_retry) continue;
        throw InputError(fmt::format("transport '{}' cannot repair a loss, but {} damages packets", t.name,
                                     world.fabric.name_of(LinkId{l})),
                         "use recovery go_back_n or selective, or let the link repair it (link_retry)");
      }
    }
    const bool reorders = t.paths > 0 || std::ranges::any_of(kinds, [](const NodeKind& k) {
                            return k.choice != Choice::hash && k.choice != Choice::by_destination;
                          });
    if (!reorders || !t.acknowledged) continue;
    if (std::holds_alternative<hpcc::Settings>(t.control))
      throw InputError(
          fmt::format("transport '{}': HPCC compares what it hears of one way, but the routing uses several", t.name),
          "another control, or a routing that keeps a flow on one way");
    if (!t.any_order && t.recovery == Recovery::none)
      throw InputError(fmt::format("transport '{}' wants packets in order, but the routing reorders them", t.name),
                       "any_order: true, or a routing that keeps a flow on one way");
  }
}

void Network::Impl::build() {
  World& w = world;
  const Fabric& f = w.fabric;
  w.lanes = static_cast<std::uint32_t>(f.lanes().size());
  for (std::uint32_t v = 0; v < w.lanes; ++v) {
    const auto bit = static_cast<std::uint8_t>(1U << v);
    if (f.lanes()[v].strict) w.strict |= bit;
    if (f.lanes()[v].lossless) w.lossless |= bit;
    if (f.lanes()[v].marks) w.marking |= bit;
  }
  for (const auto& t : w.transports) {
    w.banks.emplace_back(t.control);
    w.telemetry = w.telemetry || w.banks.back().wants_telemetry();
  }
  for (std::size_t i = 0; i < w.transports.size(); ++i) {
    auto& t = w.transports[i];
    if (w.banks[i].wants_every_ack()) t.ack_every = 1;
    if (const auto* d = std::get_if<dcqcn::Settings>(&t.control))
      t.min_time_between_cnps = std::max(t.min_time_between_cnps, d->min_time_between_cnps);
  }
  build_links();
  build_nodes();
  for (std::size_t s = 0; s < f.stations(); ++s)
    w.stations.push_back({0, ps_per_byte(f.station_rate(StationId{static_cast<std::uint32_t>(s)}))});
}

void Network::Impl::divide() {
  World& w = world;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> together;
  std::vector<std::uint32_t> user(w.stations.size(), nil);
  const auto uses = [&](std::uint32_t first, std::uint32_t count, std::uint32_t endpoint) {
    for (std::uint32_t i = first; i < first + count; ++i) {
      auto& u = user[w.station_refs[i].station];
      if (u == nil) u = endpoint;
      if (u != endpoint) together.emplace_back(u, endpoint);
    }
  };
  for (std::size_t f = 0; f < w.sends.size(); ++f) {
    uses(w.sends[f].stations, w.sends[f].station_count, w.sends[f].from);
    uses(w.receives[f].stations, w.receives[f].station_count, receivers[f]);
  }
  const auto cut = cut_into(w.fabric, w.options.partitions, together);
  lookahead = cut.lookahead;
  for (std::uint32_t n = 0; n < w.nodes.size(); ++n) w.nodes[n].part = cut.part_of[n];
  for (std::uint32_t l = 0; l < w.wires.size(); ++l) {
    const LinkSpec& spec = w.fabric.link(LinkId{l});
    w.wires[l].from_part = cut.part_of[static_cast<std::size_t>(spec.from)] & 0x7FU;
    w.wires[l].to_part = cut.part_of[static_cast<std::size_t>(spec.to)] & 0x7FU;
  }
  const auto count = static_cast<std::size_t>(cut.parts);
  w.most_packets = std::max<std::size_t>(1, w.options.most_packets / count);
  for (std::size_t i = 0; i < count; ++i) {
    parts.emplace_back(w, static_cast<std::uint8_t>(i));
    parts.back().outbox.resize(count);
    parts.back().outbox_hops.resize(count);
  }
}

void Network::Impl::build_links() {
  World& w = world;
  const Fabric& f = w.fabric;
  const std::size_t links = f.links();
  std::vector<Rate> fastest(f.nodes(), Rate::bytes_per_second(0));
  for (std::uint32_t l = 0; l < links; ++l) {
    const auto& spec = f.link(LinkId{l});
    auto& r = fastest[static_cast<std::size_t>(spec.from)];
    r = std::max(r, spec.rate);
  }
  w.wires.resize(links);
  w.outs.resize(links);
  w.counts.resize(links);
  w.queues.resize(links * w.lanes);
  w.returns.resize(links * w.lanes);
  w.inputs.resize(links * w.lanes);
  for (std::uint32_t l = 0; l < links; ++l) {
    const LinkSpec& spec = f.link(LinkId{l});
    const auto to = static_cast<std::size_t>(spec.to);
    const NodeKind& kind = f.kind(spec.to);
    const LinkId back = f.reverse(LinkId{l});
    Wire& wire = w.wires[l];
    wire.delay = spec.delay.ps();
    wire.back_delay = (back == no_link ? spec.delay : f.link(back).delay).ps();
    wire.to = static_cast<std::uint32_t>(spec.to) & 0x1FFFFFF;
    wire.header = static_cast<std::uint32_t>(spec.header.count()) & 0xFFFFF;
    wire.from_part = wire.to_part = 0;
    wire.control = static_cast<unsigned>(kind.control) & 3U;
    wire.to_endpoint = f.is_endpoint(spec.to);
    wire.cut_through = !wire.to_endpoint && kind.cut_through && fastest[to] <= spec.rate;
    wire.errors = spec.bit_error_rate > 0;
    wire.ps_per_byte = ps_per_byte(spec.rate);
    if (kind.control == FlowControl::credit)
      for (std::uint32_t v = 0; v < w.lanes; ++v) w.queues[l * w.lanes + v].credit = kind.input.count();
  }
}

void Network::Impl::build_nodes() {
  World& w = world;
  const Fabric& f = w.fabric;
  w.nodes.resize(f.nodes());
  w.dests.resize(f.nodes());
  for (std::uint32_t n = 0; n < f.nodes(); ++n) {
    NodeState& node = w.nodes[n];
    node.kind = f.kind_index(NodeId{n});
    const NodeKind& kind = f.kind(NodeId{n});
    const auto small = [](Bytes b) {
      return static_cast<std::uint32_t>(std::min<std::int64_t>(b.count(), std::int64_t{1} << 31));
    };
    node.shared = std::min(kind.shared.count(), largest_pool);
    node.alpha = static_cast<std::uint64_t>(std::min(kind.alpha, 65'536.0) * 65'536.0);
    node.reserve = small(kind.reserve);
    node.resume_offset = small(kind.resume_offset);
    node.choice = kind.choice;
    node.control = kind.control;
    node.endpoint = f.is_endpoint(NodeId{n});
    node.salt = static_cast<std::uint32_t>(mix(w.options.seed, n));
    node.turn = node.salt >> 8;
    const auto place = f.tables_of(NodeId{n});
    node.row = place.row;
    node.site = place.site;
    w.dests[n] = {place.hangs_on, static_cast<std::uint32_t>(place.last_link)};
    if (!node.endpoint && f.kind(NodeId{n}).choice == Choice::flowlet) {
      node.flowlets = static_cast<std::uint32_t>(w.flowlets.size());
      w.flowlets.resize(w.flowlets.size() + flowlet_entries);
    }
  }
}

}  // namespace linkcast::sim::packet
