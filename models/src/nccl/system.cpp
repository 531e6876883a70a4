// The graph of one node as NCCL's detection leaves it, and NCCL's constants for its links by version. Source:
// NCCL's src/graph/topo.h of the tags v2.12.12 to v2.30.7. Knows no file format and no search.
#include "linkcast/models/nccl/system.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::models::nccl {

std::string_view name_of(PathType t) {
  constexpr std::string_view names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                        "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
  return names[static_cast<std::size_t>(t)];
}

int System::add(Node n) {
  nodes_.push_back(std::move(n));
  edges_.emplace_back();
  return static_cast<int>(nodes_.size()) - 1;
}

void System::connect(int a, int b, EdgeType t, double bw_GBps) {
  connect_one_way(a, b, t, bw_GBps);
  connect_one_way(b, a, t, bw_GBps);
}

// NCCL tries the links of a node in the order of their bandwidth, equal ones in the order of their arrival; the
// search depends on that order.
void System::connect_one_way(int from, int to, EdgeType t, double bw_GBps) {
  auto& out = edges_[from];
  auto it = std::find_if(out.begin(), out.end(), [&](const Edge& e) { return e.to == to && e.type == t; });
  if (it == out.end()) it = out.insert(out.end(), Edge{to, t, 0});
  it->bw_GBps += bw_GBps;
  while (it != out.begin() && std::prev(it)->bw_GBps < it->bw_GBps) {
    std::iter_swap(it, std::prev(it));
    --it;
  }
}

std::vector<int> System::of_type(NodeType t) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].type == t) found.push_back(static_cast<int>(i));
  }
  return found;
}

double nvlink_GBps(int cc, const Version& version) {
  if (cc >= 100 && version >= Version{2, 25, 0}) return version >= Version{2, 27, 0} ? 40.1 : 40.0;
  if (cc >= 90 && version >= Version{2, 18, 0}) return version >= Version{2, 20, 0} ? 20.6 : 20.0;
  if (cc == 86) return 12.0;
  if (cc >= 60 && cc < 70) return 18.0;
  return version >= Version{2, 18, 0} ? 20.0 : 22.0;
}

double pcie_GBps(double gigatransfers, int lanes) {
  // Units of 100 Mb/s per lane; a speed that NCCL does not know counts as Gen3.
  const struct {
    double speed;
    int units;
  } table[] = {{2.5, 15}, {5, 30}, {8, 60}, {16, 120}, {32, 240}, {64, 480}};
  int units = 60;
  for (const auto& row : table) {
    if (std::abs(row.speed - gigatransfers) < 1e-6) units = row.units;
  }
  return (lanes == 0 ? 16 : lanes) * units / 80.0;
}

double inter_cpu_GBps(const Node& cpu, const Version& version) {
  if (cpu.arch == "ppc64") return 32;
  if (cpu.arch == "arm64") return 6;
  if (cpu.vendor == "GenuineIntel") {
    const int model = cpu.family == 6 ? cpu.model : 0;
    if (version >= Version{2, 26, 0} && model >= 0xCF) return 40;
    if (version >= Version{2, 26, 0} && model >= 0x8F) return 22;
    if (model >= 0x55) return version >= Version{2, 18, 0} ? 10 : 9;
    return 6;
  }
  if (cpu.vendor == "AuthenticAMD") return version >= Version{2, 19, 0} ? 16 : 5000;
  if (cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ") {
    return cpu.family == 7 && cpu.model == 0x5B ? 9 : 6;
  }
  return 5000;
}

}  // namespace linkcast::models::nccl
