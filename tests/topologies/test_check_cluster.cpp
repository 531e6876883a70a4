// Networks broken by hand: each mistake is one line that names the place and what is usual.
#include "../../topologies/src/network_data.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "written_cluster.hpp"

namespace linkcast::topologies {
namespace {

std::vector<std::string> told(const Cluster& c) {
  std::vector<std::string> out;
  for (const auto& f : check(c)) out.push_back(std::string{name_of(f.severity)} + ": " + f.text);
  return out;
}
using Lines = std::vector<std::string>;

Cluster h100(int nodes, const std::string& network, const std::string& overrides = "") {
  return cluster_of("schema: linkcast.topology/1\nextends: dgx-h100\nnodes: " + std::to_string(nodes) + "\nnetwork: {" +
                    network + "}\n" + (overrides.empty() ? "" : "overrides:\n" + overrides));
}

}  // namespace

TEST_CASE("sound networks have no findings", "[topologies][check]") {
  CHECK(told(WrittenCluster{}.load()).empty());
  CHECK(told(WrittenCluster{false}.load()).empty());
  for (const auto* network : {
           "type: rail_optimised, switch: qm9700",
           "type: rail_optimised, switch: qm9700, nodes_per_unit: 8, core: true",
           "type: rail_optimised, switch: qm9700, nodes_per_unit: 8, uplinks: 5",  // five over two: three and two
           "type: rail_only, switch: qm9700",
           "type: leaf_spine, switch: qm9700, nodes_per_leaf: 4, oversubscription: 2",
           "type: dual_plane, switch: qm9700, nodes_per_unit: 8",
           "type: dragonfly, switch: rosetta, routers_per_group: 4, nodes_per_router: 2, global_links: 3",
           "type: torus, switch: qm9700, dims: [4, 4], nodes_per_router: 2",
           "type: ideal",
       }) {
    INFO(network);
    CHECK(told(h100(32, network)) == Lines{});
  }
}

TEST_CASE("missing and moved cables", "[topologies][check]") {
  CHECK(told(WrittenCluster{}.change("u1r1, to: s0", "count: 2", "count: 1").load()) ==
        Lines{"warning: u1r1-s0: 1 cable, usually 2"});
  CHECK(told(WrittenCluster{}.change("u1r1, to: s0", "from", "").load()) ==
        Lines{"warning: u1r1-s0: 0 cables, usually 2"});
  CHECK(told(WrittenCluster{}
                 .change("u1r1, to: s0", "count: 2", "count: 1")
                 .change("u1r1, to: s1", "count: 2", "count: 3")
                 .load()) == Lines{"warning: u1r1-s0: 1 cable, usually 2", "warning: u1r1-s1: 3 cables, usually 2"});
}

TEST_CASE("NICs that are not where their peers are", "[topologies][check]") {
  const Lines wrong_rail{"warning: node[5].nic[1]-u1r0: on rail 0, usually rail 1"};
  CHECK(told(WrittenCluster{}.change("node[5].nic[1]", "u1r1", "u1r0").load()) == wrong_rail);
  // Where the file does not say what rail a leaf has, the other machines do.
  auto lines = told(WrittenCluster{false}.change("node[5].nic[1]", "u1r1", "u1r0").load());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == wrong_rail[0]);
  CHECK(lines[1] == "note: u1r1: 3 machines, usually 4");
  CHECK(told(WrittenCluster{false}
                 .change("node[5].nic[1]", "u1r1", "u1r0")
                 .change("node[5].nic[0]", "u1r0", "u1r1")
                 .load()) == Lines{"warning: node[5].nic[0]-u1r1: on rail 1, usually rail 0",
                                   "warning: node[5].nic[1]-u1r0: on rail 0, usually rail 1"});
  CHECK(told(WrittenCluster{}.change("node[5].nic[1]", "u1r1", "u0r1").load()) ==
        Lines{"warning: node[5]: NICs in units 0 and 1, those of other machines are in one"});
  CHECK(told(WrittenCluster{}.change("node[2].nic[0]", "from", "").load()) ==
        Lines{"warning: node[2]: unlike other machines: nic[0] is down",
              "warning: node[2].nic[0]: no cable, 7 of 7 peers have one"});
  auto on_spine = WrittenCluster{};
  on_spine.change("name: s0", "qm9700", "qm9700, tier: 1").change("node[7].nic[0]", "u1r0", "s0");
  CHECK(told(on_spine.load()) == Lines{"note: node[7].nic[0]-s0: on a spine, usually on a leaf"});
}

TEST_CASE("slower cables", "[topologies][check]") {
  CHECK(told(WrittenCluster{}.change("node[2].nic[0]", "u0r0", "u0r0, rate: 200 Gb/s").load()) ==
        Lines{"warning: node[2].nic[0]-u0r0: 200 Gb/s, usually 400 Gb/s"});
  CHECK(told(WrittenCluster{}.change("u1r1, to: s0", "count: 2", "count: 2, rate: 200 Gb/s").load()) ==
        Lines{"warning: u1r1-s0: 200 Gb/s, usually 400 Gb/s"});
}

TEST_CASE("machines that do not reach each other", "[topologies][check]") {
  auto islands = WrittenCluster{};
  for (const auto* line : {"u1r0, to: s0", "u1r0, to: s1", "u1r1, to: s0", "u1r1, to: s1"})
    islands.change(line, "from", "");
  CHECK(told(islands.load()) == Lines{"error: no way between 16 pairs of machines, for example node[0] and node[4]",
                                      "warning: u1r0 and u1r1: 0 cables to spines, usually 4"});
  auto alone = WrittenCluster{};
  alone.change("node[6].nic[0]", "u1r0", "u1r0, state: down").change("node[6].nic[1]", "u1r1", "u1r1, state: down");
  CHECK(told(alone.load()) == Lines{"error: node[6]: no NIC with a working cable: reaches no other machine",
                                    "warning: node[6].nic[0]-u1r0 and node[6].nic[1]-u1r1: cable down"});
  // Rails that meet only inside machines are a network as it should be.
  auto rails = WrittenCluster{};
  for (const auto* line : {"u0r1, to: s0", "u1r1, to: s0", "u0r0, to: s1", "u1r0, to: s1"})
    rails.change(line, "from", "");
  CHECK(told(rails.load()).empty());
}

TEST_CASE("planes that mix", "[topologies][check]") {
  std::string text = "network:\n  fabric: roce\n  ports_per_nic: 2\n  switches:\n";
  for (int p = 0; p < 2; ++p) {
    for (const auto* name : {"leaf", "spine"})
      text += "    - {name: " + std::string{name} + std::to_string(p) +
              ", model: tomahawk5, plane: " + std::to_string(p) + "}\n";
  }
  text += "  cables:\n";
  for (int node = 0; node < 4; ++node) {
    for (int p = 0; p < 2; ++p)
      text += "    - {from: \"node[" + std::to_string(node) + "].nic[0].port[" + std::to_string(p) + "]\", to: leaf" +
              std::to_string(node == 3 ? 1 : p) + "}\n";
  }
  text +=
      "    - {from: leaf0, to: spine0, count: 4}\n    - {from: leaf1, to: spine1, count: 3}\n"
      "    - {from: leaf1, to: spine0}\n";
  const auto lines = told(cluster_of(machine_with(1, text)));
  const auto has = [&](const std::string& line) { return std::ranges::find(lines, line) != lines.end(); };
  CHECK(has("warning: leaf1-spine0: joins planes 0 and 1"));
  CHECK(has("warning: node[3].nic[0].port[0]-leaf1: on plane 1, usually plane 0"));
}

TEST_CASE("overrides of a generated network", "[topologies][check]") {
  const auto c = h100(64, "type: rail_optimised, switch: qm9700, nodes_per_unit: 32",
                      "  - {link: \"node[17].gpu[3]-nvswitch[1]\", state: down}\n"
                      "  - {link: \"node[18].gpu[3]-nvswitch[1]\", state: down}\n"
                      "  - {nic: \"node[17].nic[3]\", state: 200 Gb/s}\n"
                      "  - {link: \"node[40].nic[7]\", state: down}\n"
                      "  - {link: \"leaf[3]-spine[0]\", state: down, count: 3}\n"
                      "  - {switch: \"spine[2]\", state: down}\n");
  CHECK(told(c) == Lines{"warning: node[17] and node[18]: unlike other machines: gpu[3]-nvswitch[1] (nvlink nvlink4): "
                         "down; gpu[3] has 325.0 GB/s of NVLink, most others 450.0 GB/s",
                         "warning: node[40]: unlike other machines: nic[7] is down", "warning: spine[2]: down",
                         "warning: node[40].nic[7]-leaf[15]: cable down",
                         "warning: leaf[3]-spine[0]: 3 of 4 cables down",
                         "warning: node[17].nic[3]-leaf[3]: 200 Gb/s, slowed from 400 Gb/s"});
  // A NIC's cable, three of a leaf, and with spine 2 four of each of 16 leaves.
  std::int64_t down = 0;
  for (const auto& row : describe(c).cables) down += row.down;
  CHECK(down == 1 + 3 + 64);
}

TEST_CASE("one cause is one line, wherever it shows", "[topologies][check]") {
  std::string overrides;
  for (int n = 0; n < 40; ++n) overrides += "  - {nic: \"node[" + std::to_string(n) + "].nic[0]\", state: 200 Gb/s}\n";
  const auto lines = told(h100(128, "type: rail_optimised, switch: qm9700", overrides));
  CHECK(lines ==
        Lines{"warning: node[0].nic[0]-leaf[0], node[1].nic[0]-leaf[0] and 38 more: 200 Gb/s, slowed from 400 Gb/s"});
  CHECK(told(h100(127, "type: rail_optimised, switch: qm9700, nodes_per_unit: 32")) ==
        Lines{"note: unit 3: 31 machines, usually 32"});
}

TEST_CASE("cables of a dragonfly", "[topologies][check]") {
  const auto c =
      h100(32, "type: dragonfly, switch: rosetta, routers_per_group: 4, nodes_per_router: 2, global_links: 3");
  auto data = std::make_shared<Network::Data>(c.network().data());
  // The last cable joins the last two groups.
  data->cables.pop_back();
  data->index_cables();
  auto changed = std::make_shared<Cluster::Data>(c.data());
  changed->network = Network{data};
  changed->index_resources();
  CHECK(told(Cluster{changed}) == Lines{"warning: group 2-group 3: 2 cables, usually 3"});
}

}  // namespace linkcast::topologies
