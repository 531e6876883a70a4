// The key `network` of a topology file: a generator with its parameters, or switches and cables one by one. Knows of
// the machine only its NICs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster_data.hpp"
#include "generators/generators.hpp"
#include "map_reader.hpp"
#include "network_ends.hpp"
#include "parts.hpp"

namespace linkcast::topologies {

inline constexpr int max_nodes = 1'000'000;

struct NetworkRequest {
  ReadContext context;
  Parts& parts;
  const Value& network;   // the map
  const Value* nodes_at;  // the key `nodes`, or null
  std::optional<int> nodes;
  const ClusterOptions& options;
  std::vector<NicFacts> nics;
  std::string usual_fabric;    // of the machine's NICs, or empty
  std::size_t node_bytes = 0;  // what the links of a node take in a replay
};

struct ClusterNetwork {
  std::shared_ptr<Network::Data> data;  // null after a problem
  std::vector<std::string> hosts;       // names of the nodes, or empty
  int nodes = 0;
  std::vector<std::string> assumptions;
};
ClusterNetwork read_network_section(const NetworkRequest& request);

/// What all networks share: kind, routing, lengths of cables.
struct CableLengths {
  const CablePart* cable = nullptr;
  sim::Time latency(double metres) const;
  double metres[NetworkPlan::tiers] = {3, 20, 50};
  double said[NetworkPlan::tiers] = {};  // as metres, where the file says them; else 0
};
/// Switches and cables as they are written.
void read_explicit_network(const NetworkRequest& request, MapReader& r, NetworkBuild& build,
                           const CableLengths& lengths, ClusterNetwork& out);

CableLengths read_lengths(Parts& parts, MapReader& r);
/// "5 m", "80 cm", "1.5 km"; a problem otherwise.
std::optional<double> read_length(MapReader& r, const Value& v);

/// Each NIC with `ports` ports (at least as many as it has), which share its rate.
std::vector<NicFacts> with_ports(std::vector<NicFacts> nics, int ports);

}  // namespace linkcast::topologies
