// ibnetdiscover: what is counted in the file by other means must come out of the reader. The counts of the large file
// are grep's and awk's, with the command beside each.
#include <algorithm>
#include <random>
#include <sstream>

#include "../../topologies/src/import_network.hpp"
#include "catch.hpp"
#include "import.hpp"

using namespace import_test;

namespace {

const auto* const small_fabric =
    "#\n# Topology file: generated on Wed Aug  6 16:11:23 2025\n#\n\n"
    "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0xa1\nswitchguid=0xa1(a1)\n"
    "Switch\t65 \"S-00000000000000a1\"\t\t# \"MF0;leaf1:MQM9700/U1\" enhanced port 0 lid 1 lmc 0\n"
    "[1]\t\"H-0000000000000001\"[1](1) \t\t# \"n1 mlx5_0\" lid 11 4xNDR\n"
    "[2]\t\"H-0000000000000003\"[1](3) \t\t# \"n2 mlx5_0\" lid 13 4xNDR\n"
    "[31]\t\"S-00000000000000b1\"[1]\t\t# \"MF0;spine1:MQM9700/U1\" lid 3 4xNDR\n"
    "[32]\t\"S-00000000000000b1\"[2]\t\t# \"MF0;spine1:MQM9700/U1\" lid 3 4xHDR\n"
    "\nvendid=0x2c9\ndevid=0xd2f2\nswitchguid=0xa2(a2)\n"
    "Switch\t65 \"S-00000000000000a2\"\t\t# \"MF0;leaf2:MQM9700/U1\" enhanced port 0 lid 2 lmc 0\n"
    "[1]\t\"H-0000000000000002\"[1](2) \t\t# \"n1 mlx5_1\" lid 12 4xNDR\n"
    "[2]\t\"H-0000000000000004\"[1](4) \t\t# \"n2 mlx5_1\" lid 14 4xNDR\n"
    "[31]\t\"S-00000000000000b1\"[3]\t\t# \"MF0;spine1:MQM9700/U1\" lid 3 4xNDR\n"
    "\nvendid=0x2c9\ndevid=0xd2f2\nswitchguid=0xb1(b1)\n"
    "Switch\t65 \"S-00000000000000b1\"\t\t# \"MF0;spine1:MQM9700/U1\" enhanced port 0 lid 3 lmc 0\n"
    "[1]\t\"S-00000000000000a1\"[31]\t\t# \"MF0;leaf1:MQM9700/U1\" lid 1 4xNDR\n"
    "[2]\t\"S-00000000000000a1\"[32]\t\t# \"MF0;leaf1:MQM9700/U1\" lid 1 4xHDR\n"
    "[3]\t\"S-00000000000000a2\"[31]\t\t# \"MF0;leaf2:MQM9700/U1\" lid 2 4xNDR\n"
    "\nvendid=0x2c9\ndevid=0x1021\ncaguid=0x1\n"
    "Ca\t1 \"H-0000000000000001\"\t\t# \"n1 mlx5_0\"\n"
    "[1](1) \t\"S-00000000000000a1\"[1]\t\t# lid 11 lmc 0 \"MF0;leaf1:MQM9700/U1\" lid 1 4xNDR\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// The network as text, for comparing.
std::string shown(const Read& r) {
  std::ostringstream out;
  for (const auto& h : r.net.hosts) out << h << '\n';
  for (const auto& s : r.net.switches) out << s.name << ' ' << s.tier << ' ' << s.rail << ' ' << s.group << '\n';
  for (const auto& c : r.net.cables) {
    out << r.name(c.from) << '.' << c.from.nic << '.' << c.from.port << " - " << r.name(c.to) << ' ' << c.count << ' '
        << c.rate << '\n';
  }
  for (const auto* lines : {&r.notes.known, &r.notes.assumed, &r.notes.unknown}) {
    for (const auto& l : *lines) out << l << '\n';
  }
  return out.str();
}

}  // namespace

TEST_CASE("ibnetdiscover: a rail-optimised NDR fabric of 40 switches", "[topologies][import]") {
  const auto r = read(import_ibnetdiscover, file("ibnetdiscover-ndr-rails.txt.gz"));
  // grep '^Ca' | grep -v '"M' | sed 's/.*# "\([^ ]*\) .*/\1/' | sort -u | wc -l
  CHECK(r.net.hosts.size() == 122);
  // grep -c '^Switch'; leaves: awk '/^Switch/{n=$0} /^\[.*"H-/&&!/Aggregation/{l[n]=1} END{for(x in l)c++; print c}'
  CHECK(r.net.switches.size() == 40);
  CHECK(r.switches_of_tier == std::map<int, int>{{0, 31}, {1, 9}});
  // grep '^Ca' | grep -vc '"M'; grep -c '^\[[0-9]*\]<tab>"S-' is 1064, each cable from both of its ends
  CHECK(r.cables_from_tier == std::map<int, int>{{-1, 473}, {0, 532}});
  // 473 host cables, all different; 269 pairs of switches, 263 of them with 2 cables and 6 with 1 (awk over the pairs)
  CHECK(r.net.cables.size() == 473 + 269);
  CHECK(std::ranges::count_if(r.net.cables, [](const auto& c) { return c.count == 2; }) == 263);
  CHECK(std::ranges::all_of(r.net.cables, [](const auto& c) { return c.rate == "400 Gb/s"; }));
  CHECK(r.cables("leaf30", "spine02") == 2);

  // mlx5_0, 1, 4, 5 of some hosts are HCA-1, 2, 5, 6 of most: four rails
  CHECK(r.net.nic_names == std::vector<std::string>{"HCA-1", "HCA-2", "HCA-5", "HCA-6"});
  CHECK(r.at("leaf30").rail == 0);  // mlx5_0 only
  CHECK(r.at("leaf29").rail == 1);
  CHECK(r.at("leaf28").rail == 2);
  CHECK(r.at("leaf01").rail == 3);
  CHECK(r.at("spine02").rail == -1);
  // leaf01, 28, 29, 30 have the same 17 hosts
  for (const auto* leaf : {"leaf28", "leaf29", "leaf30"}) CHECK(r.at(leaf).group == r.at("leaf01").group);
  CHECK(r.at("leaf31").group != r.at("leaf01").group);
  CHECK(r.at("spine02").group == -1);
  CHECK(r.at("leaf01").model == "qm9700");

  CHECK(r.knows("11 hosts with 3 of 4 adapters cabled"));
  CHECK(r.knows("2 hosts with 2 of 4 adapters cabled: kept (node043, node044)"));
  // node029 is plugged in the other way round than its 13 neighbours
  CHECK(r.knows("node029 HCA-5 on leaf12, node029 HCA-6 on leaf14"));
  CHECK(r.knows("40 SHARP aggregation nodes"));
  CHECK(r.lacks("the hosts of 69 adapters"));  // grep '^Ca' | grep -c '"MT'
  CHECK(r.lacks("how long the cables are"));
}

TEST_CASE("ibnetdiscover: the chips of a chassis switch are switches of their own", "[topologies][import]") {
  const auto r = read(import_ibnetdiscover, file("ibnetdiscover-hdr-chassis.txt"));
  CHECK(r.net.hosts.size() == 10);
  CHECK(r.switches_of_tier == std::map<int, int>{{0, 5}, {1, 2}, {2, 1}});
  CHECK(r.at("sw00/L01").tier == 1);
  CHECK(r.at("sw00/S01").tier == 2);
  CHECK(r.at("sw01").group == r.at("sw03").group);  // below L01
  CHECK(r.at("sw04").group == r.at("sw05").group);  // below L02
  CHECK(r.at("sw01").group != r.at("sw04").group);
  CHECK(r.cables("sw00/L01", "sw00/S01") == 1);
  CHECK(r.cables("node009", "sw05") == 1);
  CHECK(r.cables_from_tier == std::map<int, int>{{-1, 10}, {0, 5}, {1, 2}});
  CHECK(r.net.cables.front().rate == "200 Gb/s");  // 4xHDR
}

TEST_CASE("ibnetdiscover: slow cables, missing lines and absent sections are kept and said", "[topologies][import]") {
  const auto r = read(import_ibnetdiscover, small_fabric);
  CHECK(r.net.hosts == std::vector<std::string>{"n1", "n2"});
  CHECK(r.cables("leaf1", "spine1") == 2);  // one of 400, one of 200 Gb/s
  CHECK(r.cables("leaf2", "spine1") == 1);
  CHECK(r.knows("1 cable at 200 Gb/s where most have 400: kept (leaf1 - spine1)"));
  CHECK(r.at("leaf1").rail == 0);
  CHECK(r.at("leaf2").rail == 1);
  CHECK(r.at("leaf1").group == r.at("leaf2").group);

  const auto one_sided =
      with(small_fabric, "[3]\t\"S-00000000000000a2\"[31]\t\t# \"MF0;leaf2:MQM9700/U1\" lid 2 4xNDR\n", "");
  const auto s = read(import_ibnetdiscover, one_sided);
  CHECK(s.cables("leaf2", "spine1") == 1);
  CHECK(s.knows("1 cable that only one end tells of"));

  // the ends of spine1[3] disagree on the speed: the slower counts
  const auto uneven = read(import_ibnetdiscover, with(small_fabric, "\"[31]\t\t# \"MF0;leaf2:MQM9700/U1\" lid 2 4xNDR",
                                                      "\"[31]\t\t# \"MF0;leaf2:MQM9700/U1\" lid 2 2xNDR"));
  CHECK(uneven.knows("1 cable whose ends tell different speeds"));
  CHECK(uneven.knows("2 cables at 200 Gb/s"));

  const auto silent =
      read(import_ibnetdiscover, with(small_fabric, "\"n2 mlx5_1\" lid 14 4xNDR", "\"n2 mlx5_1\" lid 14"));
  CHECK(silent.assumes("1 cable without a speed in the file: 400 Gb/s"));

  // A management server on a spine makes no leaf of it.
  const auto server =
      with(small_fabric, "lid 2 4xNDR\n\nvendid=0x2c9\ndevid=0x1021",
           "lid 2 4xNDR\n[4]\t\"H-00000000000000ff\"[1](ff) \t\t# \"ufm1 mlx5_0\" lid 99 4xNDR\n\nvendid=0x2c9\n"
           "devid=0x1021");
  CHECK(read(import_ibnetdiscover, server).net.hosts.size() == 3);
}

TEST_CASE("ibnetdiscover: descriptions of adapters", "[topologies][import]") {
  const auto named = [](const std::string& description) {
    auto text = std::string{small_fabric};
    for (const auto* old : {"\"n1 mlx5_0\" lid", "\"n1 mlx5_0\"\n"}) {
      const std::string from{old};
      text = with(text, from, "\"" + description + from.substr(from.find('"', 1)));
    }
    return read(import_ibnetdiscover, text);
  };
  CHECK(named("n1 HCA-1").net.nic_names == std::vector<std::string>{"HCA-1", "mlx5_1"});  // 1 is the first
  CHECK(named("n1.example.org mlx5_0").net.hosts[1] == "n1.example.org");
  for (const auto* nameless : {"MT4129 ConnectX7   Mellanox Technologies", "localhost mlx5_0", "", "n#1 mlx5_0"}) {
    INFO(nameless);
    const auto r = named(nameless);
    CHECK(r.lacks("the hosts of 1 adapter,"));
    CHECK(r.knows("1 host with 1 of 2 adapters cabled: kept (n1)"));
    CHECK(r.cables_from_tier.at(-1) == 3);
  }
}

TEST_CASE("ibnetdiscover: adapters are the machine's NICs by name", "[topologies][import]") {
  // HCA-1, 2, 5, 6 of the network in a machine that has two more NICs between them, which are not in this fabric.
  ImportedMachine machine;
  machine.nics = 6;
  machine.nic_names = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5"};
  std::vector<NamedNetwork> networks;
  networks.push_back({read(import_ibnetdiscover, file("ibnetdiscover-ndr-rails.txt.gz")).net, "fabric.txt"});
  ImportNotes notes;
  const auto net = join_networks(networks, machine, "topo.txt", notes);
  std::map<int, int> cables;
  for (const auto& c : net.cables) {
    if (c.from.host >= 0) ++cables[c.from.nic];
  }
  // grep '^Ca' | grep -c 'HCA-1\|mlx5_0': 103 + 19; HCA-2, mlx5_1: the same; HCA-5, mlx5_4: 92 + 17; HCA-6, mlx5_5: 103
  // + 17
  CHECK(cables == std::map<int, int>{{0, 122}, {1, 122}, {4, 109}, {5, 120}});
  CHECK(notes.known.back() == "the NICs of fabric.txt are those of topo.txt, by name");
}

TEST_CASE("ibnetdiscover: the order of the sections does not matter", "[topologies][import]") {
  for (const auto* name : {"ibnetdiscover-ndr-rails.txt.gz", "ibnetdiscover-hdr-chassis.txt"}) {
    const auto text = unpacked({name, file(name)})->text;
    // A section begins with its vendid line.
    std::vector<std::string> sections;
    for (std::size_t at = text.find("vendid="); at != std::string::npos;) {
      const auto next = text.find("\nvendid=", at);
      sections.push_back(text.substr(at, next == std::string::npos ? next : next + 1 - at));
      at = next == std::string::npos ? next : next + 1;
    }
    REQUIRE(sections.size() > 10);
    const auto expected = shown(read(import_ibnetdiscover, text));
    std::mt19937_64 random{7};
    for (int i = 0; i < 3; ++i) {
      std::shuffle(sections.begin(), sections.end(), random);
      std::string shuffled;
      for (const auto& s : sections) shuffled += s + "\n";
      CHECK(shown(read(import_ibnetdiscover, shuffled)) == expected);
    }
  }
}

TEST_CASE("ibnetdiscover: what is wrong is said with its place", "[topologies][import]") {
  const auto bad = [](const std::string& text) { return errors(import_ibnetdiscover, text); };
  CHECK(bad(small_fabric).empty());
  CHECK(bad("# nothing\n") == "1:1 no node: neither a Switch nor a Ca section\n");
  CHECK(bad(with(small_fabric, "4xHDR", "4xQQQ")) == "13:63 unknown speed '4xQQQ'\n");
  CHECK(bad(with(small_fabric, "\"S-00000000000000b1\"[2]", "\"X-00000000000000b1\"[2]")) ==
        "13:6 expected the name of a node\n");
  CHECK(bad(with(small_fabric, "[2]\t\"H-0000000000000003\"", "[x]\t\"H-0000000000000003\"")) ==
        "11:1 expected a port number in brackets\n");
  CHECK(bad(with(small_fabric, "[2]\t\"H-0000000000000003\"", "[66]\t\"H-0000000000000003\"")) ==
        "11:1 port 66 of a node with 65 ports\n");
  CHECK(bad(with(small_fabric, "\nvendid=0x2c9\ndevid=0xd2f2\nswitchguid=0xa2(a2)", "\nhello")) ==
        "15:1 not a line of ibnetdiscover\n");
  // line 25 says that spine1[3] is in leaf2[31]; now line 19 has leaf2[31] in spine1[4]
  CHECK(bad(with(small_fabric, "\"S-00000000000000b1\"[3]", "\"S-00000000000000b1\"[4]"))
            .find("\"S-00000000000000a2\"[31] is plugged into \"S-00000000000000b1\"[") != std::string::npos);
  // The end of a file that was cut: a spine without its section, then half a line.
  const std::string text{small_fabric};
  CHECK(
      bad(text.substr(0, text.find("vendid=0x2c9\ndevid=0xd2f2\nswitchguid=0xb1"))).find("has no section of its own") !=
      std::string::npos);
  CHECK(bad(text.substr(0, text.find("caguid=0x1") + 20)).find("expected") != std::string::npos);
  CHECK(bad(text + text).find("a second section of \"S-00000000000000a1\"") != std::string::npos);
  // all mistakes at once
  const auto both =
      bad(with(with(small_fabric, "4xHDR", "4xQQQ"), "[2]\t\"H-0000000000000003\"", "[x]\t\"H-0000000000000003\""));
  CHECK(std::count(both.begin(), both.end(), '\n') == 2);
  // only vendors' descriptions
  auto nameless = text;
  for (std::size_t at; (at = nameless.find("\"n")) != std::string::npos;) nameless.replace(at, 12, "\"MT4129 X\" ");
  CHECK(bad(nameless).find("no host") != std::string::npos);
}
