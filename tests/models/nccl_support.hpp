// Systems for the tests of NCCL's choices: small machines built by hand, and the oracle's files.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "catch.hpp"
#include "linkcast/models/nccl/communicator.hpp"

namespace nccl_test {

using namespace linkcast::models::nccl;
namespace sim = linkcast::sim;

/// Catch2 2 and 3 name this matcher differently.
inline auto holds(const std::string& text) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(text);
#else
  return Catch::Matchers::Contains(text);
#endif
}

inline std::string data_file(const std::string& name) {
  const std::string path = std::string{LINKCAST_SOURCE_DIR} + "/tests/data/oracle/" + name;
  std::ifstream in{path};
  REQUIRE(in.good());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline System oracle_system(const std::string& topology) {
  return read_topology_xml(data_file("topologies/" + topology + ".xml"), topology + ".xml");
}

inline Communicator communicator(System system, const std::string& version = "2.30.7", int nodes = 1,
                                 std::initializer_list<std::pair<const char*, const char*>> env = {},
                                 bool multicast = true) {
  Config config;
  config.version = Version::parse(version);
  config.nodes = nodes;
  config.multicast = multicast;
  for (const auto& [name, value] : env) config.env.set(name, value);
  return Communicator{std::move(system), std::move(config)};
}

inline Call call(Op op, std::int64_t bytes) {
  Call c;
  c.op = op;
  c.bytes = sim::Bytes{bytes};
  return c;
}

inline std::string spelled(const Choice& c) {
  return std::string{name_of(c.algorithm)} + "/" + std::string{name_of(c.protocol)};
}

/// A machine of `sockets` CPUs; GPUs are dealt to them in order, each in a slot of its own (`pcie` GB/s).
inline System pcie_machine(int gpus, int sockets, int cc, double pcie, const std::string& vendor, int model) {
  System s;
  std::vector<int> cpus;
  for (int c = 0; c < sockets; ++c) {
    Node cpu;
    cpu.type = NodeType::cpu;
    cpu.id = c;
    cpu.arch = "x86_64";
    cpu.vendor = vendor;
    cpu.family = 6;
    cpu.model = model;
    cpus.push_back(s.add(cpu));
  }
  for (int g = 0; g < gpus; ++g) {
    Node gpu;
    gpu.type = NodeType::gpu;
    gpu.id = g;
    gpu.dev = gpu.rank = g;
    gpu.cc = cc;
    gpu.name = "GPU " + std::to_string(g);
    const int at = s.add(gpu);
    s.connect(at, cpus[static_cast<std::size_t>(g * sockets / gpus)], EdgeType::pci, pcie);
  }
  return s;
}

/// Adds `links` NVLinks between two GPUs.
inline void nvlink(System& s, int a, int b, int links) {
  const auto gpus = s.of_type(NodeType::gpu);
  const int from = gpus[static_cast<std::size_t>(a)], to = gpus[static_cast<std::size_t>(b)];
  s.connect(from, to, EdgeType::nvl, links * nvlink_GBps(s.nodes()[static_cast<std::size_t>(from)].cc));
}

/// The hybrid cube mesh of DGX-1V: two quads, each fully joined, and four links across (6 links a GPU).
inline System dgx1v() {
  auto s = pcie_machine(8, 2, 70, 12, "GenuineIntel", 79);
  const int pairs[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}, {4, 5, 1}, {4, 6, 1},
                          {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}, {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1}};
  for (const auto& p : pairs) nvlink(s, p[0], p[1], p[2]);
  return s;
}

}  // namespace nccl_test
