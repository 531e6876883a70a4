// NCCL's topology XML: what is read from it, and what is said about files that are broken or lack what NCCL fills in
// on the machine. Messages are golden: they are what users see.
#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
std::string error_of(const std::string& text) {
  try {
    read_topology_xml(text, "topo.xml");
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "no error";
}

std::size_t problems_in(const std::string& text) {
  try {
    read_topology_xml(text, "topo.xml");
  } catch (const sim::InputError& e) {
    return e.diagnostics().size();
  }
  return 0;
}

// Two A100 joined by 12 NVLinks below one Xeon, as a real dump shows them.
const char* const pair = R"(<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="55555555" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
    <pci busid="0000:17:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1">
        <nvlink target="0000:65:00.0" count="12" tclass="0x030200"/>
      </gpu>
    </pci>
    <pci busid="0000:4b:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="mlx5_0" dev="0" latency="0" speed="100000" port="1" guid="0x1" maxconn="131072" gdr="0"/>
        <net name="mlx5_1" dev="1" latency="0" speed="100000" port="2" guid="0x1" maxconn="131072" gdr="0"/>
      </nic>
    </pci>
    <pci busid="0000:65:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1">
        <nvlink target="0000:17:00.0" count="12" tclass="0x030200"/>
      </gpu>
    </pci>
  </cpu>
</system>
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
}  // namespace

TEST_CASE("A dump of two GPUs: nodes, links and bandwidths", "[nccl][xml]") {
  const auto s = read_topology_xml(pair, "topo.xml");
  REQUIRE(s.of_type(NodeType::gpu).size() == 2);
  CHECK(s.of_type(NodeType::cpu).size() == 1);
  CHECK(s.of_type(NodeType::nic).size() == 1);
  REQUIRE(s.of_type(NodeType::net).size() == 2);
  CHECK(s.nodes()[static_cast<std::size_t>(s.of_type(NodeType::net)[0])].net_GBps == Approx(12.5));
  const auto gpu = static_cast<std::size_t>(s.of_type(NodeType::gpu)[0]);
  CHECK(s.nodes()[gpu].cc == 80);
  REQUIRE(s.edges()[gpu].size() == 2);
  CHECK(s.edges()[gpu][0].type == EdgeType::nvl);  // the widest first
  CHECK(s.edges()[gpu][0].bw_GBps == Approx(240));
  CHECK(s.edges()[gpu][1].bw_GBps == Approx(24));
  CHECK(communicator(s).channels().comm == 24);
}

TEST_CASE("All NVSwitches are one; hosts of one NVLink domain stay apart", "[nccl][xml]") {
  const auto h100 = oracle_system("dgxh100");
  CHECK(h100.of_type(NodeType::nvs).size() == 1);
  const auto rack = oracle_system("gb200_nvl72");
  CHECK(rack.of_type(NodeType::gpu).size() == 72);
  CHECK(rack.of_type(NodeType::nvs).size() == 1);
  std::size_t c2c = 0;
  for (const auto& out : rack.edges()) {
    for (const auto& e : out) c2c += e.type == EdgeType::c2c ? 1U : 0U;
  }
  CHECK(c2c == 2 * 72);
}

TEST_CASE("NCCL's constants", "[nccl][xml]") {
  CHECK(pcie_GBps(8, 16) == Approx(12));
  CHECK(pcie_GBps(16, 16) == Approx(24));
  CHECK(pcie_GBps(32, 0) == Approx(48));  // width 0: 16 lanes
  CHECK(pcie_GBps(7, 16) == Approx(12));  // unknown: Gen3
  CHECK(nvlink_GBps(90) == Approx(20.6));
  CHECK(nvlink_GBps(90, Version{2, 19, 4}) == Approx(20.0));
  CHECK(nvlink_GBps(103, Version{2, 26, 2}) == Approx(40.0));
  CHECK(nvlink_GBps(70, Version{2, 12, 12}) == Approx(22.0));
}

TEST_CASE("Broken XML is located", "[nccl][xml][errors]") {
  const auto cut = error_of("<system version=\"1\">\n  <cpu numaid=\"0\"\n</system>\n");
  CHECK(cut.rfind("topo.xml:3:1: error: this is not well-formed XML: ", 0) == 0);
  CHECK(cut.find("  3 | </system>\n    | ^  NCCL writes such a file itself") != std::string::npos);
  CHECK(error_of("") != "no error");
  CHECK(error_of("not xml at all") != "no error");
  CHECK(error_of(std::string("\0\xff<", 3)) != "no error");
  CHECK(error_of("<topology/>") ==
        "topo.xml:1:2: error: no <system> element\n"
        "  1 | <topology/>\n"
        "    |  ^  an NCCL topology file begins with <system version=\"1\">");
}

TEST_CASE("A cut file never crashes the reader", "[nccl][xml][errors]") {
  const std::string whole = pair;
  for (std::size_t n = 0; n < whole.size(); n += 7) CHECK(error_of(whole.substr(0, n)) != "");
}

TEST_CASE("All problems of a file at once, each at its place", "[nccl][xml][errors]") {
  const auto text = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:17:00.0" class="0x030200">
      <gpu dev="zero" sm="80" rank="0"/>
    </pci>
    <pci busid="nowhere" class="0x030200"/>
    <pic busid="0000:19:00.0"/>
  </cpu>
</system>
)";
  CHECK(error_of(text) ==
        "topo.xml:4:12: error: 'dev' is \"zero\", which is not a number\n"
        "  4 |       <gpu dev=\"zero\" sm=\"80\" rank=\"0\"/>\n"
        "    |            ^^^  NVML's number of the GPU\n"
        "topo.xml:6:10: error: \"nowhere\" is not a PCI address\n"
        "  6 |     <pci busid=\"nowhere\" class=\"0x030200\"/>\n"
        "    |          ^^^^^  expected domain:bus:device.function, such as 0000:15:00.0\n"
        "topo.xml:7:6: error: unexpected element <pic>\n"
        "  7 |     <pic busid=\"0000:19:00.0\"/>\n"
        "    |      ^^^  did you mean <pci>?");
}

TEST_CASE("Files that NCCL completes on the machine: what is missing, where", "[nccl][xml][errors]") {
  const auto cloud = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
</system>
)";
  CHECK(problems_in(cloud) == 2);
  CHECK(error_of(cloud).find("topo.xml:4:8: error: GPU busid=\"0001:00:00.0\" has no <gpu dev sm rank> element") == 0);
  CHECK(error_of(cloud).find("topo.xml:5:8: error: NIC busid=\"0101:00:00.0\"") != std::string::npos);
  CHECK(error_of("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:00:16.0\"/></cpu></system>")
            .find("has no 'class'") != std::string::npos);
}

TEST_CASE("Contradictions", "[nccl][xml][errors]") {
  CHECK(error_of(replaced(pair, "rank=\"1\"", "rank=\"0\"")).find("rank 0 is on two GPUs") != std::string::npos);
  CHECK(error_of(replaced(pair, "0000:65:00.0\" class", "0000:17:00.0\" class")).find("two GPUs have the address") !=
        std::string::npos);
  CHECK(error_of(replaced(pair, "        <nvlink target=\"0000:17:00.0\" count=\"12\" tclass=\"0x030200\"/>\n", ""))
            .find("no counterpart") != std::string::npos);
  CHECK(error_of(replaced(pair, "x86_64", "vax")).find("unknown architecture \"vax\"") != std::string::npos);
  CHECK(error_of(replaced(pair, "version=\"1\"", "version=\"2\"")).find("version \"2\" of the format is unknown") !=
        std::string::npos);
  CHECK(error_of(replaced(pair, "sm=\"80\"", "sm=\"0\"")).find("no GPU has compute capability 0") != std::string::npos);
  std::string deep = "<system version=\"1\"><cpu numaid=\"0\" arch=\"arm64\">";
  for (int i = 0; i < 100; ++i) deep += "<pci busid=\"0000:17:00.0\" class=\"0x060400\">";
  for (int i = 0; i < 100; ++i) deep += "</pci>";
  CHECK(error_of(deep + "</cpu></system>").find("more than 64 levels") != std::string::npos);
}
