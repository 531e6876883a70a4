// NCCL's view of a catalog machine is the graph that NCCL reads from that machine's XML.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "linkcast/topologies/nccl_import.hpp"
#include "linkcast/topologies/nccl_view.hpp"

namespace fs = std::filesystem;
using namespace linkcast;
namespace nccl = models::nccl;

namespace {

/// All that the search sees of a system, as text.
std::string dump(const nccl::System& s) {
  std::ostringstream out;
  for (std::size_t i = 0; i < s.nodes().size(); ++i) {
    const auto& n = s.nodes()[i];
    out << i << " type " << static_cast<int>(n.type) << " dev " << n.dev << " rank " << n.rank << " cc " << n.cc << ' '
        << n.arch << ' ' << n.vendor << ' ' << n.family << ' ' << n.model << " net " << n.net_GBps;
    if (n.type == nccl::NodeType::cpu) out << " numa " << n.id;
    for (const auto& e : s.edges()[i])
      out << " ->" << e.to << " type " << static_cast<int>(e.type) << " bw " << e.bw_GBps;
    out << '\n';
  }
  return out.str();
}

fs::path oracle(const std::string& name) {
  const auto root = fs::path{LINKCAST_SOURCE_DIR} / "tests/data/oracle";
  for (const auto& p : {root / "topologies" / (name + ".xml"), root / (name + ".xml")}) {
    if (fs::exists(p)) return p;
  }
  return {};
}

nccl::System read(const fs::path& p) {
  std::ifstream in{p};
  std::stringstream text;
  text << in.rdbuf();
  return nccl::read_topology_xml(text.str(), p.string());
}

}  // namespace

TEST_CASE("catalog machines look to NCCL as their XML does", "[topologies][nccl]") {
  const std::pair<const char*, const char*> pairs[] = {
      {"dgx-a100", "dgxa100"}, {"dgx-h100", "dgxh100"}, {"hgx-b200", "b200_8x400"}, {"hgx-b300", "b300_8x800"}};
  for (const auto& [name, xml] : pairs) {
    INFO(name);
    const auto path = oracle(xml);
    REQUIRE_FALSE(path.empty());
    CHECK(dump(topologies::nccl_system(topologies::load(name))) == dump(read(path)));
  }
}

TEST_CASE("an imported XML is wired as its kind of machine and looks the same again", "[topologies][nccl]") {
  const auto path = oracle("dgxh100");
  REQUIRE_FALSE(path.empty());
  const auto system = read(path);
  const auto fabric = topologies::fabric_from_nccl(system, "dgxh100");
  CHECK(fabric.bisection().GBps() == Approx(1800));
  CHECK(fabric.nvls(fabric.gpus()));
  CHECK(dump(topologies::nccl_system(fabric)) == dump(system));
  // 18 links of a Hopper GPU: 4-5-5-4.
  const auto route = fabric.route(fabric.gpus()[0], fabric.gpus()[1], topologies::Transport::nvlink);
  REQUIRE(route);
  CHECK(route->hops.front().weight == Approx(4.0 / 18));
}

TEST_CASE("a slice is what NCCL sees of it: unused GPUs are trimmed, NICs stay", "[topologies][nccl]") {
  const auto f = topologies::load("dgx-h100").slice(std::vector<int>{2, 5});
  const auto s = topologies::nccl_system(f);
  REQUIRE(s.of_type(nccl::NodeType::gpu).size() == 2);
  CHECK(s.of_type(nccl::NodeType::net).size() == 8);
  CHECK(s.nodes()[static_cast<std::size_t>(s.of_type(nccl::NodeType::gpu)[0])].dev == 2);
  CHECK(s.nodes()[static_cast<std::size_t>(s.of_type(nccl::NodeType::gpu)[0])].rank == 0);
}

TEST_CASE("direct links: each end brings its own NVLinks", "[topologies][nccl]") {
  const auto s = topologies::nccl_system(topologies::load("hgx-h100-4"));
  const auto gpus = s.of_type(nccl::NodeType::gpu);
  double nvl = 0;
  for (const auto& e : s.edges()[static_cast<std::size_t>(gpus[0])]) {
    if (e.type == nccl::EdgeType::nvl) nvl += e.bw_GBps;
  }
  CHECK(nvl == Approx(18 * 20.6));  // three peers, six links of NCCL's 20.6 GB/s
  CHECK(s.of_type(nccl::NodeType::nvs).empty());
}
