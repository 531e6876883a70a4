// See generators.hpp: what generators share, and the ideal network.
#include "generators.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::topologies {

std::size_t network_bytes(std::size_t ports, std::size_t switches, std::size_t cables) {
  // cables: themselves, two arcs, two trunks, two resources of a replay
  constexpr std::size_t of_cable = sizeof(Cable) + 2 * sizeof(std::uint32_t) + 2 * sizeof(Network::Data::Trunk) + 96;
  return ports * (sizeof(PortPlace) + 16) + switches * (sizeof(NetworkSwitch) + 8) + cables * of_cable;
}

NetworkBuild::NetworkBuild(const NetworkPlan& p, const Refuse& r)
    : plan{p}, refuse{r}, data{std::make_shared<Network::Data>()} {
  data->generator = p.type;
  data->model = p.model;
  data->routing = p.routing;
  data->seed = p.seed;
}

bool NetworkBuild::fits(double switches, double cables) const {
  const auto ports = static_cast<double>(plan.nodes) * ports_per_node();
  // Beyond 2^30 the count itself is the answer, and doubles are not cast to what cannot hold them.
  constexpr double countable = 1 << 30;
  const double largest = std::max({ports, switches, cables});
  const auto machines = static_cast<double>(plan.nodes) * static_cast<double>(plan.node_bytes);
  const auto bytes = largest > countable || machines > static_cast<double>(max_network_bytes)
                         ? max_network_bytes + 1
                         : static_cast<std::size_t>(machines) + network_bytes(static_cast<std::size_t>(ports),
                                                                              static_cast<std::size_t>(switches),
                                                                              static_cast<std::size_t>(ports + cables));
  if (bytes <= max_network_bytes) return true;
  refuse("",
         fmt::format("too large: {} machines with {:.3g} NIC ports, {:.3g} switches, {:.3g} bundles of cables",
                     plan.nodes, ports, switches, cables),
         fmt::format("a cluster may take {} GiB", max_network_bytes >> 30));
  return false;
}

int NetworkBuild::ports_per_node() const {
  int n = 0;
  for (const auto& nic : plan.nics) n += nic.ports;
  return n;
}

void NetworkBuild::add_machines() {
  std::vector<int> ports;
  for (const auto& n : plan.nics) ports.push_back(n.ports);
  const auto all = static_cast<std::size_t>(plan.nodes) * static_cast<std::size_t>(ports_per_node());
  data->places.reserve(all);
  data->port_ids.reserve(all);
  for (int node = 0; node < plan.nodes; ++node) data->add_machine(ports);
}

std::uint16_t NetworkBuild::switch_model(const SwitchModel& m) {
  auto& models = data->switch_models;
  const auto known = std::ranges::find(models, m.name, &SwitchModel::name);
  if (known != models.end()) return static_cast<std::uint16_t>(known - models.begin());
  models.push_back(m);
  return static_cast<std::uint16_t>(models.size() - 1);
}

std::uint16_t NetworkBuild::cable_model(sim::Rate rate, int tier) {
  return data->cable_model(rate, plan.cable_latency[tier], "up", plan.cable_metres[tier]);
}

std::uint16_t Network::Data::cable_model(sim::Rate rate, sim::Time latency, const std::string& state, double metres) {
  for (std::size_t i = 0; i < cable_models.size(); ++i) {
    const auto& c = cable_models[i];
    const auto kind = static_cast<std::uint16_t>(i);
    if (c.bare == rate && c.latency == latency && c.state == state && metres_of(kind) == metres) return kind;
  }
  const auto payload = std::max(rate * std::min(model.efficiency(), 1.0), sim::Rate::bytes_per_second(1));
  cable_models.push_back({fmt::format("{:g} Gb/s", rate.GBps() * 8), rate, payload, latency, state});
  cable_metres.resize(cable_models.size());
  cable_metres.back() = metres;
  return static_cast<std::uint16_t>(cable_models.size() - 1);
}

SwitchId NetworkBuild::add_switch(int tier, std::uint16_t model, int rail, int plane, int group) {
  next_index_.resize(std::max(next_index_.size(), static_cast<std::size_t>(tier) + 1), 0);
  NetworkSwitch s;
  s.model = model;
  s.tier = static_cast<std::uint8_t>(tier);
  s.rail = static_cast<std::int16_t>(rail);
  s.plane = static_cast<std::int16_t>(plane);
  s.group = group;
  s.index = next_index_[static_cast<std::size_t>(tier)]++;
  return data->add(s);
}

void NetworkBuild::connect(std::uint32_t a, std::uint32_t b, std::uint16_t model, int count) {
  constexpr int most = 65'535;  // what Cable::count holds
  const bool bundle = plan.routing == models::Routing::adaptive || plan.routing == models::Routing::spray;
  while (count > 0) {
    Cable c;
    c.a = a;
    c.b = b;
    c.model = model;
    c.count = static_cast<std::uint16_t>(bundle ? std::min(count, most) : 1);
    data->add(c);
    count -= c.count;
  }
}

std::shared_ptr<Network::Data> generate_ideal(NetworkBuild& b) {
  if (!b.fits(1, 0)) return nullptr;
  b.add_machines();
  const auto leaf =
      b.data->end(b.add_switch(0, b.switch_model({"ideal", 0, sim::Rate::unlimited(), sim::Time{}, true})));
  for (std::size_t p = 0; p < b.data->places.size(); ++p) {
    const auto& nic = b.plan.nics[static_cast<std::size_t>(b.data->places[p].nic)];
    b.connect(static_cast<std::uint32_t>(p), leaf, b.data->cable_model(nic.rate, sim::Time{}, "up"), 1);
  }
  return b.data;
}

const std::vector<std::string>& network_types() {
  static const std::vector<std::string> types{"ideal",      "rail_optimised", "rail_only", "fat_tree",
                                              "leaf_spine", "dual_plane",     "dragonfly", "torus"};
  return types;
}

std::shared_ptr<Network::Data> generate(const NetworkPlan& plan, const Refuse& refuse) {
  NetworkBuild b{plan, refuse};
  std::shared_ptr<Network::Data> data;
  if (b.ports_per_node() == 0) {
    refuse("", "the machine has no NIC", "add NICs to it, or take one node");
  } else if (plan.type == "ideal") {
    data = generate_ideal(b);
  } else if (plan.type == "dragonfly") {
    data = generate_dragonfly(b);
  } else if (plan.type == "torus") {
    data = generate_torus(b);
  } else {
    data = generate_clos(b);
  }
  if (data) data->index_cables();
  return data;
}

}  // namespace linkcast::topologies
