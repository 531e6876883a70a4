// NCCL's XML as written: the same graphs as the machine itself, and every attribute that NCCL wants.
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

/// Everything that the search found: order of ranks, speeds, path types, channels.
std::string found(nccl::System system, int nodes) {
  nccl::Config config;
  config.nodes = nodes;
  const nccl::Communicator c{std::move(system), config};
  std::ostringstream out;
  for (const auto& [name, g] : c.graphs()) {
    out << name << ' ' << g.pattern << ' ' << g.cross_nic << ' ' << g.channels << ' ' << g.bw_intra << ' ' << g.bw_inter
        << ' ' << name_of(g.type_intra) << ' ' << name_of(g.type_inter);
    for (const auto& channel : g.intra) {
      out << " [";
      for (const int r : channel) out << r << ' ';
      out << ']';
    }
    out << '\n';
  }
  out << c.channels().comm << ' ' << c.channels().p2p << ' ' << c.channels().p2p_per_peer;
  return out.str();
}

bool has_nics(const Fabric& f) {
  for (const auto& d : f.devices())
    if (d.kind == DeviceKind::nic) return true;
  return false;
}

}  // namespace

TEST_CASE("NCCL finds in the exported XML what it finds in the machine, for the whole catalog",
          "[topologies][nccl][export]") {
  for (const auto& name : topologies::catalog_names()) {
    topologies::LoadOptions options;
    if (name.ends_with("-nvl72")) options.params["trays"] = "3";  // whole racks below
    const auto f = topologies::load(name, options);
    const auto xml = nccl::read_topology_xml(topologies::to_nccl_xml(f), name + ".xml");
    const auto view = topologies::nccl_system(f);
    for (const int nodes : {1, 4}) {
      if (nodes > 1 && !has_nics(f)) continue;
      INFO(name << ", " << nodes << " nodes");
      CHECK(found(xml, nodes) == found(view, nodes));
    }
  }
}

TEST_CASE("a rack as XML: 18 hosts, one line of NVLinks per GPU, as NCCL fuses domains", "[topologies][nccl][export]") {
  const auto rack = topologies::load("gb200-nvl72");
  const auto text = topologies::to_nccl_xml(rack);
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  CHECK(count("<cpu host_hash=") == 36);
  CHECK(count("<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>") == 72);
  CHECK(count("<c2c bw=\"44712\" count=\"5\"/>") == 72);
  CHECK(count("guid=\"0x4100\"") == 1);  // (64 * host 1 + NIC 0 + 1) << 8
  const auto xml = nccl::read_topology_xml(text, "rack.xml");
  CHECK(xml.of_type(nccl::NodeType::gpu).size() == 72);
}

TEST_CASE("elements as NCCL writes them", "[topologies][nccl][export]") {
  // Two GPUs of a machine with addresses of its own.
  const auto f = topologies::load("aws-p4d").slice(std::vector<int>{0, 1});
  const auto text = topologies::to_nccl_xml(f);
  CHECK(text.starts_with(R"(<!-- aws-p4d: AWS p4d.24xlarge, 8 A100 40 GB, 4 x 100 Gb/s EFA, written by Linkcast. -->
<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:16:00.0" class="0x060400" vendor="0x10b5" device="0x8796" subsystem_vendor="0x10b5" subsystem_device="0x0000" link_speed="8.0 GT/s PCIe" link_width="16">
      <pci busid="0000:10:1c.0" class="0x030200" vendor="0x10de" device="0x20b0" subsystem_vendor="0x10de" subsystem_device="0x0000" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target=")"));
  CHECK(text.find(R"(<pci busid="0000:10:1b.0" class="0x020000" vendor="0x1d0f" device="0xefa0")") !=
        std::string::npos);
  CHECK(
      text.find(
          R"(<net name="nic0" dev="0" latency="0.000000" speed="100000" port="1" guid="0x100" maxconn="131072" gdr="1" coll="0" net="1"/>)") !=
      std::string::npos);
}

TEST_CASE("what was written reads as the same machine", "[topologies][nccl][export]") {
  for (const auto* name : {"dgx-h100", "dgx-a100", "hgx-b200", "hgx-b300", "gh200-x4", "aws-p4d", "dgx1-v100"}) {
    INFO(name);
    const auto f = topologies::load(name);
    const auto again = topologies::fabric_from_nccl_xml(topologies::to_nccl_xml(f), "topo.xml", "topo");
    CHECK(again.bisection() == f.bisection());
    CHECK(again.gpus().size() == f.gpus().size());
    CHECK(again.nvls(again.gpus()) == f.nvls(f.gpus()));
    CHECK(again.devices().size() == f.devices().size());
    CHECK(again.links().size() == f.links().size());
  }
}
