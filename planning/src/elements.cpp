// See elements.hpp.
#include "linkcast/planning/elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <queue>
#include <set>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {
namespace {

using topologies::DeviceId;
using topologies::DeviceKind;
using topologies::Fabric;
using topologies::LinkId;
using topologies::PortId;
using topologies::SwitchId;

constexpr std::array<std::string_view, 12> kinds{
    "gpu",         "node", "nic",   "nvlink", "nvswitch",         "pcie-link",
    "pcie-switch", "leaf", "spine", "core",   "leaf-spine-cable", "spine-core-cable"};

std::size_t at(DeviceId d) { return static_cast<std::size_t>(d); }

std::optional<ElementKind> kind_of(DeviceKind k) {
  switch (k) {
    case DeviceKind::gpu:
      return ElementKind::gpu;
    case DeviceKind::nvswitch:
      return ElementKind::nvswitch;
    case DeviceKind::pcie_switch:
      return ElementKind::pcie_switch;
    case DeviceKind::nic:
      return ElementKind::nic;
    default:
      return std::nullopt;
  }
}

std::optional<ElementKind> kind_of(models::LinkKind k) {
  switch (k) {
    case models::LinkKind::nvlink:
    case models::LinkKind::c2c:
      return ElementKind::nvlink;
    case models::LinkKind::pcie:
      return ElementKind::pcie_link;
    default:
      return std::nullopt;
  }
}

ElementKind kind_of_tier(int tier) {
  return tier == 0 ? ElementKind::leaf : tier == 1 ? ElementKind::spine : ElementKind::core;
}

}  // namespace

std::string_view name_of(ElementKind k) { return kinds[static_cast<std::size_t>(k)]; }
std::vector<std::string> element_kind_names() { return {kinds.begin(), kinds.end()}; }
std::optional<ElementKind> element_kind_from(std::string_view name) {
  const auto found = std::ranges::find(kinds, name);
  if (found == kinds.end()) return std::nullopt;
  return static_cast<ElementKind>(found - kinds.begin());
}

struct Elements::Impl {
  topologies::Cluster cluster;
  bool single = false;          // one machine without a network: names need no node
  int nodes = 1;                // of the whole cluster
  std::map<int, int> job_node;  // by node of the whole cluster
  std::map<std::string, int, std::less<>> hosts, switches;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<int>> between;  // cables by their ends, the lower first
  std::vector<std::vector<std::uint32_t>> joined;  // by switch: what its cables that work lead to

  explicit Impl(const topologies::Cluster& c) : cluster{c} {
    const auto& net = cluster.network();
    single = net.empty();
    nodes = cluster.nodes();
    for (int i = 0; i < cluster.nodes(); ++i) {
      job_node[cluster.original_node(i)] = i;
      hosts[cluster.node_name(i)] = cluster.original_node(i);
    }
    if (single) return;
    nodes = 0;
    for (std::size_t p = 0; p < net.ports(); ++p)
      nodes = std::max(nodes, net.place(PortId{static_cast<std::uint32_t>(p)}).node + 1);
    joined.resize(net.switches().size());
    for (std::size_t s = 0; s < net.switches().size(); ++s)
      switches[net.name_of(SwitchId{static_cast<std::uint32_t>(s)})] = static_cast<int>(s);
    const auto cables = net.cables();
    for (std::size_t i = 0; i < cables.size(); ++i) {
      const auto& x = cables[i];
      between[std::minmax(x.a, x.b)].push_back(static_cast<int>(i));
      if (!x.up) continue;
      for (const auto& [from, to] : {std::pair{x.a, x.b}, std::pair{x.b, x.a}})
        if (from >= net.ports()) joined[from - net.ports()].push_back(to);
    }
  }

  std::string node_name(int node) const {
    const auto found = job_node.find(node);
    return found == job_node.end() ? fmt::format("node[{}]", node) : cluster.node_name(found->second);
  }
  std::string prefix(int node) const { return single ? "" : node_name(node) + "."; }
  const Fabric& machine(int node) const {
    const auto found = job_node.find(node);
    return cluster.machine(found == job_node.end() ? 0 : found->second);
  }
  int in_job(int node) const {
    const auto found = job_node.find(node);
    return found == job_node.end() ? -1 : found->second;
  }

  Element node_element(int node) const {
    Element e;
    e.kind = ElementKind::node;
    e.name = node_name(node);
    e.node = node;
    e.job_node = in_job(node);
    return e;
  }
  Element device_element(int node, std::size_t device, ElementKind kind) const {
    const auto& m = machine(node);
    Element e;
    e.kind = kind;
    e.name = prefix(node) + m.devices()[device].name;
    e.node = node;
    e.job_node = in_job(node);
    e.device = static_cast<int>(device);
    if (kind == ElementKind::nic) {
      e.nic = nic_index(m, device);
      const auto& attributes = m.devices()[device].attributes;
      if (const auto gbps = attributes.find("gbps"); gbps != attributes.end())
        e.rate = sim::Rate::from_GBps(std::atof(gbps->second.c_str()) / 8);
      if (!single) {
        const auto& net = cluster.network();
        for (const auto port : net.ports_of(node, e.nic)) {
          const auto end = static_cast<std::uint32_t>(port);
          // A port is always the lower end: ports come before switches.
          for (auto i = between.lower_bound({end, 0}); i != between.end() && i->first.first == end; ++i)
            e.cables.insert(e.cables.end(), i->second.begin(), i->second.end());
        }
        if (!e.cables.empty()) e.rate = cable_rate(e.cables.front());
      }
    }
    return e;
  }
  static int nic_index(const Fabric& m, std::size_t device) {
    int n = 0;
    for (std::size_t i = 0; i < device; ++i) n += m.devices()[i].kind == DeviceKind::nic;
    return n;
  }
  /// Not where all that joins a device to others is dead.
  bool works(const Element& e) const {
    const auto& net = cluster.network();
    const auto up = [&](int c) { return net.cables()[static_cast<std::size_t>(c)].up; };
    if (!e.cables.empty() && std::ranges::none_of(e.cables, up)) return false;
    const auto& m = machine(e.node);
    bool joined = false;
    for (std::size_t l = 0; l < m.links().size(); ++l) {
      const auto& link = m.links()[l];
      if (static_cast<int>(link.a) != e.device && static_cast<int>(link.b) != e.device) continue;
      if (m.usable(LinkId{static_cast<std::uint32_t>(l)})) return true;
      joined = true;
    }
    return !joined;
  }
  sim::Rate cable_rate(int cable) const {
    const auto& c = cluster.network().cables()[static_cast<std::size_t>(cable)];
    return cluster.network().cable_models()[c.model].bare;
  }
  Element link_element(int node, std::size_t link, ElementKind kind) const {
    const auto& m = machine(node);
    const auto& l = m.links()[link];
    Element e;
    e.kind = kind;
    e.name = fmt::format("{}{}-{}", prefix(node), m.devices()[at(l.a)].name, m.devices()[at(l.b)].name);
    e.node = node;
    e.job_node = in_job(node);
    e.device = static_cast<int>(l.a);
    e.other = static_cast<int>(l.b);
    e.link = static_cast<int>(link);
    e.rate = l.bare;
    return e;
  }
  Element switch_element(int s) const {
    Element e;
    e.kind = kind_of_tier(cluster.network().switches()[static_cast<std::size_t>(s)].tier);
    e.name = cluster.network().name_of(SwitchId{static_cast<std::uint32_t>(s)});
    e.network_switch = s;
    return e;
  }
  Element bundle_element(std::uint32_t a, std::uint32_t b, const std::vector<int>& cables) const {
    const auto& net = cluster.network();
    Element e;
    const auto tier = [&](std::uint32_t end) { return static_cast<int>(net.switches()[end - net.ports()].tier); };
    e.kind = std::min(tier(a), tier(b)) == 0 ? ElementKind::leaf_spine_cable : ElementKind::spine_core_cable;
    e.name = fmt::format("{}-{}", net.name_of_end(a), net.name_of_end(b));
    e.cables = cables;
    e.count = 0;
    for (const int c : cables) e.count += net.cables()[static_cast<std::size_t>(c)].count;
    e.network_switch = static_cast<int>(a - net.ports());
    e.other = static_cast<int>(b - net.ports());
    e.rate = cable_rate(cables.front());
    return e;
  }

  std::optional<int> node_of(std::string_view text) const {
    if (const auto found = hosts.find(text); found != hosts.end()) return found->second;
    if (!text.starts_with("node[") || !text.ends_with("]")) return std::nullopt;
    const auto digits = text.substr(5, text.size() - 6);
    int n = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error != std::errc{} || stop != digits.data() + digits.size() || n < 0 || n >= nodes) return std::nullopt;
    return n;
  }

  std::optional<Element> inside(int node, std::string_view text) const {
    const auto& m = machine(node);
    for (std::size_t i = 0; i < m.devices().size(); ++i)
      if (m.devices()[i].name == text) {
        const auto kind = kind_of(m.devices()[i].kind);
        return kind ? std::optional{device_element(node, i, *kind)} : std::nullopt;
      }
    for (std::size_t i = 0; i < m.links().size(); ++i) {
      const auto& l = m.links()[i];
      const auto &a = m.devices()[at(l.a)].name, &b = m.devices()[at(l.b)].name;
      if (text.size() != a.size() + b.size() + 1) continue;
      if (text != fmt::format("{}-{}", a, b) && text != fmt::format("{}-{}", b, a)) continue;
      const auto kind = kind_of(l.kind);
      return kind ? std::optional{link_element(node, i, *kind)} : std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Element> of_network(std::string_view text) const {
    if (const auto found = switches.find(text); found != switches.end()) return switch_element(found->second);
    // Names may have dashes themselves: every way to cut the text in two is tried.
    for (auto dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
      const auto a = switches.find(text.substr(0, dash)), b = switches.find(text.substr(dash + 1));
      const auto ports = static_cast<std::uint32_t>(cluster.network().ports());
      if (a != switches.end() && b != switches.end()) {
        const auto cables = between.find(
            std::minmax(ports + static_cast<std::uint32_t>(a->second), ports + static_cast<std::uint32_t>(b->second)));
        if (cables != between.end()) return bundle_element(cables->first.first, cables->first.second, cables->second);
      }
      // A NIC's cable by both its ends is the NIC's.
      const auto nic_end = a == switches.end() ? text.substr(0, dash) : text.substr(dash + 1);
      if ((a == switches.end()) == (b == switches.end())) continue;
      if (auto nic = whole(nic_end); nic && nic->kind == ElementKind::nic) {
        const auto sw = ports + static_cast<std::uint32_t>(a == switches.end() ? b->second : a->second);
        const bool joined_here = std::ranges::any_of(
            nic->cables, [&](int c) { return cluster.network().cables()[static_cast<std::size_t>(c)].b == sw; });
        if (joined_here) return nic;
      }
    }
    return std::nullopt;
  }

  /// A node, or what is in one.
  std::optional<Element> whole(std::string_view text) const {
    if (const auto node = node_of(text)) return node_element(*node);
    // The node's name may have dots: the longest that is one.
    for (auto dot = text.rfind('.'); dot != std::string_view::npos && dot > 0; dot = text.rfind('.', dot - 1)) {
      const auto node = node_of(text.substr(0, dot));
      if (!node) continue;
      if (auto e = inside(*node, text.substr(dot + 1))) return e;
      // "node[2].gpu[3]-node[2].nvswitch[0]"
      const auto again = fmt::format("-{}.", text.substr(0, dot));
      std::string rest{text.substr(dot + 1)};
      if (const auto second = rest.find(again); second != std::string::npos)
        return inside(*node, rest.replace(second, again.size(), "-"));
    }
    if (single || cluster.nodes() == 1) return inside(cluster.original_node(0), text);
    return std::nullopt;
  }
};

Elements::Elements(const topologies::Cluster& cluster) : impl_{std::make_unique<Impl>(cluster)} {}
Elements::~Elements() = default;
const topologies::Cluster& Elements::cluster() const { return impl_->cluster; }

std::optional<Element> Elements::find(std::string_view name, std::string* help) const {
  const auto& m = *impl_;
  if (auto e = m.whole(name)) return e;
  if (auto e = m.of_network(name)) return e;
  if (help == nullptr) return std::nullopt;
  std::vector<std::string> known;
  const int any = m.cluster.original_node(0);
  // Of the node that the name names, where it names one: the others have the same parts.
  int node = any;
  if (const auto dot = name.find("]."); dot != std::string_view::npos)
    node = m.node_of(name.substr(0, dot + 1)).value_or(any);
  const auto prefix = m.prefix(node);
  const auto& machine = m.machine(node);
  if (!m.single) known.push_back(m.node_name(node));
  for (const auto& d : machine.devices())
    if (kind_of(d.kind)) known.push_back(prefix + d.name);
  for (std::size_t i = 0; i < machine.links().size(); ++i)
    if (kind_of(machine.links()[i].kind)) known.push_back(m.link_element(node, i, ElementKind::nvlink).name);
  if (m.switches.size() <= 1000)
    for (const auto& [s, index] : m.switches) known.push_back(s);
  const bool of_no_node = !m.single && m.inside(any, name).has_value();
  if (of_no_node) {
    *help = fmt::format("say of which node: '{}{}'", prefix, name);
  } else if (const auto near = sim::nearest(name, known); !near.empty()) {
    *help = fmt::format("did you mean '{}'?", near);
  } else if (m.single) {
    *help = "its parts are called gpu[0], nic[0], nvswitch[0], gpu[0]-nvswitch[0]";
  } else {
    *help =
        fmt::format("nodes are node[0] to node[{}], parts of them {}gpu[0] or {}nic[0]{}", m.nodes - 1, prefix, prefix,
                    m.switches.empty() ? "" : fmt::format(", switches {} and the like", m.switches.begin()->first));
  }
  return std::nullopt;
}

std::vector<Element> Elements::all() const {
  const auto& m = *impl_;
  std::vector<Element> out;
  for (int i = 0; i < m.cluster.nodes(); ++i) {
    const int node = m.cluster.original_node(i);
    const auto& machine = m.cluster.machine(i);
    if (!m.single || m.cluster.nodes() > 1) out.push_back(m.node_element(node));
    const std::set<DeviceId> ranks{machine.gpus().begin(), machine.gpus().end()};
    for (std::size_t d = 0; d < machine.devices().size(); ++d) {
      const auto kind = kind_of(machine.devices()[d].kind);
      if (!kind) continue;
      if (*kind == ElementKind::gpu && !ranks.contains(DeviceId{static_cast<std::uint32_t>(d)})) continue;
      auto e = m.device_element(node, d, *kind);
      if (*kind == ElementKind::gpu || m.works(e)) out.push_back(std::move(e));
    }
    for (std::size_t l = 0; l < machine.links().size(); ++l) {
      const auto kind = kind_of(machine.links()[l].kind);
      if (kind && machine.usable(LinkId{static_cast<std::uint32_t>(l)})) out.push_back(m.link_element(node, l, *kind));
    }
  }
  if (m.single || m.cluster.network().generator() == "ideal") return out;  // an ideal switch is no part
  const auto& net = m.cluster.network();
  for (std::size_t s = 0; s < net.switches().size(); ++s)
    if (net.switches()[s].up) out.push_back(m.switch_element(static_cast<int>(s)));
  for (const auto& [ends, cables] : m.between) {
    if (ends.first < net.ports()) continue;
    std::vector<int> up;
    for (const int c : cables)
      if (net.cables()[static_cast<std::size_t>(c)].up) up.push_back(c);
    if (!up.empty()) out.push_back(m.bundle_element(ends.first, ends.second, up));
  }
  return out;
}

std::vector<int> Elements::nearest_ranks(const Element& e) const {
  const auto& m = *impl_;
  const int each = m.cluster.gpus_per_node();
  if (e.node >= 0) {
    if (e.job_node < 0) return {};
    const auto& machine = m.cluster.machine(e.job_node);
    const auto rank = [&](std::size_t local) { return std::vector<int>{e.job_node * each + static_cast<int>(local)}; };
    const auto gpus = machine.gpus();
    for (const int d : {e.device, e.other})
      for (std::size_t i = 0; i < gpus.size(); ++i)
        if (d >= 0 && gpus[i] == DeviceId{static_cast<std::uint32_t>(d)}) return rank(i);
    int nic = -1;
    for (const int d : {e.device, e.other})
      if (d >= 0 && machine.devices()[static_cast<std::size_t>(d)].kind == DeviceKind::nic) nic = d;
    if (nic >= 0) {
      std::size_t best = 0;
      std::optional<std::pair<sim::Time, std::size_t>> nearest;
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        const auto way = machine.route_to_nic(gpus[i], DeviceId{static_cast<std::uint32_t>(nic)});
        if (way && (!nearest || std::pair{way->latency, way->hops.size()} < *nearest)) {
          nearest = {way->latency, way->hops.size()};
          best = i;
        }
      }
      return rank(best);
    }
    return rank(0);
  }
  // Down from the switch to the nearest port of the job.
  const auto& net = m.cluster.network();
  const auto ports = static_cast<std::uint32_t>(net.ports());
  std::vector<bool> seen(net.switches().size(), false);
  std::vector<int> level{e.network_switch};
  seen[static_cast<std::size_t>(e.network_switch)] = true;
  while (!level.empty()) {
    std::vector<int> next;
    std::optional<std::uint32_t> port;
    for (const int s : level)
      for (const auto end : m.joined[static_cast<std::size_t>(s)]) {
        if (end < ports) {
          if (m.in_job(net.place(PortId{end}).node) >= 0 && (!port || end < *port)) port = end;
        } else if (!seen[end - ports]) {
          seen[end - ports] = true;
          next.push_back(static_cast<int>(end - ports));
        }
      }
    if (port) {
      const auto place = net.place(PortId{*port});
      const auto& machine = m.machine(place.node);
      int n = 0;
      for (std::size_t d = 0; d < machine.devices().size(); ++d)
        if (machine.devices()[d].kind == DeviceKind::nic && n++ == place.nic)
          return nearest_ranks(m.device_element(place.node, d, ElementKind::nic));
      return {};
    }
    level = std::move(next);
  }
  return {};
}

}  // namespace linkcast::planning
