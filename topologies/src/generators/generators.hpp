// Networks from a few numbers: what a generator is told, and what it says when the numbers do not fit together. Knows
// neither YAML nor what is inside a machine besides its NICs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../cluster_data.hpp"
#include "../network_data.hpp"

namespace linkcast::topologies {

/// The parameters of all generators; 0 and empty: derived. docs/topology.md says which generator takes which.
struct NetworkPlan {
  std::string type = "ideal";
  models::NetworkModel model;
  models::Routing routing = models::Routing::adaptive;
  std::uint64_t seed = 1;
  int nodes = 1;
  std::size_t node_bytes = 0;  // what the links of a node take in a replay
  std::vector<NicFacts> nics;  // of each node; `rate` is of one port
  int rails = 0;               // NIC j is on rail j modulo rails; 0: what the NICs say

  static constexpr int tiers = 3;
  SwitchModel switches[tiers];       // leaf, spine, core; a torus or dragonfly has the first only
  sim::Time cable_latency[tiers];    // NIC-leaf, leaf-spine, spine-core
  double cable_metres[tiers] = {};   // the same; 0: nobody said how long
  sim::Rate uplink_rate[tiers - 1];  // of a leaf's, of a spine's; default: the port rate of the switches

  int nodes_per_unit = 0;
  int units_per_pod = 0;  // spines serve so many units; cores join pods
  double oversubscription[tiers - 1] = {1, 1};
  int uplinks[tiers - 1] = {0, 0};
  int spines = 0;              // in all
  int cores = 0;               // in all
  bool core = false;           // has a core tier even where spines alone would do
  bool spines_by_rail = true;  // with a core: spines serve one rail of many units, else all rails of some units
  int planes = 0;

  int k = 0;       // fat tree: ports of a switch that are used
  int groups = 0;  // dragonfly
  int routers_per_group = 0;
  int nodes_per_router = 1;
  int global_links = 0;   // between two groups
  int local_links = 1;    // between two routers of a group; torus: between neighbours
  std::vector<int> dims;  // torus
};

/// Called with the parameter that does not fit ("" for the network as a whole), what is wrong, and what would do.
using Refuse = std::function<void(std::string_view key, std::string problem, std::string help)>;

/// Nothing after a refusal. `hosts`: node names are the caller's.
std::shared_ptr<Network::Data> generate(const NetworkPlan& plan, const Refuse& refuse);

/// What one network may take: larger ones are refused before they are built.
inline constexpr std::size_t max_network_bytes = std::size_t{4} << 30;
std::size_t network_bytes(std::size_t ports, std::size_t switches, std::size_t cables);

/// What generators share.
class NetworkBuild {
 public:
  NetworkBuild(const NetworkPlan& plan, const Refuse& refuse);

  const NetworkPlan& plan;
  const Refuse& refuse;
  std::shared_ptr<Network::Data> data;

  /// False after a refusal: more than max_network_bytes.
  bool fits(double switches, double cables) const;
  void add_machines();
  std::uint16_t switch_model(const SwitchModel& m);
  /// A cable of that rate in that tier of the plan (0 NIC-leaf, 1, 2).
  std::uint16_t cable_model(sim::Rate rate, int tier);
  SwitchId add_switch(int tier, std::uint16_t model, int rail = -1, int plane = -1, int group = -1);
  /// Parallel cables; one by one where each flow takes a single one of them.
  void connect(std::uint32_t a, std::uint32_t b, std::uint16_t model, int count);
  int ports_per_node() const;

 private:
  std::vector<int> next_index_;  // by tier
};

std::shared_ptr<Network::Data> generate_ideal(NetworkBuild& b);
std::shared_ptr<Network::Data> generate_clos(NetworkBuild& b);
std::shared_ptr<Network::Data> generate_dragonfly(NetworkBuild& b);
std::shared_ptr<Network::Data> generate_torus(NetworkBuild& b);

/// "ideal", "rail_optimised", …
const std::vector<std::string>& network_types();

}  // namespace linkcast::topologies
