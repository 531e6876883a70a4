// load_cluster(): a machine, how many of it, and the network that joins them.
#include <fmt/format.h>

#include "cluster_data.hpp"
#include "fabric_data.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "parts.hpp"

namespace linkcast::topologies {

Cluster load_cluster(std::string_view name_or_path, const ClusterOptions& options) {
  LoadOptions load;
  load.params = options.params;
  auto machine = topologies::load(name_or_path, load);
  const int nodes = std::max(1, options.nodes);
  if (nodes == 1) return Cluster{std::move(machine)};

  auto data = std::make_shared<Cluster::Data>();
  data->name = machine.name();
  data->text = machine.data().text;
  Problems problems;
  Parts parts{{&problems}, nullptr};
  const auto kind = options.fabric.value_or("ib");
  Value at;
  at.text = kind;
  const auto* model = parts.network(kind, at);
  problems.throw_if_any();
  if (nics_of(machine).empty())
    throw sim::InputError(fmt::format("{} nodes, but '{}' has no NIC", nodes, name_or_path),
                          "add NICs to the machine or take one node");
  data->network = ideal_network(machine, nodes, *model);
  if (options.routing) {
    // an ideal switch has one way between any two ports
  }
  data->assumptions.push_back(
      fmt::format("no network described: every NIC port on one ideal {} switch that blocks nothing", kind));
  data->kinds.push_back(std::move(machine));
  data->kind_of.assign(static_cast<std::size_t>(nodes), 0);
  for (int i = 0; i < nodes; ++i) data->original.push_back(static_cast<std::uint32_t>(i));
  data->index_resources();
  return Cluster{std::move(data)};
}

}  // namespace linkcast::topologies
