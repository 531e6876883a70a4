// See network_yaml.hpp: what all networks share, and the generators' parameters.
#include "network_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "host_list.hpp"

namespace linkcast::topologies {
namespace {

constexpr int max_count = 1 << 20;

/// One value for all tiers, or a list of at most `n`.
template <typename F>
void each_tier(MapReader& r, std::string_view key, std::size_t n, F take) {
  const auto* v = r.find(key);
  if (!v) return;
  if (!v->is_sequence()) {
    for (std::size_t i = 0; i < n; ++i) take(i, *v);
    return;
  }
  if (v->items.size() > n) r.problem(*v, fmt::format("'{}' has {} values for {} tiers", key, v->items.size(), n));
  for (std::size_t i = 0; i < std::min(n, v->items.size()); ++i) take(i, v->items[i]);
}

std::optional<double> number(MapReader& r, std::string_view key, const Value& v, double low, double high) {
  double x = 0;
  const auto* end = v.text.data() + v.text.size();
  const auto [stop, error] = std::from_chars(v.text.data(), end, x);
  if (v.is_scalar() && error == std::errc{} && stop == end && x >= low && x <= high) return x;
  r.problem(v, fmt::format("'{}' must hold numbers from {} to {}, not '{}'", key, low, high, v.text));
  return std::nullopt;
}

std::optional<sim::Rate> rate(MapReader& r, std::string_view key, const Value& v) {
  const auto parsed = parse_quantity(v.is_scalar() ? v.text : "", Dimension::rate, key, false);
  if (const auto* n = std::get_if<std::int64_t>(&parsed)) return sim::Rate::bytes_per_second(*n);
  const auto& e = std::get<QuantityError>(parsed);
  r.problem(v, e.problem, e.help);
  return std::nullopt;
}

int whole(MapReader& r, std::string_view key, int otherwise = 0, int low = 1, int high = max_count) {
  return static_cast<int>(r.integer(key, low, high).value_or(otherwise));
}

/// `switch` is of all tiers, `leaf_switch`, … of one.
bool read_switches(const NetworkRequest& q, MapReader& r, NetworkPlan& plan, int tiers) {
  static constexpr std::string_view keys[] = {"leaf_switch", "spine_switch", "core_switch"};
  const auto part = [&](std::string_view key) -> const SwitchModel* {
    const auto name = r.word(key);
    return name ? q.parts.network_switch(*name, *r.value().get(key)) : nullptr;
  };
  const auto* all = part("switch");
  bool good = true;
  for (int t = 0; t < tiers; ++t) {
    const auto* own = tiers > 1 ? part(keys[t]) : nullptr;
    if (own) {
      plan.switches[t] = *own;
    } else if (all) {
      plan.switches[t] = *all;
    } else if (r.value().get("switch") || (tiers > 1 && r.value().get(keys[t]))) {
      good = false;
    } else if (t == 0) {
      r.problem(r.value(), fmt::format("a network of type {} has no 'switch'", plan.type),
                "add `switch: qm9700`, or another of catalog/parts/network_switches.yaml");
      good = false;
    } else {
      plan.switches[t] = plan.switches[t - 1];
    }
  }
  return good;
}

void read_clos(MapReader& r, NetworkPlan& p) {
  p.nodes_per_unit = whole(r, p.type == "leaf_spine" ? "nodes_per_leaf" : "nodes_per_unit");
  each_tier(r, "oversubscription", 2, [&](std::size_t t, const Value& v) {
    p.oversubscription[t] = number(r, "oversubscription", v, 0.01, 1000).value_or(1);
  });
  each_tier(r, "uplinks", 2, [&](std::size_t t, const Value& v) {
    if (const auto n = number(r, "uplinks", v, 1, 4096); n && (t == 0 || r.value().get("uplinks")->is_sequence())) {
      if (*n != std::floor(*n)) r.problem(v, "'uplinks' must hold whole numbers");
      p.uplinks[t] = static_cast<int>(*n);
    }
  });
  each_tier(r, "uplink_rate", 2,
            [&](std::size_t t, const Value& v) { p.uplink_rate[t] = rate(r, "uplink_rate", v).value_or(sim::Rate{}); });
  p.spines = whole(r, "spines");
  if (p.type == "rail_only") return;
  p.cores = whole(r, "cores");
  p.core = r.boolean("core").value_or(false);
  p.units_per_pod = whole(r, p.type == "leaf_spine" ? "leaves_per_pod" : "units_per_pod");
  if (p.type == "leaf_spine") return;
  static const std::vector<std::string> by{"rail", "pod"};
  p.spines_by_rail = r.choice("spines_by", by).value_or("rail") == "rail";
}

void read_fat_tree(MapReader& r, NetworkPlan& p) {
  const auto radix = p.switches[0].radix;
  p.k = whole(r, "k", radix, 2, 4096);
  const auto* at = r.value().get("k") ? r.value().get("k") : &r.value();
  if (p.k < 2 || p.k % 2 != 0)
    r.problem(*at, fmt::format("a fat tree of switches with {} ports: half of them go up", p.k), "an even 'k'");
  if (radix > 0 && p.k > radix)
    r.problem(*at, fmt::format("'k' is {}, but {} has {} ports", p.k, p.switches[0].name, radix),
              fmt::format("at most {}", radix));
  p.k = std::max(2, p.k / 2 * 2);
}

void read_dragonfly(MapReader& r, NetworkPlan& p) {
  p.groups = whole(r, "groups", 0, 1, 100'000);
  p.routers_per_group = static_cast<int>(r.integer("routers_per_group", 1, 4096, true).value_or(1));
  p.nodes_per_router = static_cast<int>(r.integer("nodes_per_router", 1, 4096, true).value_or(1));
  p.global_links = whole(r, "global_links", 1, 1, 4096);
  p.local_links = whole(r, "local_links", 1, 1, 4096);
}

void read_torus(MapReader& r, NetworkPlan& p) {
  p.dims = r.integers("dims", 1, 4096, true).value_or(std::vector<int>{1});
  if (p.dims.empty() || p.dims.size() > 8) {
    r.problem(*r.value().get("dims"), fmt::format("{} dimensions", p.dims.size()), "1 to 8, as in [4, 4, 4]");
    p.dims = {1};
  }
  p.nodes_per_router = whole(r, "nodes_per_router", 1, 1, 4096);
  p.local_links = whole(r, "links", 1, 1, 4096);
}

void read_hosts(MapReader& r, ClusterNetwork& out) {
  const auto* v = r.find("hosts");
  if (!v) return;
  std::set<std::string, std::less<>> seen;
  const auto one = [&](const Value& item) {
    if (!item.is_scalar() || item.text.empty())
      return r.problem(item, "a host is a name", "as in `hosts: [h001, h002]`");
    const auto first = out.hosts.size();
    if (const auto bad = expand_host_list(item.text, out.hosts)) r.problem(item, bad->problem, bad->help);
    for (auto i = first; i < out.hosts.size(); ++i) {
      if (!seen.insert(out.hosts[i]).second) r.problem(item, fmt::format("host '{}' is named twice", out.hosts[i]));
    }
  };
  if (v->is_sequence()) {
    for (const auto& item : v->items) one(item);
  } else {
    one(*v);
  }
}

}  // namespace

std::optional<double> read_length(MapReader& r, const Value& v) {
  double x = 0;
  const std::string_view text = v.is_scalar() ? std::string_view{v.text} : std::string_view{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  auto unit = error == std::errc{} ? text.substr(static_cast<std::size_t>(stop - text.data())) : std::string_view{};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const double scale = unit == "m" ? 1 : unit == "cm" ? 0.01 : unit == "km" ? 1000 : 0;
  if (scale > 0 && std::isfinite(x) && x >= 0 && x * scale <= 1e6) return x * scale;
  r.problem(v, fmt::format("a length cannot be '{}'", text.substr(0, 40)), "metres, as in `5 m`; at most 1000 km");
  return std::nullopt;
}

sim::Time CableLengths::latency(double m) const {
  if (!cable) return {};
  return sim::Time::picoseconds(static_cast<std::int64_t>(static_cast<double>(cable->per_metre.ps()) * m + 0.5)) +
         cable->fec;
}

CableLengths read_lengths(Parts& parts, MapReader& r) {
  CableLengths out;
  const auto name = r.word("cable");
  out.cable = parts.cable(name.value_or("pam4"), name ? *r.value().get("cable") : r.value());
  each_tier(r, "lengths", NetworkPlan::tiers, [&](std::size_t t, const Value& v) {
    if (const auto m = read_length(r, v)) out.metres[t] = out.said[t] = *m;
  });
  return out;
}

std::vector<NicFacts> with_ports(std::vector<NicFacts> nics, int ports) {
  for (auto& n : nics) {
    if (n.ports >= ports) continue;
    n.rate = n.rate * (static_cast<double>(n.ports) / ports);
    n.ports = ports;
  }
  return nics;
}

ClusterNetwork read_network_section(const NetworkRequest& q) {
  ClusterNetwork out;
  const auto before = q.context.problems->count();
  const auto clean = [&] { return q.context.problems->count() == before; };
  MapReader r{q.context, q.network, "'network'"};
  if (!r.sound()) return out;

  NetworkPlan plan;
  plan.node_bytes = q.node_bytes;
  const auto fabric = r.word("fabric");
  const auto kind = q.options.fabric          ? *q.options.fabric
                    : fabric                  ? *fabric
                    : !q.usual_fabric.empty() ? q.usual_fabric
                                              : std::string{"ib"};
  Value option;
  option.text = kind;
  const auto* model = q.parts.network(kind, fabric && !q.options.fabric ? *r.value().get("fabric")
                                            : q.options.fabric          ? option
                                                                        : r.value());
  if (model) plan.model = *model;
  static const std::vector<std::string> routings{"adaptive", "spray", "ecmp", "by_destination"};
  plan.routing = plan.model.routing;
  if (const auto routing = r.choice("routing", routings); routing && (!q.options.fabric || q.options.fabric == fabric))
    plan.routing = static_cast<models::Routing>(std::ranges::find(routings, *routing) - routings.begin());
  if (q.options.routing) plan.routing = *q.options.routing;
  plan.seed = static_cast<std::uint64_t>(r.integer("seed", 0, std::int64_t{1} << 62).value_or(1));
  read_hosts(r, out);
  const auto lengths = read_lengths(q.parts, r);
  const bool by_hand = r.value().get("switches") || r.value().get("cables");
  const auto type = r.choice("type", network_types());
  plan.rails = whole(r, "rails", 0, 1, 4096);
  const int ports = whole(r, "ports_per_nic", 1, 1, 8);
  plan.nics = with_ports(q.nics, ports);

  if (q.nodes && !out.hosts.empty() && static_cast<int>(out.hosts.size()) != *q.nodes) {
    q.context.problems->add(q.nodes_at ? *q.nodes_at : r.value(),
                            fmt::format("{} nodes, but {} hosts", *q.nodes, out.hosts.size()),
                            "as many names as nodes, or no names");
  }
  out.nodes = q.nodes ? *q.nodes : static_cast<int>(out.hosts.size());

  if (by_hand) {
    if (type)
      r.problem(*r.value().get("type"), "a network with 'switches' or 'cables' has no 'type'", "remove one of them");
    const Refuse refuse = [&](std::string_view, std::string problem, std::string help) {
      r.problem(r.value(), std::move(problem), std::move(help));
    };
    plan.type = "explicit";
    NetworkBuild build{plan, refuse};
    read_explicit_network(q, r, build, lengths, out);
    r.done();
    if (!clean()) out.data = nullptr;
    return out;
  }

  plan.type = type.value_or("ideal");
  if (!type && !r.value().get("type") && out.hosts.empty()) {
    r.problem(r.value(), "'network' has no 'type'", "add `type: rail_optimised`, or 'switches' and 'cables'");
  }
  if (out.nodes == 0) out.nodes = std::max(1, q.options.nodes);
  plan.nodes = out.nodes;
  for (int t = 0; t < NetworkPlan::tiers; ++t) {
    plan.cable_latency[t] = lengths.latency(lengths.metres[t]);
    plan.cable_metres[t] = lengths.said[t];
  }
  bool switches = true;
  if (plan.type == "dragonfly" || plan.type == "torus") {
    switches = read_switches(q, r, plan, 1);
    plan.type == "torus" ? read_torus(r, plan) : read_dragonfly(r, plan);
  } else if (plan.type != "ideal") {
    switches = read_switches(q, r, plan, plan.type == "rail_only" ? 2 : plan.type == "fat_tree" ? 1 : 3);
    if (plan.type == "fat_tree") {
      plan.switches[2] = plan.switches[1] = plan.switches[0];
      if (switches)
        read_fat_tree(r, plan);
      else
        r.find("k");
    } else {
      read_clos(r, plan);
    }
    if (plan.type == "dual_plane") {
      plan.planes = whole(r, "planes", 2, 2, 8);
      plan.nics = with_ports(std::move(plan.nics), plan.planes);
    }
  }
  r.done();
  if (!clean() || !switches || !model) return out;
  const Refuse refuse = [&](std::string_view key, std::string problem, std::string help) {
    const Value* at = key.empty() ? q.nodes_at : r.value().get(key);
    if (!at && key == "nodes_per_unit") at = r.value().get("nodes_per_leaf");
    if (!at && key == "units_per_pod") at = r.value().get("leaves_per_pod");
    q.context.problems->add(at ? *at : r.value(), std::move(problem), std::move(help));
  };
  out.data = generate(plan, refuse);
  if (plan.type == "ideal")
    out.assumptions.push_back(
        fmt::format("an ideal {} network: every NIC port on one switch that blocks nothing", kind));
  return out;
}

}  // namespace linkcast::topologies
