// Builds the packet network of a cluster (packet_fabric.hpp): the boxes and cables between machines, then the inside of
// each machine. What buffers a box has stands in packet_buffers.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "fabric_data.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "network_detours.hpp"
#include "network_tiers.hpp"
#include "network_ways.hpp"
#include "packet_buffers.hpp"
#include "packet_fabric_data.hpp"

namespace linkcast::topologies {
namespace {

constexpr std::size_t most_lanes = 8;

/// Cables between switches on the longest of the shortest ways from one of them.
int trunks_across(const Network::Data& d) {
  int most = 0;
  std::vector<int> distance;
  // Each switch of a torus sees the same; cables that are down make some ways longer, hence a few more starts.
  const auto starts = std::min<std::size_t>(d.switches.size(), 64);
  for (std::size_t i = 0; i < starts; ++i) {
    distance.assign(d.switches.size(), -1);
    std::vector<std::uint32_t> queue{static_cast<std::uint32_t>(i * d.switches.size() / starts)};
    distance[queue[0]] = 0;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const auto& t : d.trunks_of(queue[at])) {
        if (distance[t.to] >= 0) continue;
        most = std::max(most, distance[t.to] = distance[queue[at]] + 1);
        queue.push_back(t.to);
      }
    }
  }
  return most;
}

class Builder {
 public:
  Builder(PacketFabric::Data& data, bool in_network)
      : in_network_{in_network}, d_{data}, net_{data.cluster.network()}, n_{net_.data()}, s_{data.settings} {}

  void run() {
    lanes();
    tap_kind_ = d_.fabric.add_kind(endless_kind("what switches reduce and multicast"));
    ports_used();
    if (d_.cluster.nodes() > 1) network();
    machines();
    d_.resource.resize(d_.fabric.links(), no_resource);
    d_.port_of.resize(d_.fabric.nodes(), 0);
    name();
    d_.fabric.route_shortest();
  }

 private:
  void lanes() {
    auto all = s_.lanes;
    const bool dragonfly = Detours::of(n_) != nullptr;
    const bool rings = s_.flow_control != packet::FlowControl::none && (is_direct(net_) || dragonfly);
    const bool round = dragonfly && s_.routing == packet::Choice::adaptive;
    if (rings) {
      // Straight through a dragonfly: a cable in each group and one between them; round by another router: twice that.
      const int hops = !dragonfly ? trunks_across(n_) : round ? 6 : 3;
      all.resize(s_.data_lane);
      for (int i = 0; i <= hops && all.size() < most_lanes; ++i) all.push_back(s_.lanes[s_.data_lane]);
    }
    auto nvlink = all.begin() + s_.data_lane;
    if (!nvlink->lossless) nvlink = std::ranges::find_if(all, [](const packet::VirtualLane& l) { return l.lossless; });
    d_.nvlink_lane = static_cast<std::uint8_t>(nvlink - all.begin());
    if (nvlink == all.end()) all.push_back({true, false, false});
    if (all.size() > most_lanes)
      throw sim::InputError(fmt::format("{} virtual lanes: a port has at most {}", all.size(), most_lanes),
                            "NVLink takes one of its own where no other lane is lossless");
    d_.fabric = packet::Fabric{std::move(all)};
    d_.fabric.set_lane_by_hop(rings);
    d_.fabric.set_detours(round);
  }

  void ports_used() {
    d_.ports.resize(net_.ports());
    used_.assign(net_.ports(), false);
    for (int node = 0; node < d_.cluster.nodes() && !net_.empty(); ++node) {
      const int original = d_.cluster.original_node(node);
      const auto first = n_.first_nic[static_cast<std::size_t>(original)];
      const auto end = n_.first_nic[static_cast<std::size_t>(original) + 1];
      for (auto p = n_.first_port[first]; p < n_.first_port[end]; ++p) used_[p] = true;
    }
  }

  /// Whether it becomes links: it works, and no machine at its end is missing.
  bool kept(const Cable& c) const {
    const auto there = [&](std::uint32_t end) { return is_switch(net_, end) || used_[end]; };
    return works(net_, c) && there(c.a) && there(c.b);
  }

  std::size_t lossless_lanes() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(d_.fabric.lanes(), [](const packet::VirtualLane& l) { return l.lossless; }));
  }

  /// Of one cable of the bundle, or of a NIC's whole bundle.
  sim::Rate rate_of(const Cable& c) const {
    const auto& m = n_.cable_models[c.model];
    // What carries less than its rate allows (with_slow_cables) is a slower cable here.
    const auto full = m.bare * net_.model().efficiency();
    auto rate = m.payload < full ? m.bare * (m.payload.GBps() / full.GBps()) : m.bare;
    if (!is_switch(net_, c.a) || !is_switch(net_, c.b)) rate = rate * c.count;
    return rate;
  }
  sim::Time delay_to(const Cable& c, std::uint32_t end) const {
    auto t = n_.cable_models[c.model].latency;
    if (is_switch(net_, end)) t += n_.switch_models[n_.switches[switch_of(net_, end)].model].latency;
    return t;
  }

  /// Where nobody said how long: what its latency would take, which is more than it is.
  double metres_of(const Cable& c) const {
    const auto said = n_.metres_of(c.model);
    constexpr double metres_per_second = 1 / 4.5e-9;  // catalog/parts/cables.yaml
    return said > 0 ? said : n_.cable_models[c.model].latency.seconds() * metres_per_second;
  }

  void network() {
    const auto header = net_.model().packet.header;
    BufferPlan plan{s_, header, n_.switch_models, n_.switches.size()};
    for (const auto& c : n_.cables) {
      if (!kept(c)) continue;
      const auto there_and_back = delay_to(c, c.a) + delay_to(c, c.b);
      const BufferPlan::Link link{rate_of(c), there_and_back, metres_of(c)};
      const int links = is_switch(net_, c.a) && is_switch(net_, c.b) ? c.count : 1;
      for (const auto end : {c.a, c.b}) {
        if (is_switch(net_, end)) {
          const auto sw = switch_of(net_, end);
          plan.at_switch(n_.switches[sw].model, sw, link, links);
        } else {
          plan.at_nic(link);
        }
      }
    }
    std::vector<std::uint16_t> kind_of;
    for (std::size_t m = 0; m < n_.switch_models.size(); ++m)
      kind_of.push_back(d_.fabric.add_kind(plan.switch_kind(m, lossless_lanes())));
    const auto nic = d_.fabric.add_kind(plan.nic_kind());

    for (std::size_t p = 0; p < used_.size(); ++p) {
      if (!used_[p]) continue;
      d_.ports[p].node = d_.fabric.add_endpoint(nic);
      d_.port_of.resize(d_.fabric.nodes(), 0);
      d_.port_of.back() = static_cast<std::uint32_t>(p) + 1;
    }
    d_.switches.assign(n_.switches.size(), packet::no_node);
    for (std::size_t i = 0; i < n_.switches.size(); ++i)
      if (n_.switches[i].up) d_.switches[i] = d_.fabric.add_switch(kind_of[n_.switches[i].model]);
    if (d_.fabric.detours()) make_all_known();

    d_.first_cable_link.assign(1, 0);
    d_.first_cable_link.reserve(2 * n_.cables.size() + 1);
    for (std::size_t i = 0; i < n_.cables.size(); ++i) add_cable(i, header);
  }

  /// Packets go round by switches on which endpoints hang: one that none of the job's machines hangs on gets one to
  /// which nobody sends.
  void make_all_known() {
    std::vector<bool> known(n_.switches.size(), false);
    for (const auto& c : n_.cables)
      if (kept(c) && !is_switch(net_, c.a) && is_switch(net_, c.b)) known[switch_of(net_, c.b)] = true;
    packet::LinkSpec spec;
    spec.rate = sim::Rate::from_GBps(1);
    for (std::size_t i = 0; i < known.size(); ++i)
      if (!known[i] && d_.switches[i] != packet::no_node)
        d_.fabric.add_cable(d_.switches[i], d_.fabric.add_endpoint(tap_kind_), spec);
  }

  void add_cable(std::size_t i, sim::Bytes header) {
    const auto& c = n_.cables[i];
    const auto end_here = [&] { d_.first_cable_link.push_back(static_cast<std::uint32_t>(d_.cable_links.size())); };
    if (!kept(c)) {
      end_here();
      end_here();
      return;
    }
    const auto node = [&](std::uint32_t end) {
      return is_switch(net_, end) ? d_.switches[switch_of(net_, end)] : d_.ports[end].node;
    };
    const bool trunk = is_switch(net_, c.a) && is_switch(net_, c.b);
    packet::LinkSpec spec;
    spec.rate = rate_of(c);
    spec.header = header;
    spec.bit_error_rate = s_.bit_error_rate;
    spec.link_retry = s_.link_retry;
    const auto base = static_cast<std::uint32_t>(d_.cluster.cable(CableId{static_cast<std::uint32_t>(i)}, true));
    const int links = trunk ? c.count : 1;
    std::vector<packet::LinkId> back;
    for (int k = 0; k < links; ++k) {
      const auto l = add_pair(node(c.a), node(c.b), spec, delay_to(c, c.b), delay_to(c, c.a), base);
      d_.cable_links.push_back(l);
      back.push_back(d_.fabric.reverse(l));
      if (in_network_) {
        tap(c.b, spec, l);
        tap(c.a, spec, d_.fabric.reverse(l));
      }
    }
    end_here();
    d_.cable_links.insert(d_.cable_links.end(), back.begin(), back.end());
    end_here();
    for (const auto end : {c.a, c.b})
      if (!is_switch(net_, end)) add_port_stations(end, spec.rate, header);
  }

  /// Of a link that leads to that end.
  void tap(std::uint32_t end, packet::LinkSpec spec, packet::LinkId link) {
    if (!is_switch(net_, end)) return;
    switch_taps_.resize(n_.switches.size(), packet::no_node);
    auto& node = switch_taps_[switch_of(net_, end)];
    if (node == packet::no_node) node = d_.fabric.add_endpoint(tap_kind_);
    spec.bit_error_rate = 0;
    const auto tap = d_.fabric.add_cable(d_.switches[switch_of(net_, end)], node, spec);
    d_.cable_tap_to.resize(d_.fabric.links(), packet::no_link);
    d_.cable_tap_from.resize(d_.fabric.links(), packet::no_link);
    d_.cable_tap_to[static_cast<std::size_t>(link)] = tap;
    d_.cable_tap_from[static_cast<std::size_t>(d_.fabric.reverse(link))] = d_.fabric.reverse(tap);
  }

  /// The link from a to b; its other direction is the next resource.
  packet::LinkId add_pair(packet::NodeId a, packet::NodeId b, packet::LinkSpec spec, sim::Time there, sim::Time back,
                          std::uint32_t resource) {
    auto other = spec;
    spec.delay = there, other.delay = back;
    const auto l = d_.fabric.add_cable(a, b, spec, other);
    d_.resource.resize(d_.fabric.links(), no_resource);
    d_.resource[static_cast<std::size_t>(l)] = resource;
    d_.resource[static_cast<std::size_t>(d_.fabric.reverse(l))] = resource + 1;
    return l;
  }

  void add_port_stations(std::uint32_t port, sim::Rate wire, sim::Bytes header) {
    auto& p = d_.ports[port];
    const auto full = static_cast<double>(s_.mtu.count());
    const auto efficiency = full / (full + static_cast<double>(header.count())) * net_.model().residual;
    const auto name = net_.name_of_end(port);
    p.sending = d_.fabric.add_station(wire * efficiency, name + " sending");
    if (!s_.host || !s_.host_rate) return;
    p.host_out = d_.fabric.add_station(*s_.host_rate, name + " out of its host");
    p.host_in = d_.fabric.add_station(*s_.host_rate, name + " into its host");
  }

  void machines() {
    std::vector<std::uint16_t> gpu_kind, chip_kind;
    for (int k = 0; k < d_.cluster.kinds(); ++k) {
      const auto& m = d_.cluster.kind(k).data();
      std::vector<NvlinkNeed> at_gpu, at_chip;
      for (const auto& l : m.links) {
        if (l.kind != models::LinkKind::nvlink) continue;
        const NvlinkNeed need{l.payload, 2 * l.latency + transit(m, l.a) + transit(m, l.b)};
        for (const auto end : {l.a, l.b})
          (m.device(end).kind == DeviceKind::nvswitch ? at_chip : at_gpu).push_back(need);
      }
      gpu_kind.push_back(d_.fabric.add_kind(nvlink_kind("gpu", at_gpu, s_.train)));
      chip_kind.push_back(d_.fabric.add_kind(nvlink_kind("nvswitch", at_chip, s_.train)));
    }
    d_.machine_links.assign(d_.machine_resources(), packet::no_link);
    d_.tap_from = d_.tap_to = d_.machine_links;
    d_.machine_station.assign(d_.machine_resources(), no_station);
    for (int node = 0; node < d_.cluster.nodes(); ++node) {
      const auto k = static_cast<std::size_t>(d_.cluster.kind_of(node));
      machine(node, gpu_kind[k], chip_kind[k]);
    }
  }

  void machine(int node, std::uint16_t gpu, std::uint16_t chip) {
    const auto& m = d_.cluster.machine(node).data();
    d_.first_device.push_back(static_cast<std::uint32_t>(d_.devices.size()));
    d_.devices.resize(d_.devices.size() + m.devices.size(), packet::no_node);
    d_.tap_node.resize(d_.devices.size(), packet::no_node);
    d_.host_link.push_back(packet::no_link);
    for (std::size_t l = 0; l < m.links.size(); ++l) {
      const LinkId id{static_cast<std::uint32_t>(l)};
      if (!m.usable(id)) continue;
      const auto resource = static_cast<std::uint32_t>(d_.cluster.resource(node, Fabric::resource(id, true)));
      const auto& link = m.links[l];
      if (link.kind == models::LinkKind::nvlink) {
        for (const auto end : {link.a, link.b}) {
          auto& at = d_.device(node, end);
          if (at != packet::no_node) continue;
          at = m.device(end).kind == DeviceKind::nvswitch ? d_.fabric.add_switch(chip) : d_.fabric.add_endpoint(gpu);
        }
        nvlink(node, m, link, resource);
      } else if (s_.host && link.kind != models::LinkKind::network) {
        const auto there = d_.cluster.resource_name(sim::ResourceId{resource});
        d_.machine_station[resource] = d_.fabric.add_station(link.payload, there);
        const auto back = d_.cluster.resource_name(sim::ResourceId{resource + 1});
        d_.machine_station[resource + 1] = d_.fabric.add_station(link.payload, back);
        if (d_.host_link.back() == packet::no_link) {
          packet::LinkSpec spec;
          spec.rate = sim::Rate::unlimited();
          d_.host_link.back() =
              d_.fabric.add_cable(d_.fabric.add_endpoint(tap_kind_), d_.fabric.add_endpoint(tap_kind_), spec);
        }
      }
    }
  }

  static sim::Time transit(const Fabric::Data& m, DeviceId d) {
    return m.device(d).kind == DeviceKind::nvswitch ? m.device_extra[static_cast<std::size_t>(d)].transit : sim::Time{};
  }

  void nvlink(int node, const Fabric::Data& m, const Link& link, std::uint32_t resource) {
    packet::LinkSpec spec;
    spec.rate = link.payload;
    const auto l = add_pair(d_.device(node, link.a), d_.device(node, link.b), spec, link.latency + transit(m, link.b),
                            link.latency + transit(m, link.a), resource);
    d_.machine_links[resource] = l;
    d_.machine_links[resource + 1] = d_.fabric.reverse(l);
    for (const bool at_b : {true, false}) {
      const auto chip = at_b ? link.b : link.a;
      if (m.device(chip).kind != DeviceKind::nvswitch) continue;
      auto& end = d_.tap_node[d_.first_device[static_cast<std::size_t>(node)] + static_cast<std::size_t>(chip)];
      if (end == packet::no_node) end = d_.fabric.add_endpoint(tap_kind_);
      const auto tap = d_.fabric.add_cable(d_.device(node, chip), end, spec);
      d_.tap_to[resource + (at_b ? 0 : 1)] = tap;
      d_.tap_from[resource + (at_b ? 1 : 0)] = d_.fabric.reverse(tap);
    }
  }

  void name() {
    auto* d = &d_;
    d_.fabric.link_name = [d](packet::LinkId l) -> std::string {
      const auto r = d->resource[static_cast<std::size_t>(l)];
      if (r == no_resource)
        return fmt::format("{}->{}", d->fabric.name_of(d->fabric.link(l).from),
                           d->fabric.name_of(d->fabric.link(l).to));
      return d->cluster.resource_name(sim::ResourceId{r});
    };
    d_.fabric.node_name = [d](packet::NodeId n) -> std::string {
      const auto& net = d->cluster.network();
      if (const auto port = d->port_of[static_cast<std::size_t>(n)]; port > 0) return net.name_of_end(port - 1);
      if (const auto sw = std::ranges::find(d->switches, n); sw != d->switches.end())
        return net.name_of(SwitchId{static_cast<std::uint32_t>(sw - d->switches.begin())});
      const auto inside = [&](const std::vector<packet::NodeId>& all, std::string_view suffix) -> std::string {
        const auto at = std::ranges::find(all, n);
        if (at == all.end()) return {};
        const auto i = static_cast<std::uint32_t>(at - all.begin());
        const auto node = std::ranges::upper_bound(d->first_device, i) - d->first_device.begin() - 1;
        const auto& device =
            d->cluster.machine(static_cast<int>(node)).devices()[i - d->first_device[static_cast<std::size_t>(node)]];
        return d->cluster.nodes() == 1
                   ? fmt::format("{}{}", device.name, suffix)
                   : fmt::format("{} {}{}", d->cluster.node_name(static_cast<int>(node)), device.name, suffix);
      };
      const auto device = inside(d->devices, "");
      return device.empty() ? inside(d->tap_node, " (what it reduces and multicasts)") : device;
    };
  }

  bool in_network_;
  PacketFabric::Data& d_;
  const Network& net_;
  const Network::Data& n_;
  const models::PacketSettings& s_;
  std::vector<bool> used_;                   // by port
  std::vector<packet::NodeId> switch_taps_;  // by switch
  std::uint16_t tap_kind_ = 0;
};

}  // namespace

void build_packet_fabric(PacketFabric::Data& data, bool in_network) { Builder{data, in_network}.run(); }

}  // namespace linkcast::topologies
