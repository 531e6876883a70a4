// The packet network as built: nodes, one-way links between them, what buffers each node has, and where a switch sends
// what. Fixed while a network runs. Knows no GPU, no NCCL, no YAML; names are whatever the builder calls things.
//
// A node is an endpoint (messages begin and end there) or a switch. A link is one direction of one cable together with
// its sending port. What a switch may do with a packet depends on the endpoint that it goes to: endpoints are grouped
// by the switch that they hang on (their `site`), and each switch has for each site the set of links that lead nearer.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "linkcast/sim/units.hpp"

namespace linkcast::sim::packet {

enum class NodeId : std::uint32_t {};
enum class LinkId : std::uint32_t {};     // one direction
enum class StationId : std::uint32_t {};  // see Fabric::add_station
inline constexpr NodeId no_node{std::numeric_limits<std::uint32_t>::max()};
inline constexpr LinkId no_link{std::numeric_limits<std::uint32_t>::max()};

/// How a switch takes one of several links that lead as near.
enum class Choice : std::uint8_t {
  hash,            // by a hash of flow, entropy and switch (ECMP; weights where given)
  by_destination,  // by the endpoint's number (InfiniBand's static routing)
  spray,           // packet by packet, in turn from a random start
  adaptive,        // the shortest queue, packet by packet
  flowlet,         // the shortest queue for a flow that paused for flowlet_gap, else the link it had
};

/// What holds a sender back that runs into a full buffer.
enum class FlowControl : std::uint8_t {
  none,    // nothing: what does not fit is dropped
  credit,  // a sender has as much credit as the receiver has room (InfiniBand, NVLink)
  pause,   // the receiver says stop and go (Ethernet PFC), for each lossless virtual lane
};

/// One class of traffic: an InfiniBand or NVLink virtual lane, an Ethernet priority.
struct VirtualLane {
  bool lossless = true;  // pause or credits apply
  bool strict = false;   // goes before all that are not; the others share by turns
  bool marks = true;     // ECN
};

/// RED on the length of an output queue: probability 0 below kmin, rising to pmax at kmax, 1 beyond.
struct Marking {
  bool on = false;
  Bytes kmin, kmax;
  double pmax = 1;
};

/// A node's buffers and what it does in congestion. Shared by all nodes of its kind.
struct NodeKind {
  std::string name;
  FlowControl control = FlowControl::none;  // of links that end here
  // credit: room for each input link and virtual lane
  Bytes input{0};
  // none, pause: one pool for all ports
  Bytes shared{std::numeric_limits<std::int64_t>::max() / 4};
  Bytes reserve{0};        // of each input link and lossless lane, before it takes from the pool
  Bytes headroom{0};       // of each input link and lossless lane: what still comes after the pause was sent
  double alpha = 1;        // an input may take alpha x the free part of the pool before it is paused
  Bytes resume_offset{0};  // goes on when it is that much below
  double lossy_alpha = 1;  // an output queue of a lossy lane may take that x the free part
  Marking marking;
  Choice choice = Choice::hash;
  Time flowlet_gap = Time::microseconds(100);
  bool trims = false;       // cuts the payload of what it would drop and sends the header on, in lane 0
  bool cut_through = true;  // may send on before a packet's tail is there, where no output is faster than its input
};

struct LinkSpec {
  NodeId from = no_node, to = no_node;
  Rate rate;     // of the wire, after coding: payload and headers
  Time delay;    // propagation and the far node's processing, after the head (cut-through) or the tail
  Bytes header;  // around every packet on this link
  double bit_error_rate = 0;
  bool link_retry = false;  // a damaged packet is sent again by the link itself, in order; else it is lost
};

class Fabric {
 public:
  /// At most 8 lanes. Lane 0 carries acknowledgements and notifications unless a transport says otherwise.
  explicit Fabric(std::vector<VirtualLane> lanes = {VirtualLane{}});

  std::uint16_t add_kind(NodeKind kind);
  NodeId add_endpoint(std::uint16_t kind);
  NodeId add_switch(std::uint16_t kind);
  LinkId add_link(const LinkSpec& link);
  /// Both directions; the one from a to b is returned and the other is the next number.
  LinkId add_cable(NodeId a, NodeId b, LinkSpec each);
  LinkId add_cable(NodeId a, NodeId b, LinkSpec there, LinkSpec back);
  /// What a NIC's packets go through in its host (PCIe, memory), shared by the flows that name it: a rate, no queue
  /// of its own. Receiving, what has not gone through yet fills the endpoint's buffer.
  StationId add_station(Rate rate, std::string name);

  /// Fills the routing tables: at every switch, for every site, all links on a shortest way. After the last link.
  /// `weight` (may be empty): of a link in weighted ECMP.
  void route_shortest(const std::function<unsigned(LinkId)>& weight = {});
  /// A packet changes to the next higher lane at every switch (the last lane keeps it), so that buffers cannot
  /// wait for each other in a circle where ways turn (torus, dragonfly): as many lanes as a way has links.
  void set_lane_by_hop(bool on) { lane_by_hop_ = on; }
  bool lane_by_hop() const { return lane_by_hop_; }
  /// Adaptive switches may send a packet round by a switch drawn at random where the shortest way has more than twice
  /// the queue (UGAL with local knowledge; Singh, Load-balanced routing in interconnection networks, 2005): what
  /// dragonflies need, whose shortest ways are few. Decided at a packet's first switch.
  void set_detours(bool on) { detours_ = on; }
  bool detours() const { return detours_; }
  /// Instead, or over that: the links that lead from `at` to the endpoints that hang on `site`.
  void set_route(NodeId at, NodeId site, std::span<const LinkId> links, std::span<const unsigned> weights = {});

  std::size_t nodes() const { return node_kind_.size(); }
  std::size_t links() const { return link_.size(); }
  std::size_t stations() const { return station_.size(); }
  bool is_endpoint(NodeId n) const { return endpoint_[index(n)] != 0; }
  const NodeKind& kind(NodeId n) const { return kinds_[node_kind_[index(n)]]; }
  std::uint16_t kind_index(NodeId n) const { return node_kind_[index(n)]; }
  std::span<const NodeKind> kinds() const { return kinds_; }
  const LinkSpec& link(LinkId l) const { return link_[index(l)]; }
  Rate station_rate(StationId s) const { return station_[static_cast<std::size_t>(s)]; }
  std::span<const VirtualLane> lanes() const { return lanes_; }
  std::span<const LinkId> out_links(NodeId n) const;  // in the order of their numbers; valid after route_shortest
  /// The links by which `at` sends to an endpoint; empty where it cannot.
  std::span<const LinkId> routes(NodeId at, NodeId endpoint) const;

  /// Where a node stands in the routing tables; 2^32 - 1: nowhere.
  struct TablePlace {
    std::size_t row;         // a switch's first entry
    std::uint32_t site;      // a switch's own, where endpoints hang on it
    std::uint32_t hangs_on;  // an endpoint's site
    LinkId last_link;        // from there to it
  };
  TablePlace tables_of(NodeId n) const;

  /// The other direction of a cable made by add_cable; else no_link.
  LinkId reverse(LinkId l) const { return reverse_[index(l)]; }

  /// For messages and statistics.
  std::function<std::string(LinkId)> link_name;
  std::function<std::string(NodeId)> node_name;
  std::string name_of(LinkId l) const;
  std::string name_of(NodeId n) const;

  /// Throws InputError with everything that cannot work: a buffer smaller than a packet of `mtu` payload, headroom
  /// larger than the buffer, a switch's threshold that never resumes, a rate of 0.
  void check(Bytes mtu) const;
  /// Of the receiver of that link under pause: less would lose packets (check refuses it).
  Bytes headroom_needed(LinkId l, Bytes mtu) const;
  std::size_t estimated_memory_bytes() const;

 private:
  friend class Partition;  // walks the tables for every packet
  template <class Id>
  static std::size_t index(Id id) {
    return static_cast<std::size_t>(id);
  }
  struct Group {  // links to choose from
    std::uint32_t first = 0, count = 0;
    bool weighted = false;
  };
  std::uint32_t group_of(std::span<const LinkId> links, std::span<const unsigned> weights);

  std::vector<VirtualLane> lanes_;
  bool lane_by_hop_ = false, detours_ = false;
  std::vector<NodeKind> kinds_;
  std::vector<std::uint16_t> node_kind_;
  std::vector<std::uint8_t> endpoint_;
  std::vector<LinkSpec> link_;
  std::vector<LinkId> reverse_;
  std::vector<Rate> station_;
  std::vector<std::string> station_name_;

  std::vector<std::uint32_t> first_out_;  // by node; one more at the end
  std::vector<LinkId> out_;
  std::vector<std::uint32_t> switch_index_;  // by node: among switches
  std::vector<std::uint32_t> site_;          // by endpoint node: index of the site
  std::vector<LinkId> last_link_;            // by endpoint node: from its site to it
  std::vector<std::uint32_t> site_of_switch_;
  std::uint32_t sites_ = 0, switches_ = 0;
  std::vector<std::uint32_t> table_;  // [switch][site] -> group; 0: none
  std::vector<Group> groups_;
  std::vector<LinkId> group_links_;
  std::vector<std::uint32_t> group_weights_;  // cumulative, parallel to group_links_
  std::multimap<std::uint64_t, std::uint32_t> group_by_hash_;
};

}  // namespace linkcast::sim::packet
