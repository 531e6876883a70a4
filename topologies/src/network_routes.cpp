// Where traffic goes in a network. Shortest ways only; at each switch an even split over the cables that lie on one
// (adaptive, spray), or one of them by a hash of the flow (ECMP) or of the destination. Knows no machine.
#include <algorithm>
#include <map>

#include "network_data.hpp"

namespace linkcast::topologies {
namespace {

struct Step {
  std::uint32_t arc;  // cable * 2 + direction
  std::uint32_t to;
};

/// The cable of a port that is up, if any.
std::optional<Step> plug(const Network::Data& d, PortId port) {
  const auto end = d.end(port);
  for (auto i = d.first_arc[end]; i < d.first_arc[end + 1]; ++i) {
    const auto& c = d.cables[d.arcs[i] / 2];
    if (!c.up) continue;
    const bool is_b = (d.arcs[i] & 1) != 0;
    return Step{d.arcs[i], is_b ? c.a : c.b};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Network::Way> Network::way(PortId from, PortId to) const {
  const auto& d = *data_;
  const auto out = plug(d, from);
  const auto in = plug(d, to);
  if (!out || !in || out->to != in->to) return std::nullopt;
  const auto& sw = d.switches[out->to - d.places.size()];
  Way way{1, d.switch_models[sw.model].latency};
  way.latency += d.cable_models[d.cables[out->arc / 2].model].latency;
  way.latency += d.cable_models[d.cables[in->arc / 2].model].latency;
  return way;
}

bool Network::add(PortId from, PortId to, double weight, std::uint64_t, const Sink& sink) const {
  const auto& d = *data_;
  const auto out = plug(d, from);
  const auto in = plug(d, to);
  if (!out || !in || out->to != in->to) return false;
  sink(CableId{out->arc / 2}, (out->arc & 1) == 0, weight);
  sink(CableId{in->arc / 2}, (in->arc & 1) != 0, weight);
  return true;
}

bool Network::add_all_to_all(std::span<const PortId> ports, double weight, const Sink& sink) const {
  const auto& d = *data_;
  std::map<int, int> of_node;
  for (const auto p : ports) ++of_node[d.places[static_cast<std::size_t>(p)].node];
  for (const auto p : ports) {
    const auto peers = static_cast<double>(ports.size()) - of_node[d.places[static_cast<std::size_t>(p)].node];
    const auto out = plug(d, p);
    if (!out) return false;
    sink(CableId{out->arc / 2}, (out->arc & 1) == 0, weight * peers);
    sink(CableId{out->arc / 2}, (out->arc & 1) != 0, weight * peers);
  }
  return true;
}

bool Network::sharp() const {
  return !data_->switch_models.empty() &&
         std::ranges::all_of(data_->switch_models, [](const SwitchModel& m) { return m.sharp; });
}

}  // namespace linkcast::topologies
