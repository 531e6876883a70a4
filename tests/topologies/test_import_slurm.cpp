// Slurm's topology files and host lists.
#include "../../topologies/src/host_list.hpp"
#include "../../topologies/src/import_tree.hpp"
#include "catch.hpp"
#include "import.hpp"

using namespace import_test;

namespace {

std::string expanded(const std::string& text, std::size_t limit = 1000) {
  std::vector<std::string> names;
  if (const auto p = expand_host_list(text, names, limit)) {
    return "at " + std::to_string(p->offset) + ": " + p->problem;
  }
  std::string out;
  for (const auto& n : names) out += (out.empty() ? "" : " ") + n;
  return out;
}

std::string squeezed(const std::vector<std::string>& names) { return host_list(names); }

}  // namespace

TEST_CASE("host lists: brackets, digits, steps, several brackets", "[topologies][import][hostlist]") {
  CHECK(expanded("n1") == "n1");
  CHECK(expanded("gpu[001-003,007],login1") == "gpu001 gpu002 gpu003 gpu007 login1");
  CHECK(expanded("n[8-11]") == "n8 n9 n10 n11");
  CHECK(expanded("n[08-11]") == "n08 n09 n10 n11");
  CHECK(expanded("r[1-2]n[1-2]x") == "r1n1x r1n2x r2n1x r2n2x");
  CHECK(expanded("n[0-9:4]") == "n0 n4 n8");
  CHECK(expanded("[1101-1102]") == "1101 1102");

  CHECK(expanded("") == "at 0: expected a name");
  CHECK(expanded("a,,b") == "at 2: expected a name");
  CHECK(expanded("a,") == "at 1: a comma after the last name");
  CHECK(expanded("n[1-") == "at 4: expected a number");
  CHECK(expanded("n[1-3") == "at 5: '[' without ']'");
  CHECK(expanded("n1]") == "at 2: ']' without '['");
  CHECK(expanded("n[3-1]") == "at 2: the range runs backwards: 3 to 1");
  CHECK(expanded("n[1-3:0]") == "at 2: a step of 0");
  CHECK(expanded("n[000x133]") == "at 5: boxes of coordinates ([000x133]) are not read");
  CHECK(expanded("a b") == "at 1: not a character of a name");
  CHECK(expanded("n[1-99999999999999999999]") == "at 4: the number is too large");
  CHECK(expanded("n[1-1000]").substr(0, 8) == "n1 n2 n3");
  CHECK(expanded("n[1-1001]") == "at 0: more than 1000 names");
  // refused before anything of it is made: 10^15 names would not fit anywhere
  CHECK(expanded("n[0-999999999999999]") == "at 0: more than 1000 names");
  CHECK(expanded("n[0-99999][0-99999][0-99999]") == "at 0: more than 1000 names");

  CHECK(squeezed({"gpu001", "gpu002", "gpu003", "gpu007", "login1"}) == "gpu[001-003,007],login1");
  CHECK(squeezed({"n9", "n10", "n11"}) == "n[9-11]");
  CHECK(squeezed({"n09", "n10", "n11"}) == "n[09-11]");
  CHECK(squeezed({"n9", "n010"}) == "n[9,010]");
  CHECK(squeezed({"n2", "n1"}) == "n[2,1]");  // the order is kept
  CHECK(squeezed({"a", "b"}) == "a,b");
  CHECK(expanded(squeezed({"x08", "x09", "x10", "x12"})) == "x08 x09 x10 x12");
}

TEST_CASE("topology.conf: a tree of three tiers", "[topologies][import]") {
  const auto r = read(import_slurm_conf, file("slurm-tree.conf"));
  // 12 lines with Nodes=, 8 hosts each; 6 spines with 2 leaves each; one core
  CHECK(r.net.hosts.size() == 96);
  CHECK(r.net.hosts.front() == "srv1101");
  CHECK(r.net.hosts[8] == "srv1201");
  CHECK(r.net.hosts.back() == "srv6208");
  CHECK(r.switches_of_tier == std::map<int, int>{{0, 12}, {1, 6}, {2, 1}});
  CHECK(r.at("switch.1.10").group == 4);  // below spine 5
  CHECK(r.net.only_order);
  CHECK(r.net.domains.empty());
  CHECK(r.net.fabric.empty());
  // as many cables up as hosts below
  CHECK(r.cables("srv1101", "switch.1.1") == 1);
  CHECK(r.cables("switch.1.1", "switch.2.1") == 8);
  CHECK(r.cables("switch.2.1", "switch.3.1") == 16);
  CHECK(r.lacks("how many cables join the switches"));

  // with a machine of 4 NICs: 4 cables for each host, and the 8 above a leaf become 32
  auto net = r.net;
  ImportedMachine machine;
  machine.nics = 4;
  ImportNotes notes;
  cable_tree(net, machine, notes);
  int hosts = 0, above_leaves = 0;
  for (const auto& c : net.cables) {
    if (c.from.host >= 0) {
      hosts += c.count;
      CHECK(c.rate.empty());  // nothing is invented
    } else if (net.switches[static_cast<std::size_t>(c.from.network_switch)].tier == 0) {
      above_leaves += c.count;
    }
  }
  CHECK(hosts == 96 * 4);
  CHECK(above_leaves == 12 * 32);
  CHECK(notes.assumed.size() == 2);
}

TEST_CASE("topology.conf: blocks", "[topologies][import]") {
  const auto r = read(import_slurm_conf, file("slurm-blocks.conf"));
  CHECK(r.net.hosts.size() == 96);  // 12 blocks of 8
  CHECK(r.net.domains[0] == "rack11");
  CHECK(r.net.domains[95] == "rack62");
  CHECK(r.knows("12 blocks with 96 hosts, planned in sizes of 8, 16, 32"));
  CHECK(r.assumes("one switch above all blocks"));
  CHECK(r.switches_of_tier == std::map<int, int>{{0, 12}, {1, 1}});
}

TEST_CASE("topology.conf: lines that go on, quotes, comments, keys in any case", "[topologies][import]") {
  const auto r = read(import_slurm_conf,
                      "# a comment\n"
                      "SwitchName=top Switches=leaf[1-2] LinkSpeed=400  # and another\n"
                      "switchname=leaf1 \\\n    nodes=\"a[1-2]\"\r\n"
                      "SWITCHNAME=leaf2 Nodes=b9,b10\n");
  CHECK(r.net.hosts == std::vector<std::string>{"a1", "a2", "b9", "b10"});
  CHECK(r.lacks("LinkSpeed="));
  // Slurm takes the hosts in the order of the tree, not of the lines
  const auto turned =
      read(import_slurm_conf, "SwitchName=l1 Nodes=x\nSwitchName=l2 Nodes=y\nSwitchName=t Switches=l2,l1\n");
  CHECK(turned.net.hosts == std::vector<std::string>{"y", "x"});
  CHECK(read(import_slurm_conf, "SwitchName=a Nodes=x\nSwitchName=b Nodes=y\n").knows("2 separate trees (a, b)"));
}

TEST_CASE("topology.conf: all mistakes at once, each at its place", "[topologies][import]") {
  const auto bad = [](const std::string& text) { return errors(import_slurm_conf, text); };
  CHECK(bad("SwitchName=a Nodes=n[1-2]\n").empty());
  CHECK(bad("# nothing\n") == "1:1 neither a switch nor a block\n");
  CHECK(bad("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n") == "2:12 switch 'a' a second time\n");
  CHECK(bad("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n2\n") == "2:20 host 'n2' a second time\n");
  CHECK(bad("SwitchName=a Nodes=n1\nSwitchName=t Switches=a,b\n") == "2:23 switch 'b' is not described\n");
  CHECK(bad("SwitchName=a Nodes=n1\nSwitchName=t Switches=a\nSwitchName=u Switches=a\n") ==
        "3:23 switch 'a' is below 't' and below 'u'\n");
  CHECK(bad("SwitchName=a Switches=b\nSwitchName=b Switches=a\n") ==
        "1:12 a circle of switches: each of a, b is below another one of them\n");
  CHECK(bad("SwitchName=a Switches=a\n") == "1:12 a circle of switches: each of a is below another one of them\n");
  CHECK(bad("SwitchName=a\n") == "1:1 switch 'a' has nothing below it\n");
  CHECK(bad("SwitchName=a Nodes=\n") == "1:20 'nodes=' without a value\n");
  CHECK(bad("SwitchNam=a Nodes=n1\n") ==
        "1:1 unknown key 'switchnam'\n1:13 says of no switch or block what is below it\n");
  CHECK(bad("SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2\n") ==
        "1:14 switch 'a' has Switches= and Nodes=\n");
  CHECK(bad("SwitchName=a Nodes=n1, n2\n") ==
        "1:22 a comma after the last name\n1:24 expected KEY=VALUE, found 'n2'\n");
  CHECK(bad("Include other.conf\nSwitchName=a Nodes=n1\n") ==
        "1:1 expected KEY=VALUE, found 'Include'\n1:9 expected KEY=VALUE, found 'other.conf'\n");
  CHECK(bad("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n") == "2:11 a block in a file of switches\n");
  CHECK(bad("BlockName=b Nodes=n2\nBlockSizes=0\n") == "2:12 expected a number of nodes\n");
  // one of each in one file
  const auto all = bad("SwitchName=a Nodes=n[1-\nSwitchName=b Nodez=n1\nSwitchName=t Switches=a,c\n");
  CHECK(all ==
        "1:24 expected a number\n2:1 switch 'b' has nothing below it\n2:14 unknown key 'nodez'\n"
        "3:23 switch 'c' is not described\n");
}

TEST_CASE("topology.yaml: the default of several topologies", "[topologies][import]") {
  const std::string text =
      "- topology: racks\n"
      "  block:\n"
      "    block_sizes: [2, 4]\n"
      "    blocks:\n"
      "      - block: r1\n"
      "        nodes: n[1-2]\n"
      "- topology: fabric\n"
      "  cluster_default: true\n"
      "  tree:\n"
      "    switches:\n"
      "      - switch: top\n"
      "        children: leaf[1-2]\n"
      "      - switch: leaf1\n"
      "        nodes: n[1-2]\n"
      "      - switch: leaf2\n"
      "        nodes: [n3, \"n[4-5]\"]\n";
  const auto r = read(import_slurm_yaml, text);
  CHECK(r.net.hosts == std::vector<std::string>{"n1", "n2", "n3", "n4", "n5"});
  CHECK(r.knows("of 2 topologies the one that is the cluster's default: fabric"));
  CHECK(r.cables("leaf2", "top") == 3);
  // without the mark the first counts
  auto unmarked = text;
  unmarked.erase(unmarked.find("  cluster_default: true\n"), 24);
  const auto first = read(import_slurm_yaml, unmarked);
  CHECK(first.net.domains == std::vector<std::string>{"r1", "r1"});

  const auto bad = [](const std::string& wrong) { return errors(import_slurm_yaml, wrong); };
  CHECK(bad("topology: x\n") == "1:1 expected a list of topologies\n");
  CHECK(bad("- topology: x\n  flat: true\n") == "1:3 topology 'x' has neither a tree nor blocks\n");
  CHECK(bad("- topology: x\n  tree:\n    switches:\n      - {switch: a, nodes: 'n[1-'}\n").find("4:") == 0);
  CHECK(bad("- topology: x\n  tree:\n    switches:\n      - {switch: a, nodez: n1}\n").find("unknown key 'nodez'") !=
        std::string::npos);
}
