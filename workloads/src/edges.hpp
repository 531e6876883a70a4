// One hop of a schedule, between any two ranks of a cluster. Inside a machine it is a lane; between machines the SMs
// copy into a buffer that a NIC reads (over NVLink first, where NCCL takes another GPU's NIC: PXN), and the NIC's way
// to the buffer at the other end is a step of its own. Knows nothing of algorithms.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "costs.hpp"
#include "lanes.hpp"
#include "linkcast/models/network.hpp"
#include "linkcast/sim/program.hpp"
#include "linkcast/workloads/packets.hpp"
#include "rates.hpp"

namespace linkcast::workloads {

/// What the time of one hop depends on, without its links.
struct EdgeTime {
  bool network = false;
  sim::Time hop;      // direct: the protocol's hand-over and the route; network: post to completion, with the switches
  sim::Time message;  // network: what each message occupies its way besides its bytes
  auto operator<=>(const EdgeTime&) const = default;
};

/// A hop between machines: NCCL's choice of NICs, and what tells its queue pairs from others where routing is by hash.
struct NetUse {
  models::nccl::NetEdge edge;
  std::uint64_t flow = 0;
};

class Edges {
 public:
  /// `packets`: connections get their ways through that; null: they have none.
  Edges(const topologies::Cluster& cluster, const models::nccl::Version& version, const models::nccl::Environment& env,
        const Packets* packets = nullptr);
  Edges(const Edges&) = delete;

  int locals() const { return locals_; }
  int node_of(int rank) const { return rank / locals_; }
  int local_of(int rank) const { return rank % locals_; }

  /// Inside a machine: `from` and `to` are its local ranks.
  const Lane& lane(int node, int from, int to) const;
  /// The lane's links as resources of the cluster.
  std::vector<sim::Usage> placed(int node, const Lane& lane, double weight) const;
  void add_lane(UsageSum& sum, int node, int from, int to, double weight) const;

  /// The NIC's part of a hop between machines: PCIe, cables, PCIe. Throws sim::InputError where nothing connects them.
  void add_wire(UsageSum& sum, const NetUse& use, double weight) const;
  std::vector<sim::Usage> wire(const NetUse& use) const;
  /// Its parts: PCIe at the sender, PCIe at the receiver; and the NICs, as the network names them.
  void add_sender(UsageSum& sum, const NetUse& use, double weight) const;
  void add_receiver(UsageSum& sum, const NetUse& use, double weight) const;
  topologies::NicPlace sending_nic(const NetUse& use) const;
  topologies::NicPlace receiving_nic(const NetUse& use) const;
  /// The SMs' part: nothing, or NVLink to the GPU whose NIC is taken.
  void add_relay(UsageSum& sum, const NetUse& use, double weight) const;
  std::vector<sim::Usage> relay(const NetUse& use, double weight) const;

  /// How a connection's bytes travel as packets: over a lane; by NICs; over NVLink to the GPU whose NIC is taken. Empty
  /// where that is not packets, or the order of the links is not known.
  std::vector<sim::packet::Part> lane_parts(int node, int from, int to, double weight) const;
  std::vector<sim::packet::Part> wire_parts(const NetUse& use, double weight) const;
  std::vector<sim::packet::Part> relay_parts(const NetUse& use, double weight) const;
  /// Notes them with the program.
  static void travel(sim::ChunkProgram& program, sim::ConnectionId connection, std::vector<sim::packet::Part> parts);

  EdgeTime time(const Lane& lane, const Costs& costs) const;
  EdgeTime time(const NetUse& use, const Costs& costs) const;
  /// The same without cables and switches.
  EdgeTime nic_time(const NetUse& use, const Costs& costs) const;

 private:
  struct NicRoute {
    std::vector<sim::Usage> usages;  // in the machine's own numbers
    sim::Time latency;
  };
  const NicRoute& nic_route(int node, int gpu, int nic, bool out, bool staged) const;
  int nic_of(int node, int net) const;
  bool staged(bool gdr) const { return !(gdr && cluster_.network().model().gpudirect); }
  using Sink = std::function<void(sim::ResourceId, double)>;
  const NicRoute& sender_route(const NetUse& use) const;
  const NicRoute& receiver_route(const NetUse& use) const;
  void each_wire_usage(const NetUse& use, double weight, const Sink& sink) const;

  const topologies::Cluster& cluster_;
  const Packets* packets_;
  std::vector<std::unique_ptr<Lanes>> lanes_;            // by kind of machine
  std::vector<std::vector<topologies::DeviceId>> nics_;  // by kind
  std::vector<std::vector<int>> nic_of_net_;             // by kind: NCCL's NET nodes -> index among nics_
  int locals_ = 0;
  int queue_pairs_ = 1;  // of one connection: they share its messages evenly
  mutable std::map<std::tuple<int, int, int, bool, bool>, NicRoute> routes_;
};

/// Connects agents of a chunk program by hops. A network hop gets an agent for its NIC between the two.
class Connector {
 public:
  Connector(sim::ChunkProgram& program, const Edges& edges, const models::NetworkModel& network, const Costs& costs,
            int slots)
      : program_{program}, edges_{edges}, network_{network}, costs_{costs}, slots_{slots} {}

  /// The connection that the sender fills and the one that the receiver empties; the same inside a machine.
  struct Ends {
    sim::ConnectionId send, receive;
  };
  Ends inside(int node, int from, int to, sim::AgentId sender, sim::AgentId receiver);
  /// Several uses: the bytes are spread evenly over them. `units` and `bytes_at`: what the sender puts in, in order.
  /// Hops with equal `pattern` must have equal units.
  Ends across(std::span<const NetUse> uses, sim::AgentId sender, sim::AgentId receiver, std::int64_t units,
              std::function<sim::Bytes(std::int64_t)> bytes_at, std::uint32_t pattern);

 private:
  sim::ConnectionId add(sim::AgentId from, sim::AgentId to, sim::Time latency, std::vector<sim::Usage> usages,
                        std::vector<sim::packet::Part> parts);

  sim::ChunkProgram& program_;
  const Edges& edges_;
  const models::NetworkModel& network_;
  const Costs& costs_;
  int slots_;
  int nic_kind_ = -1;
};

}  // namespace linkcast::workloads
