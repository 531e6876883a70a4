// Clusters out of a few lines of YAML, and what a network carries, for the tests of networks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../topologies/src/cluster_data.hpp"
#include "../../topologies/src/loader.hpp"
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::topologies {

/// A machine with `nics` NICs of 400 Gb/s, two GPUs; then `rest`.
inline std::string machine_with(int nics, const std::string& rest) {
  return "schema: linkcast.topology/1\nnode:\n  host: xeon\n  cpus: {model: xeon-spr, count: 1}\n"
         "  gpus: {model: h100-sxm, count: 2}\n  nics: {model: connectx-7, count: " +
         std::to_string(nics) +
         "}\n  nvlink: {link: nvlink4, mesh: {all: 4}}\n"
         "  pcie: {link: pcie-gen5, trees: [{cpu: 0, gpus: 0-1, nics: 0-" +
         std::to_string(nics - 1) + "}]}\n" + rest;
}

inline Cluster cluster_of(const std::string& text, const ClusterOptions& options = {}) {
  return load_cluster_yaml(std::make_shared<SourceText>(SourceText{"test.yaml", text, false}), "test", options);
}

inline std::vector<sim::Diagnostic> problems_of(const std::string& text, const ClusterOptions& options = {}) {
  try {
    cluster_of(text, options);
  } catch (const sim::InputError& e) {
    return e.diagnostics();
  }
  return {};
}

/// Bytes by cable and direction.
struct Loads {
  std::map<std::pair<std::uint32_t, bool>, double> of;
  Network::Sink sink() {
    return [this](CableId c, bool forward, double w) { of[{static_cast<std::uint32_t>(c), forward}] += w; };
  }
};

inline double load(const Network& n, const Loads& loads, const std::string& from, const std::string& to) {
  double sum = 0;
  for (const auto& [key, bytes] : loads.of) {
    const auto& c = n.cables()[key.first];
    if (n.name_of_end(key.second ? c.a : c.b) == from && n.name_of_end(key.second ? c.b : c.a) == to) sum += bytes;
  }
  return sum;
}

inline int count_tier(const Network& n, int tier) {
  int out = 0;
  for (const auto& s : n.switches()) out += s.tier == tier ? 1 : 0;
  return out;
}

/// Cables (not bundles) whose lower end is in tier `below`; -1: NIC ports.
inline int count_cables(const Network& n, int below) {
  int out = 0;
  for (const auto& c : n.cables()) {
    const auto tier = [&](std::uint32_t e) {
      return e < n.ports() ? -1 : static_cast<int>(n.switches()[e - n.ports()].tier);
    };
    if (std::min(tier(c.a), tier(c.b)) == below) out += c.count;
  }
  return out;
}

/// What enters each switch leaves it again; what a NIC port sends arrives at others.
inline void check_conservation(const Network& n, const Loads& loads) {
  std::vector<double> balance(n.ports() + n.switches().size(), 0.0);
  double total = 0;
  for (const auto& [key, bytes] : loads.of) {
    const auto& c = n.cables()[key.first];
    balance[key.second ? c.a : c.b] -= bytes;
    balance[key.second ? c.b : c.a] += bytes;
    total += bytes;
  }
  double ports = 0;
  for (std::size_t i = 0; i < balance.size(); ++i) {
    if (i >= n.ports()) CHECK(std::abs(balance[i]) < 1e-9 * (1 + total));
    if (i < n.ports()) ports += balance[i];
  }
  CHECK(std::abs(ports) < 1e-9 * (1 + total));
}

}  // namespace linkcast::topologies
