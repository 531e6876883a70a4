// Clusters as files: networks written out, overrides of one machine, NIC, cable or switch, jobs and placements,
// mistakes with their places.
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "linkcast/topologies/describe.hpp"
#include "network_fixture.hpp"

using namespace linkcast;
using namespace linkcast::topologies;

namespace {

const std::string by_hand = machine_with(2, R"(network:
  fabric: roce
  hosts: [gpu-a1, gpu-a2, gpu-b1]
  switches:
    - {name: leaf-a, model: sn5400, rail: 0}
    - {name: leaf-b, model: sn5400}
    - {name: top}
  cables:
    - {from: "node[0].nic[0]", to: leaf-a, length: 3 m}
    - {from: "gpu-a1.nic[1]", to: leaf-a}
    - {from: "node[1].nic[0-1]", to: leaf-a}
    - {from: "gpu-b1.nic[0]", to: leaf-b, rate: 200 Gb/s}
    - {from: "gpu-b1.nic[1]", to: leaf-b, state: down}
    - {from: leaf-a, to: top, count: 2, rate: 400 Gb/s, latency: 1 us}
    - {from: leaf-b, to: top, count: 2}
)");

std::string without(std::string text, const std::string& line) {
  const auto at = text.find(line);
  REQUIRE(at != std::string::npos);
  return text.erase(at, line.size());
}

/// "line:column: problem | help" of each.
std::vector<std::string> told(const std::string& text, const ClusterOptions& options = {}) {
  std::vector<std::string> out;
  for (const auto& d : problems_of(text, options))
    out.push_back(std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + ": " + d.problem +
                  (d.help.empty() ? "" : " | " + d.help));
  return out;
}

}  // namespace

TEST_CASE("a network written out", "[topologies][network]") {
  auto text = without(by_hand, "    - {from: \"node[1].nic[0-1]\", to: leaf-a}\n");
  const auto at = text.find("    - {from: \"gpu-b1.nic[0]");
  text.insert(at, "    - {from: \"gpu-a[2].nic[0]\", to: leaf-a}\n    - {from: \"node[1-1].nic[1]\", to: leaf-a}\n");
  const auto c = cluster_of(text);
  const auto& n = c.network();
  CHECK(c.nodes() == 3);
  CHECK(c.node_name(2) == "gpu-b1");
  CHECK(n.model().name == "roce");
  CHECK(n.name_of(SwitchId{0}) == "leaf-a");
  CHECK(n.switches()[0].rail == 0);
  CHECK(n.switches()[2].tier == 1);  // next to leaves
  // RoCE is routed by flow, so that each of two cables is one.
  CHECK(count_cables(n, 0) == 4);
  CHECK(n.cables().size() == 10);
  const auto way = n.way(NicPlace{0, 0}, NicPlace{2, 0});
  REQUIRE(way);
  CHECK(way->switches == 3);
  // 3 m: 13.5 + 70 ns; 3 m where nothing is said; leaf-a to top 1 us; leaf-b to top 20 m: 90 + 70. Switches: 600, 600,
  // 300.
  CHECK(way->latency == sim::Time::picoseconds(83'500 + 83'500 + 1'000'000 + 160'000 + 1'500'000));
  CHECK_FALSE(n.way(NicPlace{0, 0}, NicPlace{2, 1}));
  CHECK(n.cable_models()[n.cables()[4].model].bare.GBps() == Approx(25));
  // leaf-b to top: what the leaf's ports carry.
  CHECK(n.cable_models()[n.cables()[9].model].bare.GBps() == Approx(50));
  CHECK_THAT(c.assumptions()[0], Catch::StartsWith("1 of 3 switches have no model"));
}

TEST_CASE("two machines back to back", "[topologies][network]") {
  const auto c = cluster_of(
      machine_with(1, "network: {cables: [{from: \"node[0].nic[0]\", to: \"node[1].nic[0]\", rate: 400 Gb/s}]}\n"));
  CHECK(c.nodes() == 2);
  const auto& n = c.network();
  CHECK(n.way(NicPlace{0, 0}, NicPlace{1, 0})->switches == 0);
  Loads one, all;
  REQUIRE(n.add(NicPlace{1, 0}, NicPlace{0, 0}, 1.0, 0, one.sink()));
  CHECK(load(n, one, "node[1].nic[0]", "node[0].nic[0]") == 1);
  const std::array both{NicPlace{0, 0}, NicPlace{1, 0}};
  REQUIRE(n.add_all_to_all(both, 1.0, all.sink()));
  CHECK(all.of.size() == 2);
}

TEST_CASE("overrides reach one machine, NIC, cable, switch", "[topologies][network]") {
  const auto c = cluster_of(R"(schema: linkcast.topology/1
extends: dgx-h100
nodes: 64
network: {type: rail_optimised, switch: qm9700, nodes_per_unit: 32}
overrides:
  - {link: "gpu[0]-nvswitch[0]", state: 80 GB/s}
  - {link: "node[17].gpu[3]-nvswitch[1]", state: down}
  - {link: "node[18].gpu[3]-node[18].nvswitch[1]", state: down}
  - {device: "node[20].nvswitch[2]", state: down}
  - {nic: "node[17].nic[3]", state: 200 Gb/s}
  - {link: "node[40].nic[7]", state: down}
  - {link: "leaf[3]-spine[0]", state: down, count: 3}
  - {link: "spine[1]-leaf[3]", state: 100 Gb/s, count: 1}
  - {switch: "spine[2]", state: down}
)");
  CHECK(c.kinds() == 4);  // the template, 17 and 18, 20, and 40 whose NIC 7 has no cable
  CHECK(c.kind_of(16) == 0);
  CHECK(c.kind_of(17) == c.kind_of(18));
  CHECK(c.kind_of(17) != c.kind_of(20));
  const auto state = [&](int node, const std::string& a, const std::string& b) {
    const auto& m = c.machine(node);
    for (const auto& l : m.links()) {
      if (m.devices()[static_cast<std::size_t>(l.a)].name == a && m.devices()[static_cast<std::size_t>(l.b)].name == b)
        return l.state;
    }
    return std::string{"none"};
  };
  CHECK(state(5, "gpu[3]", "nvswitch[1]") == "up");
  CHECK(state(17, "gpu[3]", "nvswitch[1]") == "down");
  CHECK(state(17, "gpu[0]", "nvswitch[0]") == "slowed to 80 GB/s");
  // 5 of 18 links are gone: 13 carry a GPU's traffic.
  CHECK(c.machine(17).route(c.machine(17).gpus()[3], c.machine(17).gpus()[0], Transport::nvlink)->hops.size() == 6);
  CHECK(c.machine(5).route(c.machine(5).gpus()[3], c.machine(5).gpus()[0], Transport::nvlink)->hops.size() == 8);

  const auto& n = c.network();
  const auto& nic = n.cables()[17 * 8 + 3];
  CHECK(n.cable_models()[nic.model].bare.GBps() == Approx(25));
  CHECK(n.cable_models()[nic.model].state == "slowed from 400 Gb/s");
  CHECK_FALSE(n.way(NicPlace{40, 7}, NicPlace{41, 7}));
  // Two units: 8 spines, 4 cables from each leaf to each. Leaf 3 has 1 + 4 + 5 * 4 + 0 left of 32.
  Loads loads;
  REQUIRE(n.add(NicPlace{0, 3}, NicPlace{40, 3}, 25.0, 0, loads.sink()));
  CHECK(load(n, loads, "leaf[3]", "spine[0]") == Approx(1));
  CHECK(load(n, loads, "leaf[3]", "spine[1]") == Approx(4));
  CHECK(load(n, loads, "leaf[3]", "spine[2]") == 0);
  CHECK(load(n, loads, "leaf[3]", "spine[7]") == Approx(4));
  // A machine loaded alone is the template.
  CHECK(to_text(check(c.kind(0))).find("gpu[3]") == std::string::npos);
}

TEST_CASE("a NIC without a live cable is down in its machine, as NCCL sees it", "[topologies][network]") {
  const std::string base =
      "schema: linkcast.topology/1\nextends: dgx-h100\nnodes: 64\n"
      "network: {type: rail_optimised, switch: qm9700, nodes_per_unit: 32}\noverrides:\n";
  const auto nic_down = [](const Cluster& c, int node, const std::string& name) {
    return to_text(check(c.machine(node))).find(name + " is down") != std::string::npos;
  };
  const auto cable = cluster_of(base + "  - {nic: \"node[3].nic[2]\", state: down}\n");
  const auto device = cluster_of(base + "  - {device: \"node[3].nic[2]\", state: down}\n");
  for (const auto* c : {&cable, &device}) {
    CHECK(c->kinds() == 2);
    CHECK(nic_down(*c, 3, "nic[2]"));
    CHECK_FALSE(nic_down(*c, 4, "nic[2]"));
  }
  // A leaf serves one rail of a unit: its 32 machines lose that NIC, and are one kind.
  const auto leaf = cluster_of(base + "  - {switch: \"leaf[2]\", state: down}\n");
  CHECK(leaf.kinds() == 2);
  CHECK(nic_down(leaf, 0, "nic[2]"));
  CHECK(nic_down(leaf, 31, "nic[2]"));
  CHECK_FALSE(nic_down(leaf, 32, "nic[2]"));
}

TEST_CASE("one machine of a cluster's file", "[topologies][network]") {
  const auto path = std::filesystem::temp_directory_path() / "linkcast-one-machine.yaml";
  std::ofstream{path}
      << "schema: linkcast.topology/1\nextends: dgx-h100\nnodes: 4\nnetwork: {type: ideal}\noverrides:\n"
         "  - {nic: \"node[1].nic[3]\", state: down}\n  - {device: \"node[2].nvswitch[0]\", state: down}\n";
  const auto machine = load(path.string());
  CHECK(machine.gpus().size() == 8);
  CHECK(to_text(check(machine)) == to_text(check(load("dgx-h100"))));
  const auto c = load_cluster(path.string());
  CHECK(c.nodes() == 4);
  CHECK(c.ranks() == 32);
  CHECK(c.kinds() == 3);  // node 1 has lost a NIC with its cable
  // The text of a cluster is a file that loads as the same cluster.
  CHECK(cluster_of(c.data().text).resource_count() == c.resource_count());
  std::filesystem::remove(path);
}

TEST_CASE("options: nodes, kind of network, routing", "[topologies][network]") {
  const std::string text =
      "schema: linkcast.topology/1\nextends: dgx-h100\nnodes: 16\nnetwork: {type: rail_optimised, switch: qm9700}\n";
  ClusterOptions options;
  options.nodes = 5;
  options.fabric = "roce";
  const auto c = cluster_of(text, options);
  CHECK(c.nodes() == 5);
  CHECK(c.network().ports() == 16 * 8);  // the cluster stays whole
  CHECK(c.network().model().name == "roce");
  CHECK(c.network().routing() == models::Routing::ecmp);
  options.routing = models::Routing::spray;
  CHECK(cluster_of(text, options).network().routing() == models::Routing::spray);

  options = {};
  options.nodes = 17;
  CHECK(told(text, options) ==
        std::vector<std::string>{
            "0:0: 17 nodes: 'test' has 16 | at most 16; a file that extends it can say `nodes: 17`"});
  options.nodes = 2;
  options.fabric = "rocee";
  CHECK_THAT(told(text, options).at(0), Catch::Contains("did you mean 'roce'?"));

  // A file without nodes takes as many as are asked for; one without a network an ideal switch.
  options = {};
  options.nodes = 40;
  const auto asked = cluster_of(
      "schema: linkcast.topology/1\nextends: dgx-h100\nnetwork: {type: rail_optimised, switch: qm9700}\n", options);
  CHECK(count_tier(asked.network(), 0) == 16);
  const auto ideal = cluster_of("schema: linkcast.topology/1\nextends: dgx-h100\nnodes: 3\n");
  CHECK(ideal.network().switches().size() == 1);
  CHECK_THAT(ideal.assumptions()[0], Catch::StartsWith("no network described"));
}

TEST_CASE("placement of a job", "[topologies][network]") {
  const auto c = cluster_of("schema: linkcast.topology/1\nextends: dgx-h100\nnodes: 10\n");
  CHECK(placed(c, 4, Placement::packed) == std::vector<int>{0, 1, 2, 3});
  CHECK(placed(c, 4, Placement::strided) == std::vector<int>{0, 2, 4, 6});
  const auto some = placed(c, 4, Placement::fragmented, 3);
  CHECK(std::ranges::is_sorted(some));
  CHECK(std::set<int>{some.begin(), some.end()}.size() == 4);
  CHECK(some == placed(c, 4, Placement::fragmented, 3));
  std::set<std::vector<int>> deals;
  for (std::uint64_t seed = 0; seed < 20; ++seed) deals.insert(placed(c, 4, Placement::fragmented, seed));
  CHECK(deals.size() > 10);
  CHECK(placed(c, 10, Placement::fragmented) == placed(c, 10, Placement::packed));
  CHECK_THROWS_WITH(placed(c, 11, Placement::packed), Catch::Contains("a job on 11 nodes of 10"));

  CHECK(placed(c, "node[7,2-4]") == std::vector<int>{7, 2, 3, 4});
  CHECK(placed(c, "9, 0-1") == std::vector<int>{9, 0, 1});
  CHECK_THROWS_WITH(placed(c, "node[3-10]"), Catch::Contains("no node node10"));
  CHECK_THROWS_WITH(placed(c, "1,1"), Catch::Contains("named twice"));
  CHECK_THROWS_AS(placed(c, "node[3-"), sim::InputError);
  CHECK_THROWS_AS(placed(c, ""), sim::InputError);

  const auto named = cluster_of(machine_with(1, "network: {type: ideal, hosts: \"h[001-004],x9\"}\n"));
  CHECK(named.nodes() == 5);
  CHECK(placed(named, "h[003,001],x9") == std::vector<int>{2, 0, 4});
  CHECK_THROWS_WITH(placed(named, "h005"), Catch::Contains("no node 'h005'"));
  const auto job = named.job(std::vector<int>{4, 2});
  CHECK(job.node_name(0) == "x9");
  CHECK(placed(job, "h003") == std::vector<int>{1});
}

TEST_CASE("mistakes in networks, all at once", "[topologies][network]") {
  const auto bad = told(R"(schema: linkcast.topology/1
extends: dgx-h100
nodes: 0
network:
  fabric: rocee
  type: rail_optimized
  routing: adaptiv
  switch: qm970
  nodes_per_unit: many
  lengths: [3, 20 m]
  spine: 4
)");
  const std::vector<std::string> expected{
      "3:8: 'nodes' must be a whole number from 1 to 1000000, not '0'",
      "5:11: no network part 'rocee' | did you mean 'roce'?",
      "6:9: 'type' cannot be 'rail_optimized' | did you mean 'rail_optimised'?",
      "7:12: 'routing' cannot be 'adaptiv' | did you mean 'adaptive'?",
      "10:13: a length cannot be '3' | metres, as in `5 m`; at most 1000 km",
  };
  for (const auto& e : expected) {
    INFO(e);
    CHECK(std::ranges::find(bad, e) != bad.end());
  }
  const auto keys = told(
      "schema: linkcast.topology/1\nextends: dgx-h100\nnodes: 4\nnetwork:\n  type: torus\n  switch: qm970\n  dims: [2, "
      "x]\n  nodes_per_unit: 4\n");
  REQUIRE(keys.size() == 3);
  CHECK(keys[0] == "6:11: no network switch part 'qm970' | did you mean 'qm9700'?");
  CHECK_THAT(keys[1], Catch::StartsWith("7:13: 'dims' must hold whole numbers"));
  CHECK_THAT(keys[2], Catch::StartsWith("8:3: unknown key 'nodes_per_unit' in 'network' | one of: cable, dims,"));

  const auto over = told(R"(schema: linkcast.topology/1
extends: dgx-h100
nodes: 64
network: {type: rail_optimised, switch: qm9700}
overrides:
  - {nic: "node[64].nic[0]", state: down}
  - {nic: "node[3].nic[8]", state: down}
  - {switch: "spine[8]", state: down}
  - {link: "leaf[0]-leaf[1]", state: down}
  - {link: "leaf[0]-spine[0]", state: 800 Gb/s}
  - {link: "leaf[0]-spine[0]", state: down, count: 5}
  - {link: "leaf[0]-spine[0]", state: broken}
  - {link: "node[70].gpu[0]-nvswitch[0]", state: down}
  - {link: "node[7].gpu[0]-nvswitch[4]", state: down}
  - {switch: "leaf[0]", nic: "node[0].nic[0]", state: down}
)");
  const std::vector<std::string> of_overrides{
      "6:11: 'node[64].nic[0]': node 64 of 64: they are 0 to 63",
      "7:11: 'node[3].nic[8]': the machine has 8 NICs: 0 to 7",
      "8:14: no switch 'spine[8]' | did you mean 'spine[0]'?",
      "9:12: no cable between leaf[0]-leaf[1] | name two ends that are joined",
      "10:39: more than this cable has | it has 400 Gb/s",
      "11:52: 'leaf[0]-spine[0]' has 4 cables",
      "12:39: 'state' cannot be 'broken' | up, down, or a rate such as 200 Gb/s",
      "13:5: no node 'node[70]' | node[0] to node[63]",
      "14:12: link to nowhere: 'gpu[0]-nvswitch[4]' | did you mean 'gpu[0]-nvswitch[0]'?",
      "15:5: an override names one 'link', 'nic', 'switch' or 'device' | write `nic: node[17].nic[3]` or `switch: "
      "spine[2]`",
  };
  CHECK(over.size() == of_overrides.size());
  for (const auto& e : of_overrides) {
    INFO(e);
    CHECK(std::ranges::find(over, e) != over.end());
  }

  const auto cables = told(machine_with(1, R"(network:
  switches: [{name: a, model: qm9700}, {name: a}, {name: c, tier: 99}]
  cables:
    - {from: "node[0].nic[0]", to: a}
    - {from: "node[0].nic[0]", to: a}
    - {from: "node[1].nic[0]", to: b}
    - {from: a, to: a}
    - {from: c, rate: 400}
)"));
  CHECK(cables.size() >= 4);
  const auto wiring = told(machine_with(1, R"(network:
  hosts: [h1, h2]
  switches: [{name: a, model: qm9700}, {name: c}, {name: d}]
  cables:
    - {from: "node[0].nic[0]", to: a}
    - {from: "h1.nic[0]", to: a}
    - {from: "h3.nic[0]", to: a}
    - {from: "node[1].nic[1]", to: a}
    - {from: "node[1].nic[0]", to: b}
    - {from: a, to: a}
    - {from: c, to: d}
)"));
  const auto first = static_cast<int>(std::ranges::count(machine_with(1, ""), '\n')) + 5;
  const auto at = [&](int line, const std::string& rest) { return std::to_string(first + line) + rest; };
  const std::vector<std::string> of_wiring{
      at(1, ":14: 'h1.nic[0]' has more than one cable | the first is in line " + std::to_string(first)),
      at(2, ":14: a cable to nowhere: 'h3.nic[0]' | one of: h1, h2"),
      at(3, ":14: 'node[1].nic[1]': the machine has 1 NICs: 0 to 0"),
      at(4, ":36: a cable to nowhere: 'b' | one of: a, c, d"),
      at(5, ":7: a cable from a switch to itself"),
      at(6,
         ":7: a cable between switches of unknown model has no 'rate' | add `rate: 400 Gb/s`, or a 'model' to the "
         "switches"),
  };
  CHECK(wiring.size() == of_wiring.size());
  for (const auto& e : of_wiring) {
    INFO(e);
    CHECK(std::ranges::find(wiring, e) != wiring.end());
  }
}

TEST_CASE("networks of any size are refused or built, never half", "[topologies][network]") {
  for (const auto* text : {
           "nodes: 1000000\nnetwork: {type: dragonfly, switch: rosetta, routers_per_group: 32, nodes_per_router: 4, "
           "global_links: 4}\n",
           "nodes: 1000000\nnetwork: {type: torus, switch: qm9700, dims: [4096, 4096, 4096]}\n",
           "nodes: 1000000\nnetwork: {type: leaf_spine, switch: unknown}\n",
           "nodes: 1000000\nnetwork: {type: ideal}\n",
       }) {
    const auto p = problems_of(std::string{"schema: linkcast.topology/1\nextends: dgx-h100\n"} + text);
    CHECK(p.size() == 1);
  }
}

TEST_CASE("the clusters of docs/topology.md load", "[topologies][network][docs]") {
  std::ifstream in{std::filesystem::path{LINKCAST_SOURCE_DIR} / "docs/topology.md"};
  const std::string page{std::istreambuf_iterator<char>{in}, {}};
  const auto block = [&](const std::string& first_lines) {
    const auto begin = page.find("```yaml\n" + first_lines);
    REQUIRE(begin != std::string::npos);
    return page.substr(begin + 8, page.find("```", begin + 8) - begin - 8);
  };
  const auto generated = block("schema: linkcast.topology/1\nextends: dgx-h100\nnodes:");
  CHECK(cluster_of(generated).ranks() == 1016);
  const auto changed = cluster_of(generated + block("overrides:\n  - {link: \"node["));
  CHECK(changed.kinds() == 3);
  const auto written =
      cluster_of("schema: linkcast.topology/1\nextends: dgx-h100\n" + block("network:\n  fabric: ib\n  hosts"));
  CHECK(written.node_name(1) == "h0002");
  CHECK(written.network().way(NicPlace{0, 0}, NicPlace{1, 0})->switches == 1);
}

// The promise: 16,384 GPUs are a file of at most thirty lines, and cost an index for each machine, not a machine.
TEST_CASE("large clusters are short files and small in memory", "[topologies][network]") {
  for (const auto& [name, ranks, megabytes] :
       {std::tuple{"h100-16k", 16'384, 100.0}, std::tuple{"h100-131k", 131'072, 800.0}}) {
    const auto path = std::string{LINKCAST_SOURCE_DIR} + "/configs/topologies/" + name + ".yaml";
    std::ifstream in{path};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    CHECK(std::ranges::count(text, '\n') <= 30);
    const auto c = load_cluster(path);
    CHECK(c.ranks() == ranks);
    CHECK(c.kinds() == 1);
    CHECK(static_cast<double>(c.estimated_memory_bytes()) < megabytes * 1e6);
    CHECK(c.resources().size() == c.resource_count());
    const auto last = c.nodes() - 1;
    CHECK(c.network().way(NicPlace{0, 7}, NicPlace{last, 7})->switches == 5);
    CHECK(c.resource_name(c.cable(CableId{0}, true)) == "cable node[0].nic[0]->leaf[0]");
  }
}
