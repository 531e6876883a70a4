// See network_tiers.hpp.
#include "network_tiers.hpp"

#include <fmt/format.h>

#include <array>

#include "cluster_data.hpp"

namespace linkcast::topologies {

std::string tier_name(const Network& n, int tier) {
  static constexpr std::array<const char*, 3> names{"leaf", "spine", "core"};
  if (tier < 0) return "nic";
  if (is_direct(n)) return "router";
  if (n.generator() == "ideal") return "switch";
  return tier < static_cast<int>(names.size()) ? names[static_cast<std::size_t>(tier)] : fmt::format("tier{}", tier);
}

std::string end_name(const Cluster& cluster, std::uint32_t end) {
  const auto& n = cluster.network();
  auto name = n.name_of_end(end);
  const auto& hosts = cluster.data().node_names;
  if (is_switch(n, end) || hosts.empty()) return name;
  return hosts.at(static_cast<std::size_t>(n.place(PortId{end}).node)) + name.substr(name.find(".nic["));
}

}  // namespace linkcast::topologies
