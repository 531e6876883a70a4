// What descriptions, checks and drawings share about a network: in which tier an end is, what tiers are called.
#pragma once

#include <cstdint>
#include <string>

#include "linkcast/topologies/cluster.hpp"
#include "network_data.hpp"

namespace linkcast::topologies {

/// Tier of a NIC's port.
inline constexpr int nic_tier = -1;

inline bool is_switch(const Network& n, std::uint32_t end) { return end >= n.ports(); }
inline std::size_t switch_of(const Network& n, std::uint32_t end) { return end - n.ports(); }
inline int tier_of(const Network& n, std::uint32_t end) {
  return is_switch(n, end) ? n.switches()[switch_of(n, end)].tier : nic_tier;
}

/// A network without tiers: a torus or a dragonfly.
inline bool is_direct(const Network& n) { return n.generator() == "dragonfly" || n.generator() == "torus"; }

/// "nic", "leaf", "spine", "core", "router", "tier4".
std::string tier_name(const Network& n, int tier);

/// Whether bytes flow over it: up, and so are the switches at its ends.
inline bool works(const Network& n, const Cable& c) {
  const auto up = [&](std::uint32_t end) { return !is_switch(n, end) || n.switches()[switch_of(n, end)].up; };
  return c.up && up(c.a) && up(c.b);
}

/// Sums of rates of whole networks: files may say 1000 TB/s of thousands of cables.
inline constexpr std::int64_t most_rate = std::int64_t{4} * 1'000'000'000'000'000'000;
inline std::int64_t sum_of(std::int64_t a, std::int64_t b) { return a > most_rate - b ? most_rate : a + b; }
inline std::int64_t rate_of(const Network::Data& d, const Cable& c) {
  const auto one = d.cable_models[c.model].bare.bytes_per_second();
  return one > most_rate / c.count ? most_rate : one * c.count;
}

/// As Network::name_of_end, with the host's name where there is one: "h017.nic[3]".
std::string end_name(const Cluster& cluster, std::uint32_t end);

}  // namespace linkcast::topologies
