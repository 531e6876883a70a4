// Models of topograph: the tree, the NVLink domains, and nodes of several hosts.
#include "../../topologies/src/import_tree.hpp"
#include "catch.hpp"
#include "import.hpp"

using namespace import_test;

TEST_CASE("topograph: the current form", "[topologies][import]") {
  const auto r = read(import_topograph, file("topograph-medium.yaml"));
  CHECK(r.net.hosts == std::vector<std::string>{"1101", "1102", "1201", "1202", "1301", "1302", "1401", "1402"});
  CHECK(r.net.domains == std::vector<std::string>{"nvl1", "nvl1", "nvl2", "nvl2", "nvl3", "nvl3", "nvl4", "nvl4"});
  CHECK(r.switches_of_tier == std::map<int, int>{{0, 4}, {1, 2}, {2, 1}});
  CHECK(r.cables("sw11", "sw21") == 2);
  CHECK(r.cables("sw21", "sw3") == 4);
  CHECK(r.at("sw13").group == r.at("sw14").group);
  CHECK(r.at("sw11").group != r.at("sw13").group);
  CHECK(r.knows("4 NVLink domains of 2 hosts"));
  CHECK(r.knows("3 labels that say nothing of the network: skipped"));  // region, zone, zone

  const auto dual = read(import_topograph, file("topograph-dual-domain.yaml"));
  CHECK(dual.net.hosts.size() == 96);  // 12 racks of 8
  CHECK(dual.knows("2 NVLink domains of 48 hosts"));
}

TEST_CASE("topograph: trays of one NVLink domain become one node", "[topologies][import]") {
  const auto r = read(import_topograph, file("topograph-nvl72.yaml"));
  CHECK(r.net.hosts.size() == 72);  // 4 racks of 18 trays
  CHECK(r.knows("4 NVLink domains of 18 hosts"));
  CHECK(r.cables("leaf-2-1", "spine-2") == 18);

  ImportedMachine rack;
  rack.trays = 18;
  rack.nics = 72;
  auto net = r.net;
  ImportNotes notes;
  cable_tree(net, rack, notes);
  join_domains(net, rack, "model", notes);
  CHECK(net.hosts == std::vector<std::string>{"nvl-1-1", "nvl-1-2", "nvl-2-1", "nvl-2-2"});
  // node1202 is tray 1 of the second rack: its four NICs are 4 to 7 of node 1
  int cables = 0, of_node1 = 0;
  for (const auto& c : net.cables) {
    if (c.from.host < 0) continue;
    cables += c.count;
    of_node1 += c.from.host == 1 && c.from.nic >= 4 && c.from.nic < 8;
  }
  CHECK(cables == 4 * 72);
  CHECK(of_node1 == 4);

  ImportedMachine small = rack;
  small.trays = 9;
  auto again = r.net;
  cable_tree(again, small, notes);
  CHECK_THROWS_WITH(join_domains(again, small, "model", notes),
                    Catch::Contains("'nvl-1-1' has 18 hosts, the machine 9"));
  // Two trays of a rack that could have 18: the machine gets smaller, and nothing is said to be missing.
  const auto part = read(import_topograph, file("topograph-medium.yaml"));
  auto two = part.net;
  ImportNotes said;
  cable_tree(two, rack, said);
  join_domains(two, rack, "model", said);
  CHECK(two.trays == 2);
  CHECK(two.hosts.size() == 4);
  CHECK(said.assumed.back() == "the machine has 2 of its 18 hosts");

  auto unsaid = r.net;
  unsaid.domains.clear();
  CHECK_THROWS_WITH(join_domains(unsaid, rack, "model", notes), Catch::Contains("does not say which hosts share"));
}

TEST_CASE("topograph: the older forms", "[topologies][import]") {
  const auto lists =
      read(import_topograph,
           "switches:\n- name: core\n  switches: [leaf1, leaf2]\n- name: leaf1\n  capacity_blocks: [cb1]\n"
           "- name: leaf2\n  capacity_blocks: [cb2]\ncapacity_blocks:\n- name: cb1\n  type: GB200\n"
           "  nvlink: nvl1\n  nodes: [n10, n11]\n- name: cb2\n  nodes: [n20]\n");
  CHECK(lists.net.hosts == std::vector<std::string>{"n10", "n11", "n20"});
  CHECK(lists.net.domains == std::vector<std::string>{"nvl1", "nvl1", ""});
  CHECK(lists.cables("leaf1", "core") == 2);

  const auto maps =
      read(import_topograph,
           "switches:\n  S1:\n    switches: [S2, S3]\n  S2:\n    nodes: [\"I[21-22]\"]\n  S3:\n    nodes: [I34]\n"
           "nodes:\n  I21: {capacity_block: CB2, attributes: {nvlink: nvl2}}\n  I22: {type: H100}\n"
           "capacity_blocks:\n  CB2:\n    nodes: [\"I[21-22]\"]\n");
  CHECK(maps.net.hosts == std::vector<std::string>{"I21", "I22", "I34"});
  CHECK(maps.net.domains == std::vector<std::string>{"nvl2", "", ""});
  CHECK(maps.switches_of_tier == std::map<int, int>{{0, 2}, {1, 1}});
}

TEST_CASE("topograph: what is wrong is said with its place", "[topologies][import]") {
  const auto bad = [](const std::string& text) { return errors(import_topograph, text); };
  CHECK(bad("# only this\n") == "1:1 nothing but comments\n");
  CHECK(bad("a: 1\n").find("unknown key 'a'") != std::string::npos);
  CHECK(bad("switches:\n  a:\n    switches: [b]\n") == "1:1 no host is below any switch\n");
  CHECK(bad("switches:\n  a:\n    switches: [b]\nblocks:\n- switch: b\n  nodes: [n1]\n- switch: c\n  nodes: [n1]\n") ==
        "8:11 host 'n1' a second time\n");
  CHECK(bad("switches:\n  a:\n    switches: [b]\n  b:\n    switches: [a]\nblocks:\n- switch: b\n  nodes: [n1]\n") ==
        "2:3 a circle of switches: each of a, b is below another one of them\n");
  CHECK(bad("switches:\n- name: a\n  capacity_blocks: [x]\ncapacity_blocks:\n- name: y\n  nodes: [n1]\n")
            .find("3:21 no capacity block 'x'") == 0);
  CHECK(bad("blocks:\n- switch: b\n  nodes: ['n[1-']\n").find("3:16 expected a number") == 0);
  CHECK(bad("blocks:\n- switch: b\n").find("2:3") == 0);
}
