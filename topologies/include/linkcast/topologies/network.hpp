// The switches and cables between machines, in flat arrays: a hundred thousand NIC ports and their cables are a few
// tens of MB. Answers where traffic goes: which cables carry it, how far it is. Knows no machine's inside, no
// collective and no NCCL choice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/models/network.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::topologies {

enum class PortId : std::uint32_t {};    // of a NIC, counted over all machines
enum class SwitchId : std::uint32_t {};  // "leaf[3]": see Network::name_of
enum class CableId : std::uint32_t {};

/// Buffer that a switch keeps for what still comes after it sent a pause (PFC), by rate of the port and cable length.
struct SwitchHeadroom {
  sim::Rate rate;
  double metres = 0;
  sim::Bytes size;
};

/// One kind of switch box ("qm9700").
struct SwitchModel {
  std::string name;
  int radix = 0;                              // 0: as many ports as are plugged in
  sim::Rate rate;                             // of one port
  sim::Time latency;                          // port to port
  bool sharp = false;                         // reduces in the network
  sim::Bytes buffer{0};                       // for packets, shared by its ports; 0: not known
  std::vector<SwitchHeadroom> headroom = {};  // by rate, then length; empty: not known
};

struct NetworkSwitch {
  std::uint16_t model = 0;  // index into Network::switch_models()
  std::uint8_t tier = 0;    // 0 leaf, 1 spine, 2 core; torus and dragonfly: 0
  bool up = true;
  std::int16_t rail = -1, plane = -1;  // -1: serves all
  std::int32_t group = -1;             // scalable unit, pod, dragonfly group
  std::int32_t index = 0;              // within its tier
};

/// What cables of one kind do; a changed cable (override) is a kind of its own.
struct CableModel {
  std::string name;   // "400 Gb/s"
  sim::Rate bare;     // one direction of one cable
  sim::Rate payload;  // after packet headers
  sim::Time latency;  // length and transceivers, one way
  std::string state = "up";
};

/// `count` parallel cables between two ends. An end below Network::ports() is a NIC port, else ports() + SwitchId.
struct Cable {
  std::uint32_t a = 0, b = 0;  // a: the end nearer to the machines
  std::uint16_t model = 0;     // index into Network::cable_models()
  std::uint16_t count = 1;
  bool up = true;
};

/// Where a port is: machine, NIC of the machine, port of the NIC.
struct PortPlace {
  int node = 0, nic = 0, port = 0;
};

/// A NIC: which machine of the whole network (Cluster::original_node), which of its NICs.
struct NicPlace {
  int node = 0, nic = 0;
  auto operator<=>(const NicPlace&) const = default;
};

class Network {
 public:
  struct Data;  // made by generators, the loader and importers (src/network_data.hpp)

  Network();  // none: one machine
  explicit Network(std::shared_ptr<const Data> data);

  bool empty() const;
  std::string_view generator() const;  // "ideal", "rail-optimised", …
  const models::NetworkModel& model() const;
  models::Routing routing() const;
  std::uint64_t seed() const;  // of the ECMP hash

  std::size_t ports() const;
  std::span<const NetworkSwitch> switches() const;
  std::span<const Cable> cables() const;
  std::span<const SwitchModel> switch_models() const;
  std::span<const CableModel> cable_models() const;
  PortPlace place(PortId port) const;
  /// The ports of a machine's NIC, in order.
  std::span<const PortId> ports_of(int node, int nic) const;
  std::string name_of(SwitchId s) const;             // "leaf[3]", "spine[0]", "core[7]", or the importer's name
  std::string name_of_end(std::uint32_t end) const;  // "node[17].nic[3]" or a switch's name

  /// The shortest way between two ports with nothing in the way.
  struct Way {
    int switches = 0;
    sim::Time latency;
  };
  std::optional<Way> way(PortId from, PortId to) const;
  /// The best of the ways that add() between these NICs uses.
  std::optional<Way> way(NicPlace from, NicPlace to) const;

  /// Called with the bytes that a cable carries in one direction (forward: a to b) for each byte sent.
  using Sink = std::function<void(CableId cable, bool forward, double weight)>;
  /// One flow from port to port. `flow` tells queue pairs apart where routing is by hash.
  /// False when nothing connects them.
  bool add(PortId from, PortId to, double weight, std::uint64_t flow, const Sink& sink) const;
  /// One flow from NIC to NIC. A NIC with several ports splits it evenly over those that are up and reach the other
  /// NIC, each to that NIC's nearest ports (two planes that never mix: port p to port p).
  bool add(NicPlace from, NicPlace to, double weight, std::uint64_t flow, const Sink& sink) const;
  /// Every port sends `weight` to every other one of `ports` (not to those of its own machine): expected loads, in time
  /// that grows with pairs of leaves and not with pairs of ports. False when some pair is not connected.
  /// The sum of add() over all pairs; under ECMP, what it is on average over hashes. A dragonfly's adaptive routing
  /// sees here all traffic at once and goes round only as far as that relieves the fullest cable.
  bool add_all_to_all(std::span<const PortId> ports, double weight, const Sink& sink) const;
  bool add_all_to_all(std::span<const NicPlace> nics, double weight, const Sink& sink) const;

  /// Every switch that these ports' traffic can meet reduces in the network.
  bool sharp() const;
  std::size_t estimated_memory_bytes() const;
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace linkcast::topologies
