// What is said of clusters: counts and rates derived by hand, the bisection against a plain max-flow, distances against
// the routes of the network.
#include <deque>
#include <random>

#include "../../topologies/src/network_bisection.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "written_cluster.hpp"

namespace linkcast::topologies {
namespace {

std::string h100(int nodes, const std::string& network, const std::string& rest = "") {
  return "schema: linkcast.topology/1\nextends: dgx-h100\nnodes: " + std::to_string(nodes) + "\nnetwork: {" + network +
         "}\n" + rest;
}

const DistanceRow& row(const ClusterDescription& d, const std::string& way) {
  for (const auto& r : d.distances) {
    if (r.way == way) return r;
  }
  FAIL("no row " << way);
  return d.distances.front();
}

double all_pairs(const ClusterDescription& d) {
  double sum = 0;
  for (const auto& r : d.distances) sum += r.pairs;
  return sum;
}

/// Edmonds and Karp, on every end of the network.
std::int64_t plain_max_flow(const Network& n, const std::vector<std::uint8_t>& side) {
  const auto ends = n.ports() + n.switches().size();
  const auto source = ends, sink = ends + 1;
  std::vector<std::map<std::size_t, std::int64_t>> left(ends + 2);
  for (const auto& c : n.cables()) {
    const auto up = [&](std::uint32_t e) { return e < n.ports() || n.switches()[e - n.ports()].up; };
    if (!c.up || !up(c.a) || !up(c.b)) continue;
    const auto rate = n.cable_models()[c.model].bare.bytes_per_second() * c.count;
    left[c.a][c.b] += rate;
    left[c.b][c.a] += rate;
  }
  for (std::size_t p = 0; p < n.ports(); ++p) {
    const auto s = side[static_cast<std::size_t>(n.place(PortId{static_cast<std::uint32_t>(p)}).node)];
    if (s == 1) left[source][p] = std::int64_t{1} << 50;
    if (s == 2) left[p][sink] = std::int64_t{1} << 50;
  }
  std::int64_t total = 0;
  for (;;) {
    std::vector<std::size_t> from(ends + 2, SIZE_MAX);
    std::deque<std::size_t> queue{source};
    from[source] = source;
    while (!queue.empty() && from[sink] == SIZE_MAX) {
      const auto at = queue.front();
      queue.pop_front();
      for (const auto& [to, rate] : left[at]) {
        if (rate > 0 && from[to] == SIZE_MAX) from[to] = at, queue.push_back(to);
      }
    }
    if (from[sink] == SIZE_MAX) return total;
    auto flow = std::int64_t{1} << 60;
    for (auto at = sink; at != source; at = from[at]) flow = std::min(flow, left[from[at]][at]);
    for (auto at = sink; at != source; at = from[at]) left[from[at]][at] -= flow, left[at][from[at]] += flow;
    total += flow;
  }
}

}  // namespace

TEST_CASE("two scalable units of 32 DGX H100", "[topologies][network]") {
  const auto d = describe(cluster_of(h100(64, "type: rail_optimised, switch: qm9700, nodes_per_unit: 32")));
  CHECK(d.gpus == 512);
  CHECK(d.nics == 512);
  REQUIRE(d.switches.size() == 2);
  CHECK(d.switches[0].tier == "leaf");
  CHECK(d.switches[0].count == 16);  // 2 units x 8 rails
  CHECK(d.switches[1].count == 8);   // 16 leaves x 32 uplinks / 64 ports
  REQUIRE(d.cables.size() == 2);
  CHECK(d.cables[0].from == "nic");
  CHECK(d.cables[0].count == 512);
  CHECK(d.cables[1].count == 512);
  REQUIRE(d.tiers.size() == 2);
  CHECK(d.tiers[0].down.GBps() == Approx(512 * 50));
  CHECK(d.tiers[0].up.GBps() == Approx(512 * 50));
  CHECK(d.tiers[0].oversubscription == Approx(1));
  CHECK(d.tiers[1].oversubscription == 0);
  CHECK(d.nic_bare.GBps() == Approx(50));
  CHECK(d.machine.nvlink_bare.GBps() == Approx(450));
  CHECK(d.bisection.GBps() == Approx(32 * 8 * 50));

  // Of 512 x 504 / 2 pairs on different machines: 16 leaves x 32 x 31 / 2; in a unit 496 pairs of machines x 56 pairs
  // of rails; between the units 32 x 32 pairs of machines x 8 or 56.
  CHECK(d.distances_exact);
  CHECK(row(d, "same leaf").pairs == 7936);
  CHECK(row(d, "same unit, other rail, over spine").pairs == 2 * 496 * 56);
  CHECK(row(d, "other unit, same rail, over spine").pairs == 8192);
  CHECK(row(d, "other unit, other rail, over spine").pairs == 57344);
  CHECK(all_pairs(d) == 512 * 504 / 2);
  // 3 m of cable 13.5 + 70 ns, twice, and a switch of 150 ns; two more cables of 20 m (160 ns) and two more switches.
  CHECK(row(d, "same leaf").latency == sim::Time::nanoseconds(317));
  CHECK(row(d, "other unit, other rail, over spine").latency == sim::Time::nanoseconds(317 + 2 * 160 + 2 * 150));
}

TEST_CASE("oversubscription, of a leaf and of the bisection", "[topologies][network]") {
  // Four leaves of four machines with two NICs: 8 ports of 50 GB/s down, 4 up.
  const auto d = describe(cluster_of(machine_with(
      2, "nodes: 16\nnetwork: {type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, oversubscription: 2}\n")));
  CHECK(d.tiers[0].down.GBps() == Approx(1600));
  CHECK(d.tiers[0].up.GBps() == Approx(800));
  CHECK(d.tiers[0].oversubscription == Approx(2));
  CHECK(d.bisection.GBps() == Approx(400));  // two leaves of a half, 200 GB/s up each
  CHECK(row(d, "other leaf, over spine").switches == 3);
  CHECK(row(d, "same leaf").pairs == 4 * 6 * 4);  // 6 pairs of machines, 2 x 2 NICs
}

TEST_CASE("sixteen thousand GPUs: pairs are counted from one leaf of each kind", "[topologies][network]") {
  const auto d = describe(cluster_of(h100(2048, "type: rail_optimised, switch: qm9700, nodes_per_unit: 32")));
  CHECK_FALSE(d.distances_exact);
  CHECK(all_pairs(d) == 16384.0 * 16376 / 2);
  CHECK(row(d, "same leaf").pairs == 512 * 496);
  CHECK(row(d, "same unit, other rail, over core").switches == 5);
  CHECK(d.bisection.GBps() == Approx(8192 * 50));
}

TEST_CASE("a job sees its own machines on the whole network", "[topologies][network]") {
  const auto all = cluster_of(h100(64, "type: rail_optimised, switch: qm9700, nodes_per_unit: 32"));
  const auto d = describe(all.job(std::vector<int>{0, 1, 40, 41}));
  CHECK(d.nodes == 4);
  CHECK(d.network_nodes == 64);
  CHECK(d.nics == 32);
  CHECK(d.switches[0].count == 16);
  CHECK(d.bisection.GBps() == Approx(2 * 8 * 50));
  CHECK(all_pairs(d) == 32 * 24 / 2);
  CHECK(row(d, "other unit, same rail, over spine").example == "node[0].nic[0] - node[40].nic[0]");
}

TEST_CASE("rails that do not meet, two planes, machines back to back", "[topologies][network]") {
  const auto rails = describe(cluster_of(h100(64, "type: rail_only, switch: qm9700")));
  std::size_t unreachable = 0;
  for (const auto& r : rails.distances) unreachable += r.reachable ? 0 : 1;
  CHECK(unreachable > 0);
  CHECK(all_pairs(rails) == 512 * 504 / 2);
  CHECK(to_text(rails).find("no way") != std::string::npos);

  const auto planes = describe(cluster_of(h100(16, "type: dual_plane, switch: qm9700, nodes_per_unit: 8")));
  CHECK(planes.nic_bare.GBps() == Approx(50));  // both ports
  CHECK(all_pairs(planes) == 128 * 120 / 2);

  const auto two = describe(cluster_of(
      machine_with(1, "network: {cables: [{from: \"node[0].nic[0]\", to: \"node[1].nic[0]\", rate: 200 Gb/s}]}\n")));
  CHECK(two.bisection.GBps() == Approx(25));
  REQUIRE(two.distances.size() == 1);
  CHECK(two.distances[0].switches == 0);
  CHECK(two.tiers.empty());

  const auto ideal = describe(cluster_of(h100(6, "type: ideal")));
  CHECK(ideal.bisection.GBps() == Approx(3 * 8 * 50));
  CHECK(row(ideal, "same switch").latency == sim::Time{});
}

TEST_CASE("the bisection is the max-flow, however broken the network", "[topologies][network][property]") {
  std::mt19937 random{7};
  const std::vector<std::string> kinds{
      "type: rail_optimised, switch: qm9700, nodes_per_unit: 4",
      "type: leaf_spine, switch: qm9700, nodes_per_leaf: 2, oversubscription: 3",
      "type: dragonfly, switch: rosetta, routers_per_group: 4, nodes_per_router: 2, global_links: 3",
      "type: torus, switch: qm9700, dims: [3, 4]",
      "type: fat_tree, switch: qm9700, k: 8",
  };
  int cut = 0;
  for (int round = 0; round < 40; ++round) {
    const auto sound = cluster_of(
        machine_with(2, "nodes: 12\nnetwork: {" + kinds[static_cast<std::size_t>(round) % kinds.size()] + "}\n"));
    auto data = std::make_shared<Network::Data>(sound.network().data());
    for (int i = 0; i < round / 4; ++i) {
      auto& c = data->cables[random() % data->cables.size()];
      if (random() % 2 == 0)
        c.up = false;
      else
        c.model = data->cable_model(sim::Rate::from_GBps(7), {}, "slowed");
    }
    if (round % 7 == 3) data->switches[random() % data->switches.size()].up = false;
    data->index_cables();
    const Network network{data};
    std::vector<std::uint8_t> side(12);
    for (std::size_t n = 0; n < side.size(); ++n)
      side[n] = round % 2 == 0 ? (n < 6 ? 1 : 2) : static_cast<std::uint8_t>(random() % 3);
    INFO(round);
    const auto expected = plain_max_flow(network, side);
    CHECK(max_flow_between(network, side).bytes_per_second() == expected);
    cut += expected < 12 * 50'000'000'000 ? 1 : 0;
  }
  CHECK(cut > 10);  // the network, and not the NICs, was the limit often enough
}

TEST_CASE("distances are those of the routes", "[topologies][network]") {
  for (const auto* kind : {"type: rail_optimised, switch: qm9700, nodes_per_unit: 4, core: true",
                           "type: dragonfly, switch: rosetta, routers_per_group: 4, nodes_per_router: 1",
                           "type: torus, switch: qm9700, dims: [3, 4]"}) {
    const auto c = cluster_of(machine_with(2, std::string{"nodes: 12\nnetwork: {"} + kind + "}\n"));
    std::map<std::pair<int, std::int64_t>, double> expected, counted;
    for (int a = 0; a < 12; ++a) {
      for (int b = a + 1; b < 12; ++b) {
        for (int i = 0; i < 4; ++i) {
          const auto way = c.network().way(NicPlace{a, i / 2}, NicPlace{b, i % 2});
          REQUIRE(way);
          expected[{way->switches, way->latency.ps()}] += 1;
        }
      }
    }
    for (const auto& r : describe(c).distances) counted[{r.switches, r.latency.ps()}] += r.pairs;
    INFO(kind);
    CHECK(counted == expected);
  }
}

TEST_CASE("a cluster's YAML is read as the same cluster", "[topologies][network]") {
  for (const auto& text :
       {h100(16, "type: rail_optimised, switch: qm9700", "overrides: [{nic: \"node[3].nic[2]\", state: down}]\n"),
        h100(8, "type: dragonfly, switch: rosetta, routers_per_group: 4, nodes_per_router: 1"),
        WrittenCluster{}.yaml()}) {
    const auto c = cluster_of(text);
    CHECK(to_text(describe(cluster_of(to_yaml(c)))) == to_text(describe(c)));
    CHECK(to_text(check(cluster_of(to_yaml(c)))) == to_text(check(c)));
  }
  // The number of nodes from the command line, with and without a network in the file.
  ClusterOptions options;
  options.nodes = 6;
  for (const auto* text :
       {"schema: linkcast.topology/1\nextends: dgx-h100\n",
        "schema: linkcast.topology/1\nextends: dgx-h100\nnetwork: {type: torus, switch: qm9700, dims: [6]}\n"}) {
    const auto c = cluster_of(text, options);
    const auto again = describe(cluster_of(to_yaml(c)));
    CHECK(again.nodes == 6);
    CHECK(again.bisection == describe(c).bisection);
  }
  options.nodes = 4;
  const auto job = cluster_of(h100(16, "type: rail_optimised, switch: qm9700"), options);
  CHECK(to_yaml(job).find("# 4 of the 16 nodes were asked for") == 0);
  CHECK(cluster_of(to_yaml(job)).nodes() == 16);
}

}  // namespace linkcast::topologies
