// Which one of several equally short ways a switch takes when it does not split: ECMP by a hash of the flow, or a
// forwarding table by destination. Knows no search.
#pragma once

#include <algorithm>

#include "network_data.hpp"
#include "network_ways.hpp"

namespace linkcast::topologies {

inline bool splits(models::Routing r) { return r == models::Routing::adaptive || r == models::Routing::spray; }

/// A bijection of 64 bits that leaves no pattern (the finaliser of SplitMix64; Steele, Lea, Flood 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// What stands for a five-tuple: both ends and the queue pair.
constexpr std::uint64_t hash_of(std::uint64_t seed, std::uint64_t flow, PortId from, PortId to) {
  const auto ends = (std::uint64_t{static_cast<std::uint32_t>(from)} << 32) | static_cast<std::uint32_t>(to);
  return scramble(scramble(scramble(seed) ^ ends) ^ flow);
}

/// The place of a port in a forwarding table: leaf by leaf, port by port, so that neighbours under a leaf take
/// different uplinks (d-mod-k).
struct Destination {
  std::uint64_t key;
  std::uint64_t uplinks;  // of its leaf

  Destination(const Network::Data& d, PortId port) {
    const auto ports = static_cast<std::uint32_t>(d.places.size());
    const auto end = d.end(port);
    key = static_cast<std::uint64_t>(port);
    uplinks = 1;
    for (auto i = d.first_arc[end]; i < d.first_arc[end + 1]; ++i) {
      const auto arc = d.arcs[i];
      const auto& c = d.cables[arc / 2];
      const auto leaf = (arc & 1) != 0 ? c.a : c.b;
      if (leaf < ports) return;
      const auto begin = d.arcs.begin() + d.first_arc[leaf], last = d.arcs.begin() + d.first_arc[leaf + 1];
      const auto is_port = [&](std::uint32_t x) {
        return ((x & 1) != 0 ? d.cables[x / 2].a : d.cables[x / 2].b) < ports;
      };
      const auto below = static_cast<std::uint64_t>(std::count_if(begin, last, is_port));
      const auto before = static_cast<std::uint64_t>(std::count_if(begin, std::find(begin, last, arc ^ 1), is_port));
      key = before + below * static_cast<std::uint64_t>(d.switches[leaf - ports].index);
      uplinks = 0;
      for (const auto& t : d.trunks_of(leaf - ports)) uplinks += d.cables[t.arc / 2].count;
      uplinks = std::max<std::uint64_t>(uplinks, 1);
      return;
    }
  }

  /// A number for switch `from` on its way to `to`. Upwards a digit of the key for each tier, so that what one tier
  /// brought together the next spreads again; downwards and sideways the lowest digit, for parallel cables.
  std::uint64_t number(const Network::Data& d, std::uint32_t from, std::uint32_t to) const {
    auto k = key;
    if (d.switches[to].tier > d.switches[from].tier) {
      for (int t = 0; t < d.switches[from].tier; ++t) k /= uplinks;
    }
    return k;
  }
};

class Chooser {
 public:
  Chooser(const Network::Data& d, PortId from, PortId to, std::uint64_t flow)
      : d_{d}, hash_{hash_of(d.seed, flow, from, to)} {
    if (d.routing == models::Routing::by_destination) destination_.emplace(d, to);
  }

  /// `Arcs`: arcs with a member `arc`, not empty. Each of a bundle's cables is a choice; `which`: the one of the
  /// bundle.
  template <typename Arcs>
  const auto& choose(std::uint32_t at, const Arcs& arcs, std::uint32_t* which = nullptr) const {
    std::uint64_t cables = 0;
    for (const auto& a : arcs) cables += d_.cables[a.arc / 2].count;
    const auto& first = d_.cables[arcs[0].arc / 2];
    const auto next = ((arcs[0].arc & 1) == 0 ? first.b : first.a) - static_cast<std::uint32_t>(d_.places.size());
    // Switches have hash seeds of their own: the same seed everywhere would send on all that met on one spine together.
    auto n = destination_ ? destination_->number(d_, at, next) : scramble(hash_ ^ at);
    n %= cables;
    for (const auto& a : arcs) {
      const auto count = d_.cables[a.arc / 2].count;
      if (n < count) {
        if (which) *which = static_cast<std::uint32_t>(n);
        return a;
      }
      n -= count;
    }
    return arcs[0];
  }

 private:
  const Network::Data& d_;
  std::uint64_t hash_;
  std::optional<Destination> destination_;
};

/// The cables between the switches of two ports, where routing takes one at a time: their arcs, and which of a bundle.
template <typename F>
void each_chosen(const Network::Data& d, const Ways& ways, PortId from, PortId to, std::uint64_t flow, F f) {
  const Chooser chooser{d, from, to, flow};
  for (std::size_t n = 0; n + 1 < ways.nodes.size();) {
    std::uint32_t which = 0;
    const auto& arc = chooser.choose(ways.nodes[n].sw, ways.arcs_of(n), &which);
    f(arc.arc, which);
    n = arc.to;
  }
}

}  // namespace linkcast::topologies
