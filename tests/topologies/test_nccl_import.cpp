// NCCL's XML as clouds and dumps have it: completed from the catalog, fused and degraded devices read with notes, and
// questions where two machines would do.
#include <regex>
#include <sstream>

#include "catch.hpp"
#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/describe.hpp"
#include "linkcast/topologies/nccl_export.hpp"
#include "linkcast/topologies/nccl_import.hpp"
#include "linkcast/topologies/nccl_view.hpp"

using namespace linkcast;
namespace nccl = models::nccl;
using topologies::DeviceKind;
using topologies::Fabric;

namespace {

/// A machine's file as a cloud ships it: the PCI trees, without what NCCL asks the driver for.
std::string cloud_file(const std::string& machine) {
  const auto text = topologies::to_nccl_xml(topologies::load(machine));
  std::string out;
  bool inside = false;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    const auto has = [&](const char* what) { return line.find(what) != std::string::npos; };
    if (has("<!--")) continue;
    if (has("<gpu ") || has("<nic>")) inside = true;
    if (!inside) out += line + "\n";
    if (has("</gpu>") || has("</nic>")) inside = false;
  }
  return out;
}

std::string without(const std::string& text, const std::string& attribute) {
  return std::regex_replace(text, std::regex{" " + attribute + "=\"[^\"]*\""}, "");
}

Fabric read(const std::string& text, const topologies::NcclImportOptions& options = {}) {
  return topologies::fabric_from_nccl_xml(text, "topo.xml", "topo", options);
}

std::string assumed(const Fabric& f) {
  std::string out;
  for (const auto& line : topologies::describe(f).assumptions) out += line + "\n";
  return out;
}

std::string graphs(const Fabric& f, int nodes) {
  nccl::Config config;
  config.nodes = nodes;
  const nccl::Communicator c{topologies::nccl_system(f), config};
  std::ostringstream out;
  for (const auto& [name, g] : c.graphs())
    out << name << ' ' << g.channels << 'x' << g.bw_intra << '/' << g.bw_inter << ' ' << name_of(g.type_inter) << "; ";
  return out.str();
}

std::string error(const std::string& text, const topologies::NcclImportOptions& options = {}) {
  try {
    read(text, options);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "no error";
}

/// Two A100 with a bridge of `links`, and a NIC.
std::string pair(const std::string& nic, int links = 12, int lanes_of_second = 16) {
  const auto gpu = [&](int i, int lanes) {
    return "    <pci busid=\"0000:0" + std::to_string(i + 1) +
           ":00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b5\" link_speed=\"16.0 GT/s PCIe\" "
           "link_width=\"" +
           std::to_string(lanes) + "\">\n      <gpu dev=\"" + std::to_string(i) + "\" sm=\"80\" rank=\"" +
           std::to_string(i) + "\" gdr=\"1\">\n        <nvlink target=\"0000:0" + std::to_string(2 - i) +
           ":00.0\" count=\"" + std::to_string(links) + "\" tclass=\"0x030200\"/>\n      </gpu>\n    </pci>\n";
  };
  return "<system version=\"1\">\n  <cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
         "modelid=\"106\">\n" +
         gpu(0, 16) + gpu(1, lanes_of_second) + nic + "  </cpu>\n</system>\n";
}

std::string nic_with(const std::string& nets) {
  return "    <pci busid=\"0000:4b:00.0\" class=\"0x020000\" vendor=\"0x15b3\" device=\"0x101d\" "
         "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n      <nic>" +
         nets + "</nic>\n    </pci>\n";
}

std::string attribute_of_nic(const Fabric& f, const std::string& key) {
  for (const auto& d : f.devices()) {
    if (d.kind != DeviceKind::nic) continue;
    const auto it = d.attributes.find(key);
    return it == d.attributes.end() ? "" : it->second;
  }
  return "no NIC";
}

}  // namespace

TEST_CASE("files of clouds are recognised by their addresses and completed", "[topologies][nccl][import]") {
  for (const auto* name :
       {"azure-ndv2", "azure-ndv4", "azure-ndv5", "aws-p4d", "aws-p4de", "aws-g5", "oci-bm-gpu-a100"}) {
    INFO(name);
    const auto machine = topologies::load(name);
    const auto f = read(cloud_file(name));
    CHECK(assumed(f).starts_with(std::string{"the machine is "} + name + ", recognised by the PCI addresses"));
    CHECK(f.bisection() == machine.bisection());
    CHECK(graphs(f, 1) == graphs(machine, 1));
    CHECK(graphs(f, 4) == graphs(machine, 4));
    for (const auto* key : {"gbps", "ports", "fabric"}) {
      CHECK(attribute_of_nic(f, key) == attribute_of_nic(topologies::load(name), key));
    }
  }
}

TEST_CASE("all that was filled in is listed", "[topologies][nccl][import]") {
  CHECK(assumed(read(cloud_file("aws-p4d"))) ==
        "the machine is aws-p4d, recognised by the PCI addresses of its GPUs\n"
        "12 NVLinks of each GPU to NVSwitches\n"
        "8 GPUs are a100-sxm, compute capability 80, numbered by PCI address\n"
        "4 NICs are efa-v1 of 100 Gb/s, numbered by PCI address\n"
        "CPUs are xeon-skl\n"
        "every CPU is joined to every other by upi-skl\n"
        "PCIe bridges are pex8796\n"
        "12 NVLinks of each GPU go to 6 NVSwitches (2-2-2-2-2-2)\n");
}

TEST_CASE("a file of addresses alone: classes, links and CPUs come from the machine", "[topologies][nccl][import]") {
  auto text = cloud_file("aws-g5");
  for (const auto* a : {"class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width",
                        "arch", "familyid", "modelid"})
    text = without(text, a);
  const auto f = read(text);
  CHECK(f.gpus().size() == 8);
  CHECK(graphs(f, 4) == graphs(topologies::load("aws-g5"), 4));
  const auto notes = assumed(f);
  CHECK(notes.find("which PCI devices are GPUs and which NICs\n") != std::string::npos);
  CHECK(notes.find("PCIe links without a speed: pcie-gen4 with 16 lanes\n") != std::string::npos);
  CHECK(notes.find("the CPUs' kind: epyc-rome\n") != std::string::npos);
}

TEST_CASE("a layout that several machines have is asked for, never guessed", "[topologies][nccl][import]") {
  // Eight switches with a GPU and a NIC each: H100 and H20 have 18 NVLinks, H800 has 8.
  auto text = cloud_file("dgx-h100");
  for (const auto* a : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
    // the CPUs' vendor stays: it tells Intel from AMD
    text = std::regex_replace(text, std::regex{std::string{"(<pci [^>]*) "} + a + "=\"[^\"]*\""}, "$1");
  }
  const auto message = error(text);
  CHECK(message.find("topo.xml has no <gpu> elements and fits several machines: ") != std::string::npos);
  CHECK(message.find("dgx-h100 (18 NVLinks of a GPU, NICs of 400 Gb/s)") != std::string::npos);
  CHECK(message.find("hgx-h800 (8 NVLinks of a GPU, NICs of 400 Gb/s)") != std::string::npos);
  CHECK(message.find("--machine NAME of `topo import`, --set machine=NAME elsewhere") != std::string::npos);

  topologies::NcclImportOptions told;
  told.machine = "hgx-h800";
  const auto f = read(text, told);
  CHECK(f.bisection().GBps() == Approx(4 * 8 * 25.0));
  CHECK(assumed(f).starts_with("the machine is hgx-h800, as it was told\n"));

  told.machine = "hgx-h100-4";
  CHECK(error(text, told).find("topo.xml has 8 GPUs and 8 NICs, but hgx-h100-4 has 4 and 4") != std::string::npos);
  told.machine = "hgx-h900";
  CHECK(error(text, told).find("no topology 'hgx-h900'") != std::string::npos);
}

TEST_CASE("a layout that no machine has is refused with what is missing", "[topologies][nccl][import]") {
  const auto message = error(
      "<system version=\"1\">\n  <cpu numaid=\"0\" arch=\"arm64\">\n    <pci busid=\"0000:01:00.0\" class=\"0x030200\" "
      "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"/>\n  </cpu>\n</system>\n");
  CHECK(message.find("topo.xml:3:6: error: GPU busid=\"0000:01:00.0\" has no <gpu dev sm rank> element") !=
        std::string::npos);
}

TEST_CASE("two ports of a card are one NIC with two ports, fused by NCCL or not", "[topologies][nccl][import]") {
  const std::string port =
      "net dev=\"0\" name=\"mlx5_0\" speed=\"100000\" port=\"1\" guid=\"0x1\" maxconn=\"131072\" gdr=\"0\"";
  const auto two = read(pair(nic_with("<" + port +
                                      "/><net dev=\"1\" name=\"mlx5_1\" speed=\"100000\" port=\"2\" "
                                      "guid=\"0x1\" maxconn=\"131072\" gdr=\"0\"/>")));
  const auto fused =
      read(pair(nic_with("<net dev=\"0\" name=\"mlx5_0+mlx5_1\" speed=\"200000\" port=\"1\" guid=\"0x1\" "
                         "keep=\"1\" maxconn=\"131072\" gdr=\"0\"/>")));
  for (const auto& f : {two, fused}) {
    CHECK(attribute_of_nic(f, "ports") == "2");
    CHECK(attribute_of_nic(f, "gbps") == "200");
    CHECK(attribute_of_nic(f, "gdr") == "0");
    CHECK(attribute_of_nic(f, "fabric") == "roce");  // 15b3:101d, an Ethernet controller
    CHECK(assumed(f).find("NCCL saw no GPUDirect RDMA") != std::string::npos);
  }
  CHECK(assumed(fused).find("mlx5_0+mlx5_1 is 2 ports that NCCL fused into one\n") != std::string::npos);
  // GPUs whose NVLinks lead to one other GPU are cards with a bridge.
  CHECK(two.devices()[static_cast<std::size_t>(two.gpus()[0])].model == "a100-pcie");
  CHECK(two.bisection().GBps() == Approx(12 * 25.0));
}

TEST_CASE("narrow slots and missing NVLinks are read as they are, and said", "[topologies][nccl][import]") {
  const auto f = read(pair("", 8, 8));
  const auto notes = assumed(f);
  CHECK(notes.find("degraded: GPU 0000:02:00.0 has PCIe gen 4 x8 where others have gen 4 x16\n") != std::string::npos);
  CHECK(notes.find("of the 12 NVLinks of a a100-pcie the file has 8\n") != std::string::npos);
  CHECK(f.bisection().GBps() == Approx(8 * 25.0));
  // Gen 4: 1.9692 GB/s a lane.
  double least = 1e9;
  for (const auto& l : f.links())
    if (l.kind == models::LinkKind::pcie) least = std::min(least, l.bare.GBps());
  CHECK(least == Approx(8 * 1.9692));
}

TEST_CASE("NVLinks that lead to their own GPU", "[topologies][nccl][import]") {
  // As Azure's NC A100 v4 has it: every GPU its own peer, no PCIe speeds, a port straight on the CPU.
  std::string text = "<system version=\"1\">\n";
  for (int i = 0; i < 4; ++i) {
    const auto n = std::to_string(i), bus = "000" + std::to_string(i + 1) + ":00:00.0";
    text += "<cpu numaid=\"" + n +
            "\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"175\" modelid=\"1\">\n<pci busid=\"" + bus +
            "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b5\" link_speed=\"\" link_width=\"0\"><gpu dev=\"" +
            n + "\" sm=\"80\" rank=\"" + n + "\" gdr=\"1\"><nvlink target=\"" + bus +
            "\" count=\"12\" tclass=\"0x030200\"/></gpu></pci>\n";
    if (i == 0)
      text +=
          "<nic><net name=\"eth0\" dev=\"0\" speed=\"100000\" port=\"0\" guid=\"0x0\" maxconn=\"65536\" "
          "gdr=\"0\"/></nic>\n";
    text += "</cpu>\n";
  }
  text += "</system>\n";
  const auto f = read(text);
  const auto notes = assumed(f);
  CHECK(notes.starts_with("the machine is azure-ncv4, recognised by the PCI addresses of its GPUs\n"));
  CHECK(notes.find("the file leads NVLinks of GPU 0001:00:00.0 to itself: replaced by those of azure-ncv4\n") !=
        std::string::npos);
  CHECK(notes.find("nic[0] has no PCIe link in the file: taken as pcie-gen4 with 16 lanes\n") != std::string::npos);
  const auto gpus = f.gpus();
  CHECK(f.route(gpus[0], gpus[1], topologies::Transport::nvlink));
  CHECK_FALSE(f.route(gpus[0], gpus[2], topologies::Transport::nvlink));
  CHECK(attribute_of_nic(f, "fabric") == "tcp");
}

TEST_CASE("hosts of a domain keep apart, and come back as trays", "[topologies][nccl][import]") {
  topologies::LoadOptions options;
  options.params["trays"] = "3";
  const auto rack = topologies::load("gb200-nvl72", options);
  const auto f = read(topologies::to_nccl_xml(rack));
  CHECK(f.gpus().size() == 12);
  CHECK_FALSE(f.route(f.gpus()[0], f.gpus()[4], topologies::Transport::host_memory));
  CHECK(graphs(f, 2) == graphs(rack, 2));
  const auto yaml = topologies::to_yaml(f);
  CHECK(yaml.find("  trays: 3\n") != std::string::npos);
  CHECK(yaml.find("gpus: {model: gb200, count: 4}") != std::string::npos);
}
