// The public face of a network: its parts and their names. Routing is next door (network_routes.cpp).
#include "linkcast/topologies/network.hpp"

#include <fmt/format.h>

#include "linkcast/topologies/cable_length.hpp"
#include "network_data.hpp"
#include "network_ways.hpp"

namespace linkcast::topologies {

Network::Network() : data_{std::make_shared<const Data>()} {}
Network::Network(std::shared_ptr<const Data> data) : data_{std::move(data)} {}

bool Network::empty() const { return data_->places.empty(); }
std::string_view Network::generator() const { return data_->generator; }
const models::NetworkModel& Network::model() const { return data_->model; }
models::Routing Network::routing() const { return data_->routing; }
std::uint64_t Network::seed() const { return data_->seed; }
std::size_t Network::ports() const { return data_->places.size(); }
std::span<const NetworkSwitch> Network::switches() const { return data_->switches; }
std::span<const Cable> Network::cables() const { return data_->cables; }
std::span<const SwitchModel> Network::switch_models() const { return data_->switch_models; }
std::span<const CableModel> Network::cable_models() const { return data_->cable_models; }
double length_of(const Network& network, const Cable& cable) { return network.data().metres_of(cable.model); }
PortPlace Network::place(PortId port) const { return data_->places.at(static_cast<std::size_t>(port)); }

std::span<const PortId> Network::ports_of(int node, int nic) const {
  const auto at = data_->first_nic.at(static_cast<std::size_t>(node)) + static_cast<std::uint32_t>(nic);
  const auto begin = data_->first_port.at(at);
  return std::span{data_->port_ids}.subspan(begin, data_->first_port.at(at + 1) - begin);
}

std::string Network::name_of(SwitchId s) const { return data_->switch_name(static_cast<std::size_t>(s)); }

std::string Network::Data::switch_name(std::size_t i) const {
  if (!switch_names.empty()) return switch_names.at(i);
  static constexpr const char* tiers[] = {"leaf", "spine", "core"};
  const auto& sw = switches.at(i);
  if (generator == "dragonfly" || generator == "torus") return fmt::format("router[{}]", sw.index);
  return sw.tier < 3 ? fmt::format("{}[{}]", tiers[sw.tier], sw.index) : fmt::format("tier{}[{}]", sw.tier, sw.index);
}

std::string Network::name_of_end(std::uint32_t end) const {
  if (end >= ports()) return name_of(SwitchId{end - static_cast<std::uint32_t>(ports())});
  const auto p = data_->places[end];
  const bool several = ports_of(p.node, p.nic).size() > 1;
  return several ? fmt::format("node[{}].nic[{}].port[{}]", p.node, p.nic, p.port)
                 : fmt::format("node[{}].nic[{}]", p.node, p.nic);
}

std::size_t Network::estimated_memory_bytes() const {
  const auto& d = *data_;
  return d.places.size() * (sizeof(PortPlace) + 8) + d.switches.size() * sizeof(NetworkSwitch) +
         d.cables.size() * (sizeof(Cable) + 8) + (d.places.size() + d.switches.size()) * 4;
}

void Network::Data::add_machine(std::span<const int> ports) {
  if (first_nic.empty()) {
    first_nic.push_back(0);
    first_port.push_back(0);
  }
  const int node = static_cast<int>(first_nic.size()) - 1;
  for (std::size_t nic = 0; nic < ports.size(); ++nic) {
    for (int p = 0; p < ports[nic]; ++p) {
      port_ids.push_back(PortId{static_cast<std::uint32_t>(places.size())});
      places.push_back({node, static_cast<int>(nic), p});
    }
    first_port.push_back(static_cast<std::uint32_t>(places.size()));
  }
  first_nic.push_back(first_nic.back() + static_cast<std::uint32_t>(ports.size()));
}

SwitchId Network::Data::add(NetworkSwitch s) {
  switches.push_back(s);
  return SwitchId{static_cast<std::uint32_t>(switches.size() - 1)};
}

CableId Network::Data::add(Cable c) {
  cables.push_back(c);
  return CableId{static_cast<std::uint32_t>(cables.size() - 1)};
}

void Network::Data::index_cables() {
  const auto ends = places.size() + switches.size();
  first_arc.assign(ends + 1, 0);
  for (const auto& c : cables) ++first_arc[c.a + 1], ++first_arc[c.b + 1];
  for (std::size_t i = 0; i < ends; ++i) first_arc[i + 1] += first_arc[i];
  arcs.resize(cables.size() * 2);
  auto next = first_arc;
  for (std::size_t c = 0; c < cables.size(); ++c) {
    arcs[next[cables[c].a]++] = static_cast<std::uint32_t>(2 * c);
    arcs[next[cables[c].b]++] = static_cast<std::uint32_t>(2 * c + 1);
  }
  index_trunks();
  cache = std::make_shared<WayCache>();
}

void Network::Data::index_trunks() {
  const auto ports = static_cast<std::uint32_t>(places.size());
  const auto works = [&](const Cable& c) {
    return c.up && c.a >= ports && c.b >= ports && switches[c.a - ports].up && switches[c.b - ports].up;
  };
  first_trunk.assign(switches.size() + 1, 0);
  for (const auto& c : cables) {
    if (!works(c)) continue;
    ++first_trunk[c.a - ports + 1], ++first_trunk[c.b - ports + 1];
  }
  for (std::size_t i = 0; i < switches.size(); ++i) first_trunk[i + 1] += first_trunk[i];
  trunks.resize(first_trunk.back());
  auto next = first_trunk;
  for (std::size_t i = 0; i < cables.size(); ++i) {
    const auto& c = cables[i];
    if (!works(c)) continue;
    trunks[next[c.a - ports]++] = {static_cast<std::uint32_t>(2 * i), c.b - ports};
    trunks[next[c.b - ports]++] = {static_cast<std::uint32_t>(2 * i + 1), c.a - ports};
  }
}

}  // namespace linkcast::topologies
