// What a Cluster is made of. Written once by the loader, then only read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

struct Cluster::Data {
  std::string name;
  std::vector<Fabric> kinds;
  std::vector<std::uint16_t> kind_of;         // by node
  std::vector<std::uint32_t> original;        // by node: its number in the whole cluster (the network's node)
  std::vector<std::string> node_names;        // by original number, or empty
  std::vector<std::uint32_t> first_resource;  // by node; then the cables'
  Network network;
  std::vector<std::string> assumptions;
  std::string text;  // the cluster as one YAML file without extends and params

  /// Fills first_resource; after kinds and kind_of.
  void index_resources();
};

/// `nodes` machines with every NIC port on one switch that blocks nothing.
Network ideal_network(const Fabric& machine, int nodes, const models::NetworkModel& model);
/// How many NICs the machine has, and the rate and the ports of each.
struct NicFacts {
  DeviceId device;
  sim::Rate rate;  // of one port
  int ports = 1;
  int rail = 0;
};
std::vector<NicFacts> nics_of(const Fabric& machine);

}  // namespace linkcast::topologies
