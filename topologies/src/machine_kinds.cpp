// See machine_kinds.hpp.
#include "machine_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fabric_data.hpp"
#include "linkcast/topologies/describe.hpp"

namespace linkcast::topologies {
namespace {

std::map<std::string, int> parts_of(const Fabric& machine) {
  std::map<std::string, int> out;
  for (const auto& d : machine.devices()) ++out[fmt::format("{} {}", name_of(d.kind), d.model)];
  return out;
}

std::map<std::string, std::string> rates_of(const Fabric& machine) {
  std::map<std::string, std::string> out;
  const auto name = [&](DeviceId d) { return machine.devices()[static_cast<std::size_t>(d)].name; };
  for (const auto& l : machine.links()) {
    if (l.state == "up")
      out[fmt::format("{}-{}", name(l.a), name(l.b))] =
          fmt::format("{} x{}, {:.1f} GB/s", l.model, l.width, l.bare.GBps());
  }
  return out;
}

}  // namespace

int usual_kind(const Cluster& cluster) {
  std::vector<int> nodes(static_cast<std::size_t>(cluster.kinds()), 0);
  for (int n = 0; n < cluster.nodes(); ++n) ++nodes[static_cast<std::size_t>(cluster.kind_of(n))];
  return static_cast<int>(std::ranges::max_element(nodes) - nodes.begin());
}

std::vector<std::string> differences(const Fabric& usual, const Fabric& other) {
  std::vector<std::string> out;
  const auto before = parts_of(usual), after = parts_of(other);
  for (const auto& [part, n] : before) {
    const auto at = after.find(part);
    if (at == after.end() || at->second != n)
      out.push_back(fmt::format("{} {}, not {}", at == after.end() ? 0 : at->second, part, n));
  }
  for (const auto& [part, n] : after) {
    if (!before.contains(part)) out.push_back(fmt::format("{} {}, not 0", n, part));
  }
  const auto known = check(usual);
  for (const auto& f : check(other)) {
    if (std::ranges::find(known, f.text, &Finding::text) == known.end()) out.push_back(f.text);
  }
  // Links that both have, up, with another width or rate.
  const auto rates = rates_of(usual);
  for (const auto& [link, rate] : rates_of(other)) {
    const auto at = rates.find(link);
    if (at != rates.end() && at->second != rate) out.push_back(fmt::format("{}: {}, not {}", link, rate, at->second));
  }
  return out;
}

}  // namespace linkcast::topologies
