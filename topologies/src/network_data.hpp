// What a Network is made of. Written once by a generator, the loader or an importer, then only read.
#pragma once

#include <memory>
#include <span>
#include <string>
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
  std::vector<double> cable_metres;  // by cable model: the length of one; 0, or beyond the end: not said
  std::vector<NetworkSwitch> switches;
  std::vector<std::string> switch_names;  // of importers; else empty
  std::vector<Cable> cables;
  std::vector<std::uint32_t> first_arc;  // by end (ports, then switches): its cables in arcs; one more at the end
  std::vector<std::uint32_t> arcs;       // cable * 2 + (1 where this end is its b)

  /// Adds the ports of one more machine: `ports[i]` of its NIC i.
  void add_machine(std::span<const int> ports);
  SwitchId add(NetworkSwitch s);
  CableId add(Cable c);
  /// A kind of cable, made where there is none yet.
  std::uint16_t cable_model(sim::Rate rate, sim::Time latency, const std::string& state, double metres = 0);
  double metres_of(std::uint16_t kind) const { return kind < cable_metres.size() ? cable_metres[kind] : 0; }
  std::string switch_name(std::size_t s) const;
  std::uint32_t end(PortId p) const { return static_cast<std::uint32_t>(p); }
  std::uint32_t end(SwitchId s) const {
    return static_cast<std::uint32_t>(places.size()) + static_cast<std::uint32_t>(s);
  }
  /// Fills first_arc, arcs and the trunks; after the last cable and the last change of what is up.
  void index_cables();
  void index_trunks();

  /// Cables between switches that work, by switch: what routing walks.
  struct Trunk {
    std::uint32_t arc;  // cable * 2 + direction (0: a to b) when leaving this switch
    std::uint32_t to;   // switch
  };
  std::vector<std::uint32_t> first_trunk;  // by switch; one more at the end
  std::vector<Trunk> trunks;
  std::span<const Trunk> trunks_of(std::uint32_t sw) const {
    return std::span{trunks}.subspan(first_trunk[sw], first_trunk[sw + 1] - first_trunk[sw]);
  }

  struct WayCache;  // network_ways.hpp
  std::shared_ptr<WayCache> cache;
};

}  // namespace linkcast::topologies
