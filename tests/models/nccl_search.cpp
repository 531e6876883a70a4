// The channel search on machines that the oracle does not have: meshes, PCIe, no P2P. Expected numbers come from
// arithmetic on the links or from logs of real machines (24 channels on four directly linked H100).
#include <algorithm>
#include <set>

#include "nccl_support.hpp"

using namespace nccl_test;

namespace {

System mesh(int gpus, int cc, int links) {
  auto s = pcie_machine(gpus, 2, cc, 24, "AuthenticAMD", 49);
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b) nvlink(s, a, b, links);
  }
  return s;
}

System behind_switches(int gpus, int per_switch, double pcie) {
  auto s = pcie_machine(0, 2, 80, pcie, "GenuineIntel", 106);
  const auto cpus = s.of_type(NodeType::cpu);
  int bridge = -1;
  for (int g = 0; g < gpus; ++g) {
    if (g % per_switch == 0) {
      Node n;
      n.type = NodeType::pci;
      bridge = s.add(n);
      s.connect(bridge, cpus[static_cast<std::size_t>(g * 2 / gpus)], EdgeType::pci, pcie);
    }
    Node n;
    n.type = NodeType::gpu;
    n.dev = n.rank = g;
    n.cc = 80;
    s.connect(s.add(n), bridge, EdgeType::pci, pcie);
  }
  return s;
}

void check_rings_and_trees(const Communicator& c) {
  for (int channel = 0; channel < c.channels().comm; ++channel) {
    auto ring = c.ring(channel);
    std::sort(ring.begin(), ring.end());
    for (int r = 0; r < c.ranks(); ++r) CHECK(ring[static_cast<std::size_t>(r)] == r);
    const auto parents = c.tree_parents(channel);
    REQUIRE(parents.size() == static_cast<std::size_t>(c.ranks()));
    CHECK(std::count(parents.begin(), parents.end(), -1) == 1);
    for (int r = 0; r < c.ranks(); ++r) {  // every rank climbs to the root
      int at = r, steps = 0;
      while (parents[static_cast<std::size_t>(at)] >= 0 && ++steps <= c.ranks())
        at = parents[static_cast<std::size_t>(at)];
      CHECK(steps <= c.ranks());
    }
  }
}

}  // namespace

TEST_CASE("DGX-1V: six rings of 20 GB/s over the hybrid cube mesh, on real links only", "[nccl]") {
  // Six NVLinks of 20 GB/s a GPU: six channels of 20, doubled to 12.
  const auto c = communicator(dgx1v());
  const auto& ring = c.graphs().at("RING");
  CHECK(ring.channels == 6);
  CHECK(ring.bw_intra == Approx(20));
  CHECK(ring.type_intra == PathType::nvl);
  CHECK(c.channels().comm == 12);
  check_rings_and_trees(c);
  // No pair of neighbours without a link, and no link with more rings than NVLinks in a direction.
  const int links[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                           {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                           {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  int used[8][8] = {};
  for (const auto& order : ring.intra) {
    for (std::size_t i = 0; i < 8; ++i) ++used[order[i]][order[(i + 1) % 8]];
  }
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) CHECK(used[a][b] <= links[a][b]);
  }
}

TEST_CASE("Four GPUs joined directly use 24 channels, as their logs say", "[nccl]") {
  const auto a100 = communicator(mesh(4, 80, 4));  // 4 x 20 GB/s to each of three: 12 rings of 20
  CHECK(a100.channels().search == 12);
  CHECK(a100.channels().comm == 24);
  const auto h100 = communicator(mesh(4, 90, 6));  // 6 x 20.6: six rings of 60, split into 12 of 30
  CHECK(h100.channels().comm == 24);
  CHECK(h100.graphs().at("RING").bw_intra == Approx(30));
  CHECK(h100.graphs().count("NVLS") == 0);
  check_rings_and_trees(h100);
  const std::set<std::vector<int>> different{h100.graphs().at("RING").intra.begin(),
                                             h100.graphs().at("RING").intra.end()};
  CHECK(different.size() > 1);
}

TEST_CASE("PCIe machines: the slowest hop decides", "[nccl]") {
  // Two sockets of Skylake or Ice Lake: 10 GB/s between them.
  const auto intel = communicator(pcie_machine(4, 2, 89, 24, "GenuineIntel", 106));
  CHECK(intel.graphs().at("RING").channels == 1);
  CHECK(intel.graphs().at("RING").bw_intra == Approx(10));
  CHECK(intel.graphs().at("RING").type_intra == PathType::sys);
  CHECK(intel.channels().comm == 2);
  // AMD: 16 between sockets, the ladder's next step is 15.
  const auto amd = communicator(pcie_machine(4, 2, 89, 24, "AuthenticAMD", 1));
  CHECK(amd.graphs().at("RING").bw_intra == Approx(15));
  // One Intel socket: 24 GB/s slots carry 6/5 of the bytes, 20 x 1.2 = 24.
  const auto single = communicator(pcie_machine(4, 1, 80, 24, "GenuineIntel", 106));
  CHECK(single.graphs().at("RING").bw_intra == Approx(20));
  CHECK(single.graphs().at("RING").type_intra == PathType::phb);
  check_rings_and_trees(intel);
}

TEST_CASE("P2P off sends PCIe peers through host memory", "[nccl]") {
  const auto with = communicator(behind_switches(4, 4, 24));
  CHECK(with.graphs().at("RING").type_intra == PathType::pix);
  CHECK(with.channels().search == 2);  // 24 GB/s once, split into two of 12
  const auto without = communicator(behind_switches(4, 4, 24), "2.30.7", 1, {{"NCCL_P2P_DISABLE", "1"}});
  CHECK(without.graphs().at("RING").type_intra == PathType::phb);
  // Four GPUs share the switch's uplink of 24 GB/s, each hop of 6/5 on it: 24 / (4 x 1.2) = 5.
  CHECK(without.graphs().at("RING").bw_intra == Approx(5));
  const auto by_level = communicator(behind_switches(4, 4, 24), "2.30.7", 1, {{"NCCL_P2P_LEVEL", "NVL"}});
  CHECK(by_level.graphs().at("RING").bw_intra == Approx(5));
}

TEST_CASE("What the search skips changes nothing", "[nccl][property]") {
  std::vector<std::pair<std::string, System>> machines;
  machines.emplace_back("dgx1v", dgx1v());
  machines.emplace_back("mesh 4 A100", mesh(4, 80, 4));
  machines.emplace_back("mesh 4 H100", mesh(4, 90, 6));
  machines.emplace_back("mesh 8", mesh(8, 80, 1));
  for (int n : {2, 4, 8}) {
    machines.emplace_back("intel " + std::to_string(n), pcie_machine(n, 2, 89, 24, "GenuineIntel", 106));
    machines.emplace_back("amd " + std::to_string(n), pcie_machine(n, 2, 89, 24, "AuthenticAMD", 1));
    machines.emplace_back("one socket " + std::to_string(n), pcie_machine(n, 1, 70, 12, "GenuineIntel", 85));
    machines.emplace_back("switches " + std::to_string(n), behind_switches(n, 4, 24));
  }
  for (const char* oracle : {"dgxa100", "dgxh100", "h100_4gpu", "b200_8x400", "gb200_1tray"}) {
    machines.emplace_back(oracle, oracle_system(oracle));
  }
  for (const auto& [name, system] : machines) {
    for (const char* version : {"2.12", "2.18.5", "2.30.7"}) {
      for (const char* p2p : {"0", "1"}) {
        Config config;
        config.version = Version::parse(version);
        config.env.set("NCCL_P2P_DISABLE", p2p);
        const bool network = !system.of_type(NodeType::net).empty();
        if (network && std::string{p2p} == "0") config.nodes = 4;
        const Communicator quick{system, config};
        config.exhaustive = true;
        const Communicator full{system, config};
        INFO(name << " on " << version << ", NCCL_P2P_DISABLE=" << p2p);
        REQUIRE(quick.graphs().size() == full.graphs().size());
        for (const auto& [key, a] : quick.graphs()) {
          const auto& b = full.graphs().at(key);
          CHECK(a.channels == b.channels);
          CHECK(a.bw_intra == b.bw_intra);
          CHECK(a.type_intra == b.type_intra);
          CHECK(a.pattern == b.pattern);
          CHECK(a.same_channels == b.same_channels);
          CHECK(a.cross_nic == b.cross_nic);
          CHECK(a.intra == b.intra);
          CHECK(a.inter == b.inter);
        }
      }
    }
  }
}

TEST_CASE("Rings over nodes keep to their rail; trees join all nodes", "[nccl]") {
  const auto c = communicator(oracle_system("dgxh100"), "2.30.7", 4);
  CHECK(c.ranks() == 32);
  check_rings_and_trees(c);
  CHECK(c.nvls_heads().size() == 8);
  for (int nodes : {2, 3, 5}) check_rings_and_trees(communicator(oracle_system("dgxa100"), "2.30.7", nodes));
}

TEST_CASE("Users may ask for fewer or more channels", "[nccl]") {
  const auto fewer = communicator(oracle_system("dgxh100"), "2.30.7", 1, {{"NCCL_MAX_NCHANNELS", "8"}});
  CHECK(fewer.channels().comm == 8);
  CHECK(fewer.channels().p2p == 8);
  const auto more = communicator(oracle_system("dgxh100"), "2.30.7", 1, {{"NCCL_MIN_NCHANNELS", "32"}});
  CHECK(more.channels().comm == 32);
  CHECK(more.ring(31) == more.ring(7));  // the first ones again
  CHECK(communicator(oracle_system("dgxh100"), "2.30.7", 1, {{"NCCL_NVLS_ENABLE", "0"}}).channels().nvls == 0);
  CHECK(communicator(oracle_system("dgxh100"), "2.30.7", 1, {}, false).graphs().count("NVLS") == 0);
  CHECK(communicator(oracle_system("dgxh100"), "2.30.7", 1, {{"NCCL_NVLS_NCHANNELS", "20"}}).channels().nvls == 20);
}

TEST_CASE("A machine that cannot work says why", "[nccl][errors]") {
  auto apart = pcie_machine(2, 1, 80, 24, "GenuineIntel", 106);
  Node gpu;
  gpu.type = NodeType::gpu;
  gpu.rank = gpu.dev = 2;
  gpu.cc = 80;
  gpu.name = "GPU far";
  apart.add(gpu);
  CHECK_THROWS_WITH(communicator(std::move(apart)), holds("no path from"));
  CHECK_THROWS_WITH(communicator(System{}), holds("no GPU"));
  CHECK_THROWS_WITH(communicator(pcie_machine(2, 1, 80, 24, "GenuineIntel", 106), "2.30.7", 2),
                    holds("no network port"));
}
