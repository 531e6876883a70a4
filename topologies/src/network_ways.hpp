// All shortest ways between two switches, as a graph in order from one to the other. Found by a search from both ends
// that stops where they meet, so that two leaves under one spine cost their uplinks and not the whole network. Knows
// no port, no flow and no routing policy.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "network_data.hpp"

namespace linkcast::topologies {

struct Ways {
  struct Node {
    std::uint32_t sw;
    std::uint32_t first;  // its arcs: up to the first of the next node
  };
  struct Arc {
    std::uint32_t arc;  // cable * 2 + direction (0: a to b)
    std::uint32_t to;   // index into nodes
    double share;       // of the traffic, split evenly over cables at every switch
  };
  std::vector<Node> nodes;  // by distance from the first; the last is the destination
  std::vector<Arc> arcs;
  Network::Way way;  // from entering the first switch to leaving the last

  std::span<const Arc> arcs_of(std::size_t node) const {
    const auto end = node + 1 < nodes.size() ? nodes[node + 1].first : arcs.size();
    return std::span{arcs}.subspan(nodes[node].first, end - nodes[node].first);
  }
};

class Detours;  // network_detours.hpp

/// Ways that were asked for, dropped together when they grow past a bound, and the scratch space of the search.
struct Network::Data::WayCache {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Ways>> between;  // null: no way
  std::size_t arcs = 0;

  struct Side {
    std::vector<std::uint32_t> stamp, level;  // by switch; level is valid where stamp is this search's
    std::vector<std::vector<std::uint32_t>> levels;
  };
  Side from_a, from_b, on_way;
  std::vector<std::uint32_t> position;  // by switch, in Ways::nodes
  std::uint32_t search = 0;

  std::once_flag detours_found;
  std::shared_ptr<const Detours> detours;
};

/// Null where nothing connects them. `a` and `b` are up.
std::shared_ptr<const Ways> ways_between(const Network::Data& d, std::uint32_t a, std::uint32_t b);

/// The cable of a port that works, seen from the port.
struct Plug {
  std::uint32_t arc;  // cable * 2 + direction (0: a to b) when leaving the port
  std::uint32_t to;   // end
};
std::optional<Plug> plug(const Network::Data& d, PortId port);

/// How a NIC's traffic to another NIC splits over their ports.
struct PortPair {
  PortId from, to;
  double share;
};
std::vector<PortPair> pairs_of(const Network& network, NicPlace from, NicPlace to);

}  // namespace linkcast::topologies
