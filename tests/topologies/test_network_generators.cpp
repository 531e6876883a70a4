// Generators: as many switches and cables as reference architectures say, every port wired within its switch's radix,
// every pair connected (or not, where rails are islands), and refusals that say what would fit.
#include <array>

#include "network_fixture.hpp"

using namespace linkcast;
using namespace linkcast::topologies;

namespace {

std::string dgx(const std::string& rest, const std::string& machine = "dgx-h100") {
  return "schema: linkcast.topology/1\nextends: " + machine + "\n" + rest;
}

struct Row {
  int units, nodes, leaves, spines, cores, leaf_cables, spine_cables;
};

/// No switch has more plugged in than its ports carry; every NIC port has one cable.
void check_ports(const Network& n) {
  std::vector<double> rate(n.switches().size(), 0.0);
  std::vector<int> cables(n.ports(), 0);
  for (const auto& c : n.cables()) {
    for (const auto e : {c.a, c.b}) {
      if (e < n.ports()) {
        cables[e] += c.count;
      } else {
        rate[e - n.ports()] += n.cable_models()[c.model].bare.GBps() * c.count;
      }
    }
  }
  for (std::size_t s = 0; s < rate.size(); ++s) {
    const auto& m = n.switch_models()[n.switches()[s].model];
    if (m.radix > 0) CHECK(rate[s] <= m.radix * m.rate.GBps() + 1e-6);
  }
  CHECK(std::ranges::all_of(cables, [](int c) { return c == 1; }));
}

void check_row(const Cluster& c, const Row& row) {
  INFO("units " << row.units);
  const auto& n = c.network();
  CHECK(c.nodes() == row.nodes);
  CHECK(count_tier(n, 0) == row.leaves);
  CHECK(count_tier(n, 1) == row.spines);
  CHECK(count_tier(n, 2) == row.cores);
  CHECK(count_cables(n, -1) == row.nodes * 8);
  CHECK(count_cables(n, 0) == row.leaf_cables);
  CHECK(count_cables(n, 1) == row.spine_cables);
  check_ports(n);
}

}  // namespace

// DGX SuperPOD H100 reference architecture, network fabrics: one machine's slot goes to UFM. Its table counts 252, 508,
// 764 and 1020 cables to leaves: four more than 8 for each machine, which are UFM's own.
TEST_CASE("SuperPOD H100: switches and cables of 1 to 4 scalable units", "[topologies][network]") {
  for (const Row& row : {Row{1, 31, 8, 4, 0, 256, 0}, Row{2, 63, 16, 8, 0, 512, 0}, Row{3, 95, 24, 16, 0, 768, 0},
                         Row{4, 127, 32, 16, 0, 1024, 0}}) {
    const auto c = cluster_of(dgx("nodes: " + std::to_string(row.nodes) +
                                  "\nnetwork: {type: rail_optimised, switch: qm9700, nodes_per_unit: 32}\n"));
    check_row(c, row);
    // With four units: two cables from each leaf to each spine.
    if (row.units == 4) CHECK(c.network().cables().back().count == 2);
    // NIC 3 of machine 40 is on leaf 3 of unit 1.
    if (row.units == 4) {
      const auto& cable = c.network().cables()[40 * 8 + 3];
      CHECK(c.network().name_of_end(cable.a) == "node[40].nic[3]");
      CHECK(c.network().name_of_end(cable.b) == "leaf[11]");
      CHECK(c.network().switches()[11].rail == 3);
      CHECK(c.network().switches()[11].group == 1);
    }
  }
}

// DGX SuperPOD B200 reference architecture: as many cables as GPUs at every tier.
TEST_CASE("SuperPOD B200: switches of 2 to 64 scalable units", "[topologies][network]") {
  for (const Row& row : {Row{2, 64, 16, 8, 0, 512, 0}, Row{4, 128, 32, 16, 0, 1024, 0}, Row{8, 256, 64, 32, 0, 2048, 0},
                         Row{16, 512, 128, 128, 64, 4096, 4096}, Row{32, 1024, 256, 256, 128, 8192, 8192},
                         Row{64, 2048, 512, 512, 256, 16384, 16384}}) {
    for (const auto* by : {"rail", "pod"}) {
      const auto c = cluster_of(
          dgx("nodes: " + std::to_string(row.nodes) +
                  "\nnetwork: {type: rail_optimised, switch: qm9700, nodes_per_unit: 32, spines_by: " + by + "}\n",
              "hgx-b200"));
      check_row(c, row);
    }
  }
}

// DGX SuperPOD B300 with Spectrum-X: each 800 Gb/s card has a 400 Gb/s port in each of two planes; units of 64.
TEST_CASE("SuperPOD B300, Spectrum-X: two planes", "[topologies][network]") {
  for (const Row& row : {Row{1, 64, 16, 8, 0, 0, 0}, Row{2, 128, 32, 16, 0, 0, 0}, Row{4, 256, 64, 32, 0, 0, 0},
                         Row{8, 512, 128, 64, 0, 0, 0}, Row{16, 1024, 256, 128, 0, 0, 0}}) {
    const auto c = cluster_of(dgx("nodes: " + std::to_string(row.nodes) +
                                      "\nnetwork: {fabric: roce, type: dual_plane, switch: sn5600, nodes_per_unit: 64, "
                                      "uplink_rate: 400 Gb/s}\n",
                                  "hgx-b300"));
    const auto& n = c.network();
    CHECK(count_tier(n, 0) == row.leaves);
    CHECK(count_tier(n, 1) == row.spines);
    CHECK(count_cables(n, -1) == row.nodes * 16);
    CHECK(n.ports_of(0, 0).size() == 2);
    CHECK(n.cable_models()[n.cables()[0].model].bare.GBps() == Approx(50));
    check_ports(n);
    // Planes never mix.
    CHECK(n.way(n.ports_of(0, 0)[0], n.ports_of(1, 0)[0]));
    CHECK_FALSE(n.way(n.ports_of(0, 0)[0], n.ports_of(1, 0)[1]));
  }
}

// DGX SuperPOD B300 XDR with Q3400 (144 x 800 Gb/s): units of 72. 4 units need 16 spines; 72 uplinks do not spread over
// 16, but over 18, which is what the table says. 8 units: 32, so 36.
TEST_CASE("SuperPOD B300, XDR: spines over which a leaf's uplinks spread evenly", "[topologies][network]") {
  for (const Row& row : {Row{1, 72, 8, 4, 0, 576, 0}, Row{2, 144, 16, 8, 0, 1152, 0}, Row{4, 288, 32, 18, 0, 2304, 0},
                         Row{8, 576, 64, 36, 0, 4608, 0}, Row{18, 1296, 144, 72, 0, 10368, 0}}) {
    check_row(cluster_of(dgx("nodes: " + std::to_string(row.nodes) +
                                 "\nnetwork: {type: rail_optimised, switch: q3400, nodes_per_unit: 72}\n",
                             "hgx-b300")),
              row);
  }
}

// Alibaba HPN 7.0 (SIGCOMM'24): 15 segments of 128 hosts; a ToR for each of 8 rails and 2 ports, 60 uplinks of 400
// Gb/s, one to each aggregation switch of its plane; those have 120 ports down and 8 up (15:1).
TEST_CASE("Alibaba HPN: 240 ToR and 120 aggregation switches in a pod", "[topologies][network]") {
  const std::string pod =
      "network: {fabric: roce, type: dual_plane, switch: tomahawk5, nodes_per_unit: 128, uplinks: 60, units_per_pod: "
      "15, "
      "spines_by: pod, oversubscription: [1.0667, 15]}\n";
  const auto c = cluster_of(dgx("nodes: 1920\n" + pod));
  const auto& n = c.network();
  CHECK(count_tier(n, 0) == 240);
  CHECK(count_tier(n, 1) == 120);
  CHECK(count_cables(n, -1) == 1920 * 16);
  CHECK(count_cables(n, 0) == 240 * 60);
  CHECK(count_tier(n, 2) == 0);
  check_ports(n);
  // Two pods: a core above.
  const auto two = cluster_of(dgx("nodes: 3840\n" + pod));
  CHECK(count_tier(two.network(), 0) == 480);
  CHECK(count_tier(two.network(), 1) == 240);
  CHECK(count_cables(two.network(), 1) == 240 * 8);
  check_ports(two.network());
  CHECK(two.network().way(NicPlace{0, 0}, NicPlace{3839, 0})->switches == 5);
}

// Al-Fares, Loukissas, Vahdat (SIGCOMM'08): k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4
// hosts.
TEST_CASE("k-ary fat tree", "[topologies][network]") {
  for (const int k : {4, 8}) {
    const int hosts = k * k * k / 4;
    const auto c =
        cluster_of(machine_with(1, "nodes: " + std::to_string(hosts) +
                                       "\nnetwork: {type: fat_tree, switch: qm9700, k: " + std::to_string(k) + "}\n"));
    const auto& n = c.network();
    CHECK(count_tier(n, 0) == k * k / 2);
    CHECK(count_tier(n, 1) == k * k / 2);
    CHECK(count_tier(n, 2) == k * k / 4);
    CHECK(count_cables(n, 0) == hosts);
    CHECK(count_cables(n, 1) == hosts);
    CHECK(n.way(NicPlace{0, 0}, NicPlace{1, 0})->switches == 1);
    CHECK(n.way(NicPlace{0, 0}, NicPlace{k / 2, 0})->switches == 3);
    CHECK(n.way(NicPlace{0, 0}, NicPlace{hosts - 1, 0})->switches == 5);
    const auto more =
        problems_of(machine_with(1, "nodes: " + std::to_string(hosts + 1) +
                                        "\nnetwork: {type: fat_tree, switch: qm9700, k: " + std::to_string(k) + "}\n"));
    REQUIRE(more.size() == 1);
    CHECK(more[0].help == "at most " + std::to_string(hosts) + " nodes");
  }
  // The NICs of a machine share a leaf: with k = 8 a leaf has 4 ports, one machine with 3 NICs.
  const auto c = cluster_of(machine_with(3, "nodes: 2\nnetwork: {type: fat_tree, switch: qm9700, k: 8}\n"));
  CHECK(c.network().way(NicPlace{0, 0}, NicPlace{0, 2})->switches == 1);
  CHECK(c.network().way(NicPlace{0, 0}, NicPlace{1, 0})->switches == 3);
}

TEST_CASE("leaf-spine with any oversubscription", "[topologies][network]") {
  // 4 machines with 2 NICs: 8 x 400 Gb/s down. 1:1 -> 8 uplinks; 4:1 -> 2; 1:2 -> 16.
  for (const auto& [ratio, uplinks] : std::map<std::string, int>{{"1", 8}, {"4", 2}, {"0.5", 16}}) {
    const auto c = cluster_of(machine_with(
        2, "nodes: 12\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, oversubscription: " + ratio +
               "}\n"));
    CHECK(count_tier(c.network(), 0) == 3);
    CHECK(count_cables(c.network(), 0) == 3 * uplinks);
    check_ports(c.network());
  }
  // Given spines: 8 uplinks over 3 spines are 3, 3 and 2, and each spine gets one 2 in turn.
  const auto c = cluster_of(
      machine_with(2, "nodes: 12\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, spines: 3}\n"));
  std::map<std::string, int> of_spine;
  for (const auto& cable : c.network().cables()) {
    if (cable.a >= c.network().ports()) of_spine[c.network().name_of_end(cable.b)] += cable.count;
  }
  CHECK(of_spine == std::map<std::string, int>{{"spine[0]", 8}, {"spine[1]", 8}, {"spine[2]", 8}});
}

TEST_CASE("rail-only: no way between rails", "[topologies][network]") {
  for (const int nodes : {16, 200}) {  // one leaf for each rail; leaves and spines for each rail
    const auto c =
        cluster_of(dgx("nodes: " + std::to_string(nodes) + "\nnetwork: {type: rail_only, switch: qm9700}\n"));
    const auto& n = c.network();
    CHECK(count_tier(n, 0) == (nodes == 16 ? 8 : 8 * 7));  // 200 machines, 32 below each leaf
    CHECK(count_tier(n, 1) == (nodes == 16 ? 0 : 8 * 4));  // 7 * 32 uplinks, 64 ports
    const NicPlace last{nodes - 1, 5};
    CHECK(n.way(NicPlace{0, 5}, last)->switches == (nodes == 16 ? 1 : 3));
    CHECK_FALSE(n.way(NicPlace{0, 4}, last));
    Loads loads;
    CHECK_FALSE(n.add(NicPlace{0, 4}, last, 1.0, 0, loads.sink()));
    const std::array both{NicPlace{0, 4}, NicPlace{1, 5}};
    CHECK_FALSE(n.add_all_to_all(both, 1.0, loads.sink()));
    CHECK(loads.of.empty());
  }
}

// Kim, Dally, Scott, Abts (ISCA'08): a routers in a group, all joined; with a*h = g - 1 every two groups have one
// cable.
TEST_CASE("dragonfly", "[topologies][network]") {
  const auto c = cluster_of(machine_with(1,
                                         "nodes: 72\nnetwork: {fabric: slingshot, type: dragonfly, switch: rosetta, "
                                         "routers_per_group: 4, nodes_per_router: 2}\n"));
  const auto& n = c.network();
  CHECK(n.switches().size() == 36);                // 9 groups
  CHECK(count_cables(n, 0) == 9 * 6 + 9 * 8 / 2);  // 4 routers: 6 pairs; 36 pairs of groups
  std::map<std::uint32_t, int> global;
  for (const auto& cable : n.cables()) {
    if (cable.a < n.ports()) continue;
    const auto a = cable.a - n.ports(), b = cable.b - n.ports();
    if (n.switches()[a].group != n.switches()[b].group)
      ++global[static_cast<std::uint32_t>(a)], ++global[static_cast<std::uint32_t>(b)];
  }
  for (const auto& [router, cables] : global) CHECK(cables == 2);  // 8 other groups, 4 routers
  CHECK(n.name_of(SwitchId{5}) == "router[5]");
  // Never farther than local, global, local: four routers.
  int farthest = 0;
  for (int node = 0; node < 72; ++node)
    farthest = std::max(farthest, n.way(NicPlace{0, 0}, NicPlace{node, 0})->switches);
  CHECK(farthest == 4);
}

TEST_CASE("torus", "[topologies][network]") {
  const auto c = cluster_of(machine_with(1, "nodes: 24\nnetwork: {type: torus, switch: qm9700, dims: [4, 3, 2]}\n"));
  const auto& n = c.network();
  CHECK(n.switches().size() == 24);
  CHECK(count_cables(n, 0) == 24 + 24 + 12);  // rings of 4 and 3, pairs
  // From (0,0,0) to (2,1,1), node 2 + 4 + 12: 2 + 1 + 1 cables, 5 routers.
  CHECK(n.way(NicPlace{0, 0}, NicPlace{18, 0})->switches == 5);
  CHECK(n.way(NicPlace{0, 0}, NicPlace{3, 0})->switches == 2);  // the ring closes
}

TEST_CASE("networks that cannot be built say what could", "[topologies][network]") {
  const auto problem = [](const std::string& rest) {
    const auto p = problems_of(rest);
    REQUIRE(p.size() == 1);
    return p[0].problem + " | " + p[0].help;
  };
  CHECK(problem(dgx("nodes: 9000\nnetwork: {type: rail_optimised, switch: qm9700}\n")) ==
        "9000 nodes need 72 groups of spines, but a core switch joins 64 | at most 8192 nodes with these switches");
  CHECK(problem(dgx("nodes: 3000\nnetwork: {type: rail_only, switch: qm9700}\n")) ==
        "3000 nodes, but the spines of one rail join at most 2048 | take fewer nodes, or type rail_optimised");
  CHECK(problem(dgx("nodes: 64\nnetwork: {type: rail_optimised, switch: qm9700, nodes_per_unit: 65}\n")) ==
        "1 ports of each node on a leaf, but qm9700 has 64 ports of 400 Gb/s | at most 64 nodes on a leaf");
  CHECK(problem(machine_with(1, "nodes: 28\nnetwork: {type: torus, switch: qm9700, dims: [3, 3, 3]}\n")) ==
        "28 nodes, but 27 routers of 1 take at most 27 | take fewer nodes, more routers or more nodes_per_router");
  CHECK_THAT(problem(machine_with(1, "nodes: 8\nnetwork: {type: torus, switch: qm9700, dims: [4000, 4000, 4000]}\n")),
             Catch::StartsWith("too large: "));
}
