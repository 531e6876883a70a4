// The machines of the catalog that are more than one host, or a cloud's: what they are made of, counted by hand, and
// that NCCL finds in them what it finds in the XML of such machines.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/describe.hpp"
#include "linkcast/topologies/nccl_view.hpp"

using namespace linkcast;
namespace nccl = models::nccl;
using topologies::DeviceKind;
using topologies::Fabric;

namespace {

std::string file(const std::string& path) {
  std::ifstream in{std::string{LINKCAST_SOURCE_DIR} + "/" + path};
  REQUIRE(in.good());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

nccl::System oracle(const std::string& name) {
  return nccl::read_topology_xml(file("tests/data/oracle/topologies/" + name + ".xml"), name + ".xml");
}

/// All that the search sees of a system, and to which host each node belongs.
std::string seen(const nccl::System& s) {
  std::ostringstream out;
  for (std::size_t i = 0; i < s.nodes().size(); ++i) {
    const auto& n = s.nodes()[i];
    out << i << " type " << static_cast<int>(n.type) << " host " << (n.id >> 56) << " rank " << n.rank << " cc " << n.cc
        << ' ' << n.arch << ' ' << n.vendor << ' ' << n.family << ' ' << n.model << " net " << n.net_GBps << " guid "
        << n.guid << " port " << n.port << " gdr " << n.gdr;
    if (n.type == nccl::NodeType::gpu) out << " dev " << n.dev;
    if (n.type == nccl::NodeType::cpu) out << " numa " << n.id << " hash " << n.host;
    for (const auto& e : s.edges()[i])
      out << " ->" << e.to << " type " << static_cast<int>(e.type) << " bw " << e.bw_GBps;
    out << '\n';
  }
  return out.str();
}

Fabric trays(const char* name, int n) {
  topologies::LoadOptions o;
  o.params["trays"] = std::to_string(n);
  return topologies::load(name, o);
}

std::vector<topologies::DeviceId> all(const Fabric& f, DeviceKind kind) {
  std::vector<topologies::DeviceId> out;
  for (std::size_t d = 0; d < f.devices().size(); ++d) {
    if (f.devices()[d].kind == kind) out.push_back(topologies::DeviceId{static_cast<std::uint32_t>(d)});
  }
  return out;
}
int count(const Fabric& f, DeviceKind kind) { return static_cast<int>(all(f, kind).size()); }

std::string attribute(const Fabric& f, topologies::DeviceId d, const std::string& key) {
  const auto& attributes = f.devices()[static_cast<std::size_t>(d)].attributes;
  const auto it = attributes.find(key);
  return it == attributes.end() ? "" : it->second;
}

/// "ring 16x45/45 tree …": channels and speeds of every graph.
std::string graphs(const Fabric& f, int nodes) {
  nccl::Config config;
  config.nodes = nodes;
  const nccl::Communicator c{topologies::nccl_system(f), config};
  std::ostringstream out;
  for (const auto& [name, g] : c.graphs())
    out << name << ' ' << g.channels << 'x' << g.bw_intra << '/' << g.bw_inter << ' ' << name_of(g.type_inter) << "; ";
  out << "channels " << c.channels().comm << ", per peer " << c.channels().p2p_per_peer;
  return out.str();
}

}  // namespace

TEST_CASE("a GB200 rack is one machine of 18 hosts", "[topologies][machines]") {
  const auto rack = topologies::load("gb200-nvl72");
  CHECK(rack.gpus().size() == 72);
  CHECK(count(rack, DeviceKind::cpu) == 36);
  CHECK(count(rack, DeviceKind::nic) == 72);
  CHECK(count(rack, DeviceKind::nvswitch) == 18);
  // 36 GPUs on each side, each with 18 links of 50 GB/s.
  CHECK(rack.bisection().GBps() == Approx(36 * 18 * 50.0));
  CHECK(rack.nvls(rack.gpus()));
  // 72 GPUs are 4 on each of 18 hosts, and every host has the rails 0 to 3.
  const auto& last = rack.devices()[static_cast<std::size_t>(rack.gpus()[71])];
  CHECK(last.node == 17);
  const auto nics = all(rack, DeviceKind::nic);
  CHECK(attribute(rack, nics[71], "rail") == "3");
  CHECK(attribute(rack, nics[4], "rail") == "0");
  // No cable leads from the PCIe or the CPUs of one host to those of another.
  CHECK_FALSE(rack.route(rack.gpus()[0], rack.gpus()[4], topologies::Transport::pcie_p2p));
  CHECK_FALSE(rack.route(rack.gpus()[0], rack.gpus()[4], topologies::Transport::host_memory));
  CHECK(rack.route(rack.gpus()[0], rack.gpus()[2], topologies::Transport::host_memory));
  CHECK_FALSE(rack.route_to_nic(rack.gpus()[0], nics[4]));
  CHECK(rack.route_to_nic(rack.gpus()[0], nics[1]));
}

TEST_CASE("NCCL sees GB200 trays as in their XML: one tray, half a rack, a rack", "[topologies][machines][nccl]") {
  CHECK(seen(topologies::nccl_system(trays("gb200-nvl72", 1))) == seen(oracle("gb200_1tray")));
  CHECK(seen(topologies::nccl_system(trays("gb200-nvl72", 9))) == seen(oracle("gb200_nvl36")));
  CHECK(seen(topologies::nccl_system(trays("gb200-nvl72", 18))) == seen(oracle("gb200_nvl72")));
}

// The lines of tests/data/oracle/nccl-2.30.7.jsonl, written out.
TEST_CASE("graphs and channels of GB200 as recorded from NCCL", "[topologies][machines][nccl]") {
  CHECK(graphs(trays("gb200-nvl72", 1), 4) ==
        "NVLS 4x48/48 P2C; RING 8x24/24 P2C; TREE 8x48/24 P2C; channels 16, per peer 4");
  CHECK(graphs(trays("gb200-nvl72", 9), 1) ==
        "NVLS 32x20/40 PIX; RING 16x45/45 PIX; TREE 16x45/45 PIX; channels 32, per peer 32");
  CHECK(graphs(topologies::load("gb200-nvl72"), 2) ==
        "NVLS 32x20/40 P2C; RING 16x45.1/45.1 P2C; TREE 16x45.1/45.1 P2C; channels 32, per peer 1");
}

TEST_CASE("trays: wrong numbers are told", "[topologies][machines]") {
  CHECK_THROWS_WITH(trays("gb200-nvl72", 19), Catch::Contains("parameter 'trays' cannot be '19'"));
}

TEST_CASE("machines of clouds and sites: GPUs, NICs, ports, rate and usual network", "[topologies][machines]") {
  struct Row {
    const char* name;
    int gpus, nics, ports;
    double gbps;  // of a NIC, all its ports together
    const char* fabric;
  };
  const Row rows[] = {
      {"azure-ndv2", 8, 1, 1, 100, ""},
      {"azure-ndv4", 8, 8, 1, 200, ""},
      {"azure-ndv5", 8, 8, 1, 400, ""},
      {"azure-ndv5-h200", 8, 8, 1, 400, ""},
      {"azure-ncv4", 4, 1, 1, 100, "tcp"},
      {"aws-p4d", 8, 4, 1, 100, "efa"},  // 400 Gb/s
      {"aws-p4de", 8, 4, 1, 100, "efa"},
      {"aws-p5", 8, 8, 4, 400, "efa"},  // 32 x 100 = 3200 Gb/s
      {"aws-p5en", 8, 8, 2, 400, "efa"},
      {"aws-p6-b200", 8, 8, 1, 400, "efa"},
      {"aws-g5", 8, 1, 1, 100, "efa"},
      {"gcp-a3-high", 8, 4, 1, 200, "tcpx"},
      {"gcp-a3-mega", 8, 8, 1, 200, "tcpxo"},
      {"gcp-a3-ultra", 8, 8, 1, 400, "roce"},
      {"gcp-a4", 8, 8, 1, 400, "roce"},
      {"meta-grand-teton", 8, 8, 1, 400, "roce"},
      {"hpn-host", 8, 8, 2, 400, "roce"},
      {"oci-bm-gpu-h100", 8, 8, 2, 400, "roce"},
      {"oci-bm-gpu-a100", 8, 8, 2, 200, "roce"},
      {"polaris", 4, 2, 1, 200, "slingshot"},
      {"gh200-x4", 4, 4, 1, 200, "slingshot"},
      {"dgx-h100", 8, 8, 1, 400, ""},
      {"dgx-a100", 8, 8, 1, 200, ""},
      {"hgx-b300", 8, 8, 1, 800, ""},
      {"gb200-nvl72", 72, 72, 1, 400, ""},
      {"gb300-nvl72", 72, 72, 1, 800, ""},
      {"dgx1-v100", 8, 4, 1, 100, ""},
      {"dgx2-v100", 16, 8, 1, 100, ""},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    const auto f = topologies::load(row.name);
    CHECK(f.gpus().size() == static_cast<std::size_t>(row.gpus));
    const auto nics = all(f, DeviceKind::nic);
    REQUIRE(static_cast<int>(nics.size()) == row.nics);
    for (const auto nic : nics) {
      CHECK(std::atof(attribute(f, nic, "gbps").c_str()) == row.gbps);
      CHECK(attribute(f, nic, "ports") == (row.ports == 1 ? "" : std::to_string(row.ports)));
      CHECK(attribute(f, nic, "fabric") == row.fabric);
    }
  }
}

TEST_CASE("graphs that NCCL finds in machines of clouds", "[topologies][machines][nccl]") {
  // NCCL run on the file that AWS ships, with what the machine fills in: four rings of a gen 3 x16, 8 channels.
  CHECK(graphs(topologies::load("aws-p4d"), 4) == "RING 4x12/12 PIX; TREE 4x24/12 PIX; channels 8, per peer 1");
  // NDv4 and NDv5, likewise: as the boards below them.
  CHECK(graphs(topologies::load("azure-ndv4"), 4) == graphs(topologies::load("dgx-a100"), 4));
  CHECK(graphs(topologies::load("azure-ndv5"), 4) == graphs(topologies::load("dgx-h100"), 4));
  // Four EFA that NCCL sees as one are one 400 Gb/s NIC beside each GPU: as in a DGX H100.
  CHECK(graphs(topologies::load("aws-p5"), 4) == graphs(topologies::load("dgx-h100"), 4));
}

TEST_CASE("plain TCP has no GPUDirect: NCCL sees the port without it", "[topologies][machines][nccl]") {
  const auto gdr = [](const char* name) {
    const auto s = topologies::nccl_system(topologies::load(name));
    return s.nodes()[static_cast<std::size_t>(s.of_type(nccl::NodeType::net).front())].gdr;
  };
  CHECK_FALSE(gdr("azure-ncv4"));
  CHECK(gdr("gcp-a3-high"));
  CHECK(gdr("dgx-h100"));
}
