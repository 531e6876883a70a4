// Where traffic goes: loads derived by hand, conservation at every switch, uniform traffic against the sum of its
// pairs.
#include <numeric>
#include <set>

#include "network_fixture.hpp"

using namespace linkcast;
using namespace linkcast::topologies;

namespace {

/// 8 machines of one NIC, 4 below each of two leaves, 4 uplinks over 2 spines: 2 cables from each leaf to each spine.
std::string two_leaves(const std::string& routing) {
  return machine_with(
      1, "nodes: 8\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, spines: 2, routing: " + routing +
             "}\n");
}

std::vector<NicPlace> all_nics(const Network& n, int nodes, int nics) {
  std::vector<NicPlace> out;
  (void)n;
  for (int node = 0; node < nodes; ++node) {
    for (int nic = 0; nic < nics; ++nic) out.push_back({node, nic});
  }
  return out;
}

/// add_all_to_all is the sum of add() over all pairs of different machines.
void check_sum_of_pairs(const Network& n, const std::vector<NicPlace>& nics) {
  Loads sum, at_once;
  bool connected = true;
  for (const auto& p : nics) {
    for (const auto& q : nics) {
      if (p.node != q.node) connected = n.add(p, q, 0.25, 0, sum.sink()) && connected;
    }
  }
  REQUIRE(n.add_all_to_all(nics, 0.25, at_once.sink()) == connected);
  REQUIRE(connected);
  check_conservation(n, at_once);
  for (const auto& [key, bytes] : sum.of) {
    INFO(n.name_of_end(n.cables()[key.first].a) << " - " << n.name_of_end(n.cables()[key.first].b));
    CHECK(at_once.of[key] == Approx(bytes));
  }
  for (const auto& [key, bytes] : at_once.of) CHECK(sum.of.contains(key));
}

}  // namespace

TEST_CASE("an even split over spines", "[topologies][network]") {
  const auto c = cluster_of(two_leaves("adaptive"));
  const auto& n = c.network();
  Loads loads;
  REQUIRE(n.add(NicPlace{0, 0}, NicPlace{5, 0}, 6.0, 7, loads.sink()));
  // 6 bytes: all on both NIC cables, half over each spine; a bundle of two cables is one resource.
  CHECK(load(n, loads, "node[0].nic[0]", "leaf[0]") == 6);
  CHECK(load(n, loads, "leaf[0]", "spine[0]") == 3);
  CHECK(load(n, loads, "leaf[0]", "spine[1]") == 3);
  CHECK(load(n, loads, "spine[0]", "leaf[1]") == 3);
  CHECK(load(n, loads, "leaf[1]", "node[5].nic[0]") == 6);
  CHECK(loads.of.size() == 6);
  check_conservation(n, loads);
  // Below one leaf nothing goes up.
  Loads local;
  REQUIRE(n.add(NicPlace{0, 0}, NicPlace{3, 0}, 1.0, 0, local.sink()));
  CHECK(local.of.size() == 2);
}

TEST_CASE("a cable or a spine that is down takes its share elsewhere", "[topologies][network]") {
  const auto c =
      cluster_of(two_leaves("adaptive") + "overrides:\n  - {link: \"leaf[0]-spine[0]\", state: down, count: 1}\n");
  const auto& n = c.network();
  Loads up, down;
  REQUIRE(n.add(NicPlace{0, 0}, NicPlace{5, 0}, 6.0, 0, up.sink()));
  REQUIRE(n.add(NicPlace{5, 0}, NicPlace{0, 0}, 6.0, 0, down.sink()));
  // Three uplinks are left, each takes a third: spine 0 by one of them, spine 1 by two.
  CHECK(load(n, up, "leaf[0]", "spine[0]") == Approx(2));
  CHECK(load(n, up, "leaf[0]", "spine[1]") == Approx(4));
  // On the way back leaf 1 knows nothing of it and splits in two; spine 0 brings its half over one cable.
  CHECK(load(n, down, "leaf[1]", "spine[0]") == Approx(3));
  CHECK(load(n, down, "spine[0]", "leaf[0]") == Approx(3));

  const auto dead = cluster_of(two_leaves("adaptive") + "overrides: [{switch: \"spine[1]\", state: down}]\n");
  Loads all;
  REQUIRE(dead.network().add(NicPlace{0, 0}, NicPlace{5, 0}, 6.0, 0, all.sink()));
  CHECK(load(dead.network(), all, "leaf[0]", "spine[0]") == 6);
  const auto cut =
      cluster_of(two_leaves("adaptive") +
                 "overrides: [{switch: \"spine[1]\", state: down}, {link: \"leaf[1]-spine[0]\", state: down}]\n");
  CHECK_FALSE(cut.network().way(NicPlace{0, 0}, NicPlace{5, 0}));
  CHECK(cut.network().way(NicPlace{4, 0}, NicPlace{5, 0}));
}

TEST_CASE("ECMP: one way for each flow, all ways over many", "[topologies][network]") {
  const auto c = cluster_of(two_leaves("ecmp"));
  const auto& n = c.network();
  CHECK(count_cables(n, 0) == 8);
  std::map<std::string, int> spines;
  for (std::uint64_t flow = 0; flow < 400; ++flow) {
    Loads one, again;
    REQUIRE(n.add(NicPlace{0, 0}, NicPlace{5, 0}, 1.0, flow, one.sink()));
    REQUIRE(n.add(NicPlace{0, 0}, NicPlace{5, 0}, 1.0, flow, again.sink()));
    CHECK(one.of == again.of);
    CHECK(one.of.size() == 4);  // four cables, each with all of it: bundles are single cables here
    for (const auto& [key, bytes] : one.of) CHECK(bytes == 1.0);
    for (const auto* s : {"spine[0]", "spine[1]"}) spines[s] += load(n, one, "leaf[0]", s) > 0 ? 1 : 0;
  }
  // Binomial, n = 400, p = 1/2: 200 +- 10; five deviations.
  CHECK(spines["spine[0]"] + spines["spine[1]"] == 400);
  CHECK(std::abs(spines["spine[0]"] - 200) < 50);
  // Another seed is another deal.
  const auto other = cluster_of(machine_with(1,
                                             "nodes: 8\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, "
                                             "spines: 2, routing: ecmp, seed: 2}\n"));
  int differ = 0;
  for (std::uint64_t flow = 0; flow < 64; ++flow) {
    Loads a, b;
    n.add(NicPlace{0, 0}, NicPlace{5, 0}, 1.0, flow, a.sink());
    other.network().add(NicPlace{0, 0}, NicPlace{5, 0}, 1.0, flow, b.sink());
    differ += a.of != b.of ? 1 : 0;
  }
  CHECK(differ > 10);
}

TEST_CASE("by destination: a shift permutation never collides", "[topologies][network]") {
  // d-mod-k (Zahavi 2010): in a fat tree that is not oversubscribed, when machine i sends to i + s for all i, no cable
  // carries two flows. 16 machines, k = 4: three tiers.
  const auto c = cluster_of(
      machine_with(1, "nodes: 16\nnetwork: {type: fat_tree, switch: qm9700, k: 4, routing: by_destination}\n"));
  const auto& n = c.network();
  for (int shift = 1; shift < 16; ++shift) {
    Loads loads;
    for (int i = 0; i < 16; ++i) REQUIRE(n.add(NicPlace{i, 0}, NicPlace{(i + shift) % 16, 0}, 1.0, 0, loads.sink()));
    for (const auto& [key, bytes] : loads.of) {
      INFO("shift " << shift << " " << n.name_of_end(n.cables()[key.first].a) << " - "
                    << n.name_of_end(n.cables()[key.first].b));
      CHECK(bytes == 1.0);
    }
  }
}

TEST_CASE("two planes: a NIC's traffic takes both, and one where the other is cut", "[topologies][network]") {
  const std::string text =
      "schema: linkcast.topology/1\nextends: hgx-b300\nnodes: 4\nnetwork: {type: dual_plane, "
      "switch: sn5600, uplink_rate: 400 Gb/s, nodes_per_unit: 2}\n";
  const auto c = cluster_of(text);
  const auto& n = c.network();
  Loads loads;
  REQUIRE(n.add(NicPlace{0, 0}, NicPlace{3, 0}, 1.0, 0, loads.sink()));
  // Plane 0 has leaves 0 to 15 (two units, eight rails), plane 1 the other 16.
  CHECK(load(n, loads, "node[0].nic[0].port[0]", "leaf[0]") == 0.5);
  CHECK(load(n, loads, "node[0].nic[0].port[1]", "leaf[16]") == 0.5);
  CHECK(load(n, loads, "leaf[8]", "node[3].nic[0].port[0]") == 0.5);
  check_conservation(n, loads);

  const auto cut = cluster_of(text + "overrides: [{nic: \"node[3].nic[0].port[1]\", state: down}]\n");
  Loads rest;
  REQUIRE(cut.network().add(NicPlace{0, 0}, NicPlace{3, 0}, 1.0, 0, rest.sink()));
  CHECK(load(cut.network(), rest, "node[0].nic[0].port[0]", "leaf[0]") == 1);
  CHECK(load(cut.network(), rest, "node[0].nic[0].port[1]", "leaf[16]") == 0);
  check_sum_of_pairs(cut.network(), all_nics(cut.network(), 4, 8));
}

TEST_CASE("uniform traffic by hand", "[topologies][network]") {
  const auto c = cluster_of(two_leaves("adaptive"));
  const auto& n = c.network();
  Loads loads;
  REQUIRE(n.add_all_to_all(all_nics(n, 8, 1), 1.0, loads.sink()));
  // Each of 8 sends 1 to 7 others. From leaf 0: 4 senders * 4 receivers = 16 over two spines.
  CHECK(load(n, loads, "node[2].nic[0]", "leaf[0]") == 7);
  CHECK(load(n, loads, "leaf[1]", "node[6].nic[0]") == 7);
  CHECK(load(n, loads, "leaf[0]", "spine[1]") == 8);
  CHECK(load(n, loads, "spine[1]", "leaf[0]") == 8);
}

TEST_CASE("uniform traffic is the sum of its pairs", "[topologies][network]") {
  const std::vector<std::string> networks{
      "{type: ideal}",
      "{type: rail_optimised, switch: qm9700, nodes_per_unit: 2, spines: 2}",
      "{type: rail_optimised, switch: edr-36, nodes_per_unit: 2, core: true, uplink_rate: 100 Gb/s}",
      "{type: leaf_spine, switch: qm9700, nodes_per_leaf: 2, oversubscription: 2}",
      "{type: fat_tree, switch: qm9700, k: 4, routing: by_destination}",
      "{type: leaf_spine, switch: qm9700, nodes_per_leaf: 2, routing: by_destination}",
      "{type: dual_plane, switch: sn5600, nodes_per_unit: 2}",
      "{type: dragonfly, switch: rosetta, routers_per_group: 2, nodes_per_router: 1, routing: by_destination}",
      "{type: torus, switch: qm9700, dims: [3, 2]}",
  };
  for (const auto& network : networks) {
    INFO(network);
    const auto c = cluster_of(machine_with(2, "nodes: 6\nnetwork: " + network + "\n"));
    const auto& n = c.network();
    check_sum_of_pairs(n, all_nics(n, 6, 2));
    check_sum_of_pairs(n, {{5, 1}, {0, 0}, {3, 1}, {3, 0}});
  }
  // With faults, so that nothing is symmetric.
  const auto c =
      cluster_of(machine_with(2,
                              "nodes: 6\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 2, spines: 2}\n"
                              "overrides:\n  - {switch: \"spine[1]\", state: up}\n"
                              "  - {link: \"leaf[2]-spine[1]\", state: down}\n"
                              "  - {link: \"leaf[0]-spine[0]\", state: down, count: 1}\n"));
  check_sum_of_pairs(c.network(), all_nics(c.network(), 6, 2));
}

TEST_CASE("inside a dragonfly's group: straight and through every third router", "[topologies][network]") {
  const std::string network =
      "nodes: 4\nnetwork: {type: dragonfly, switch: rosetta, groups: 1, routers_per_group: 4, nodes_per_router: 1";
  const auto c = cluster_of(machine_with(1, network + "}\n"));
  const auto& n = c.network();
  Loads loads;
  REQUIRE(n.add(NicPlace{0, 0}, NicPlace{1, 0}, 6.0, 0, loads.sink()));
  // Three ways of one cable's rate, 6 / 3 = 2 on each: straight, through router 2, through router 3.
  CHECK(load(n, loads, "router[0]", "router[1]") == Approx(2));
  for (const auto* third : {"router[2]", "router[3]"}) {
    CHECK(load(n, loads, "router[0]", third) == Approx(2));
    CHECK(load(n, loads, third, "router[1]") == Approx(2));
  }
  CHECK(loads.of.size() == 2 + 5);
  check_conservation(n, loads);
  CHECK(n.way(NicPlace{0, 0}, NicPlace{1, 0})->switches == 2);

  // Two ways are left without a cable of the third: 3 on each. Without the straight one, too.
  for (const auto* cable : {"router[0]-router[2]", "router[0]-router[1]"}) {
    INFO(cable);
    const auto cut =
        cluster_of(machine_with(1, network + "}\noverrides: [{link: \"" + std::string{cable} + "\", state: down}]\n"));
    Loads rest;
    REQUIRE(cut.network().add(NicPlace{0, 0}, NicPlace{1, 0}, 6.0, 0, rest.sink()));
    const bool straight = std::string{cable} == "router[0]-router[2]";
    CHECK(load(cut.network(), rest, "router[0]", "router[1]") == Approx(straight ? 3 : 0));
    CHECK(load(cut.network(), rest, "router[0]", "router[2]") == Approx(straight ? 0 : 3));
    CHECK(load(cut.network(), rest, "router[3]", "router[1]") == Approx(3));
    check_conservation(cut.network(), rest);
  }

  const auto hashed = cluster_of(machine_with(1, network + ", routing: ecmp}\n"));
  Loads one;
  REQUIRE(hashed.network().add(NicPlace{0, 0}, NicPlace{1, 0}, 6.0, 0, one.sink()));
  CHECK(load(hashed.network(), one, "router[0]", "router[1]") == 6);
}

TEST_CASE("between a dragonfly's groups: straight and through third groups", "[topologies][network]") {
  const auto c = cluster_of(machine_with(1,
                                         "nodes: 6\nnetwork: {type: dragonfly, switch: rosetta, groups: 3, "
                                         "routers_per_group: 2, nodes_per_router: 1, global_links: 1}\n"));
  const auto& n = c.network();
  // Groups of routers 0-1, 2-3, 4-5; cables 0-3, 1-4, 2-5 between them. From router 0 to router 3 two ways of one
  // cable's rate, 6 / 2 = 3 on each: 0-3, and 0-1, 1-4, 4-5, 5-2, 2-3 through the third group.
  Loads loads;
  REQUIRE(n.add(NicPlace{0, 0}, NicPlace{3, 0}, 6.0, 0, loads.sink()));
  CHECK(load(n, loads, "router[0]", "router[3]") == Approx(3));
  CHECK(load(n, loads, "router[0]", "router[1]") == Approx(3));
  CHECK(load(n, loads, "router[1]", "router[4]") == Approx(3));
  CHECK(load(n, loads, "router[4]", "router[5]") == Approx(3));
  CHECK(load(n, loads, "router[5]", "router[2]") == Approx(3));
  CHECK(load(n, loads, "router[2]", "router[3]") == Approx(3));
  CHECK(loads.of.size() == 2 + 6);
  check_conservation(n, loads);
  // Uniform traffic over whole groups: what goes round is conserved, too.
  Loads all;
  REQUIRE(n.add_all_to_all(all_nics(n, 6, 1), 1.0, all.sink()));
  check_conservation(n, all);
}

TEST_CASE("uniform traffic goes round a dragonfly where that relieves the fullest cable", "[topologies][network]") {
  const auto c = cluster_of(machine_with(
      1,
      "nodes: 4\nnetwork: {type: dragonfly, switch: rosetta, groups: 1, routers_per_group: 4, nodes_per_router: 1}\n"));
  const auto& n = c.network();
  // All routers: straight, 1 on each cable; any detour takes two cables, and all are alike.
  Loads whole;
  REQUIRE(n.add_all_to_all(all_nics(n, 4, 1), 1.0, whole.sink()));
  CHECK(load(n, whole, "router[0]", "router[1]") == Approx(1));
  // Two routers: 1 on the cable between them against a third on each of five.
  Loads two;
  REQUIRE(n.add_all_to_all(all_nics(n, 2, 1), 1.0, two.sink()));
  CHECK(load(n, two, "router[0]", "router[1]") == Approx(1.0 / 3));
  CHECK(load(n, two, "router[2]", "router[1]") == Approx(1.0 / 3));
  // Three routers: 0 to 1 straight 1 - p, and of p a third; through router 2 come two more thirds of p: from 0 to 2
  // over 1 and from 2 to 1 over 0. So 1 - 2p/3 + 2p/3 = 1 on it for any p: nothing to be gained.
  Loads three;
  REQUIRE(n.add_all_to_all(all_nics(n, 3, 1), 1.0, three.sink()));
  CHECK(load(n, three, "router[0]", "router[1]") == Approx(1));
  CHECK(load(n, three, "router[0]", "router[3]") == 0);
}

TEST_CASE("a way's latency is its switches and cables", "[topologies][network]") {
  const auto c = cluster_of(machine_with(
      1,
      "nodes: 8\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, spines: 2, lengths: [2 m, 10 m]}\n"));
  const auto same = c.network().way(NicPlace{0, 0}, NicPlace{1, 0});
  // 2 cables of 2 m: 2 * (2 * 4.5 + 70) = 158 ns; one switch: 150 ns.
  CHECK(same->latency == sim::Time::nanoseconds(158 + 150));
  const auto far = c.network().way(NicPlace{0, 0}, NicPlace{7, 0});
  // and two cables of 10 m: 2 * (45 + 70) = 230 ns, two more switches: 300 ns.
  CHECK(far->switches == 3);
  CHECK(far->latency == sim::Time::nanoseconds(158 + 230 + 450));
}

TEST_CASE("reduction in the network needs switches that do it", "[topologies][network]") {
  CHECK(cluster_of(two_leaves("adaptive")).network().sharp());
  const auto mixed = cluster_of(machine_with(
      1, "nodes: 8\nnetwork: {type: leaf_spine, switch: qm9700, spine_switch: sn5400, nodes_per_leaf: 4}\n"));
  CHECK_FALSE(mixed.network().sharp());
}
