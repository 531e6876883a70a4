// Alike machines on a network that nobody described: every NIC port on one switch that blocks nothing.
#include <fmt/format.h>

#include "cluster_data.hpp"
#include "fabric_data.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "parts.hpp"

namespace linkcast::topologies {

Cluster ideal_cluster(const Fabric& machine, int nodes, std::string_view fabric, const Profile* profile) {
  if (nodes < 1) throw sim::InputError(fmt::format("{} nodes", nodes), "at least 1");
  if (nodes == 1) return Cluster{machine};
  Problems problems;
  Parts parts{{&problems, nullptr, profile}, nullptr};
  Value at;
  at.text = fabric;
  const auto* model = parts.network(at.text, at);
  problems.throw_if_any();
  if (nics_of(machine).empty())
    throw sim::InputError(fmt::format("{} nodes, but '{}' has no NIC", nodes, machine.name()),
                          "add NICs to the machine or take one node");
  auto data = std::make_shared<Cluster::Data>();
  data->name = machine.name();
  data->network = ideal_network(machine, nodes, *model);
  data->assumptions.push_back(
      fmt::format("no network described: every NIC port on one ideal {} switch that blocks nothing", fabric));
  data->kinds.push_back(machine);
  data->kind_of.assign(static_cast<std::size_t>(nodes), 0);
  for (int i = 0; i < nodes; ++i) data->original.push_back(static_cast<std::uint32_t>(i));
  data->index_resources();
  return Cluster{std::move(data)};
}

}  // namespace linkcast::topologies
