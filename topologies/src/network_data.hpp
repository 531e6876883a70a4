// What a Network is made of. Written once by a generator, the loader or an importer, then only read.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "linkcast/topologies/network.hpp"

namespace linkcast::topologies {

struct Network::Data {
  std::string generator = "ideal";
  models::NetworkModel model;
  models::Routing routing = models::Routing::adaptive;
  std::uint64_t seed = 1;

  std::vector<PortPlace> places;          // by PortId: machine by machine, NIC by NIC, port by port
  std::vector<std::uint32_t> first_nic;   // by node: where its NICs begin in first_port; one more at the end
  std::vector<std::uint32_t> first_port;  // by (node, nic): first PortId; one more at the end
  std::vector<PortId> port_ids;           // 0, 1, 2, …: what ports_of() spans point into

  std::vector<SwitchModel> switch_models;
  std::vector<CableModel> cable_models;
  std::vector<NetworkSwitch> switches;
  std::vector<std::string> switch_names;  // of importers; else empty
  std::vector<Cable> cables;
  std::vector<std::uint32_t> first_arc;  // by end (ports, then switches): its cables in arcs; one more at the end
  std::vector<std::uint32_t> arcs;       // cable * 2 + (1 where this end is its b)

  /// Adds the ports of one more machine: `ports[i]` of its NIC i.
  void add_machine(std::span<const int> ports);
  SwitchId add(NetworkSwitch s);
  CableId add(Cable c);
  std::uint32_t end(PortId p) const { return static_cast<std::uint32_t>(p); }
  std::uint32_t end(SwitchId s) const {
    return static_cast<std::uint32_t>(places.size()) + static_cast<std::uint32_t>(s);
  }
  /// Fills first_arc and arcs; after the last cable.
  void index_cables();

  /// Ways between two switches that were asked for: shares of the cables between them. Guarded by the mutex.
  struct Share {
    std::uint32_t arc;  // cable * 2 + direction (0: a to b)
    float weight;
  };
  struct WayCache {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::pair<Way, std::vector<Share>>> between;
  };
  std::shared_ptr<WayCache> cache = std::make_shared<WayCache>();
};

}  // namespace linkcast::topologies
