// What `linkcast topo show|check|export` say about clusters: machines, the network between them, and where they are
// not as their peers. Plain structs, and their text. Prints nothing itself; knows no command line and no collective.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/describe.hpp"

namespace linkcast::topologies {

/// One kind of machine.
struct MachineRow {
  int nodes = 0;
  std::string example;                   // "node[17]"
  std::vector<std::string> differences;  // from the first kind
};

/// One kind of switch in one tier.
struct SwitchRow {
  std::string tier;  // "leaf", "spine", "core", "router"
  std::string model;
  int count = 0, down = 0;
  int radix = 0;  // 0: as many as are plugged in
  sim::Rate rate;
  sim::Time latency;
};

/// Alike cables between two tiers.
struct CableRow {
  std::string from, to;  // "nic", "leaf"; the lower tier first
  bool between_groups = false;
  std::int64_t count = 0, down = 0;
  sim::Rate bare, payload;  // of one cable
  sim::Time latency;        // one way: length and transceivers
  std::string state;        // "up", or why it is slower
};

/// What all switches of a tier carry, one direction, over cables that work.
struct TierRow {
  std::string tier;
  int switches = 0;
  sim::Rate down, up, across;   // to NICs and lower tiers; to higher tiers; to switches of the same tier
  double oversubscription = 0;  // down / up; 0: nothing above
};

/// Pairs of NICs on different machines that see the network alike.
struct DistanceRow {
  std::string way;         // "same leaf", "other unit, same rail, over spine"
  double pairs = 0;        // unordered
  std::string example;     // "node[0].nic[0] - node[1].nic[0]"
  bool reachable = false;  // else only through other NICs of the machines
  int switches = 0;
  sim::Time latency;  // cables and switches
};

struct ClusterDescription {
  std::string name, title;
  std::vector<std::pair<std::string, std::string>> params;
  int nodes = 0;
  int network_nodes = 0;  // how many the network joins: a job takes some of them
  int gpus = 0, nics = 0;
  int gpus_per_node = 0, nics_per_node = 0;
  std::string nic_model;
  Description machine;               // the first kind
  std::vector<MachineRow> machines;  // more than one where machines differ

  std::string fabric;     // "ib", "roce"
  std::string generator;  // "rail_optimised", "explicit"
  std::string routing;
  bool sharp = false;
  sim::Bytes packet_payload{0}, packet_header{0};
  double packet_efficiency = 1, residual = 1;

  std::vector<SwitchRow> switches;
  std::vector<CableRow> cables;
  std::vector<TierRow> tiers;
  sim::Rate nic_bare, nic_payload;  // of a GPU: its share of its machine's NICs, on average
  /// Largest rate between the first and the second half of the machines, one way, before packet headers.
  sim::Rate bisection;
  std::vector<DistanceRow> distances;
  bool distances_exact = true;  // else counted from one leaf of each kind
  std::vector<std::string> assumptions;
};
ClusterDescription describe(const Cluster& cluster);
std::string to_text(const ClusterDescription& d);

/// What a person should look at: what check() says of its machines, and where the network is not as elsewhere. One
/// finding for each cause, however many places it has; errors first.
std::vector<Finding> check(const Cluster& cluster);

/// One machine, the switches that it is plugged into and those above them; the rest folded into boxes with numbers.
std::string to_dot(const Cluster& cluster);
/// One self-contained Linkcast YAML file that load_cluster() reads as the same cluster.
std::string to_yaml(const Cluster& cluster);

}  // namespace linkcast::topologies
