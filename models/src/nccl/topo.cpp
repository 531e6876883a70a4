// From a System to the graph that one version of NCCL searches: rescaled NVLinks, flattened Broadcom switches,
// connected CPUs, links in NCCL's order. Follows ncclTopoGetSystemFromXml's second half.
#include "nccl/topo.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::models::nccl {

Topo::Topo(const System& system, const Version& version, const PathOptions& options)
    : version_{version}, options_{options} {
  copy(system);
  flatten_switches();
  connect_cpus();
  sort_links();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto& node = nodes_[i];
    if (node.slot < 0) continue;  // a switch that was flattened away
    auto& list = by_type_[static_cast<std::size_t>(node.type)];
    node.slot = static_cast<int>(list.size());
    list.push_back(static_cast<int>(i));
  }
  for (auto& link : links_) {
    for (const int back : nodes_[link.to].links) {
      if (links_[back].to == link.from && links_[back].type == link.type) {
        link.reverse = back;
        break;
      }
    }
  }
  for (const int g : of(NodeType::gpu)) {
    const int cc = nodes_[g].facts->cc;
    cc_min_ = cc_min_ == 0 ? cc : std::min(cc_min_, cc);
    cc_max_ = std::max(cc_max_, cc);
  }
  if (count(NodeType::cpu) > 0) {
    const Node& cpu = *node(NodeType::cpu, 0).facts;
    x86_ = cpu.arch != "arm64" && cpu.arch != "ppc64";
    amd_ = x86_ && cpu.vendor == "AuthenticAMD";
    intel_ = x86_ && cpu.vendor == "GenuineIntel";
    power_ = cpu.arch == "ppc64";
  }
  find_hosts();

  for (auto type : {NodeType::cpu, NodeType::gpu, NodeType::net, NodeType::nvs}) {
    auto& table = paths_[static_cast<std::size_t>(type)];
    table.assign(static_cast<std::size_t>(count(type)), std::vector<Path>(nodes_.size()));
    for (int s = 0; s < count(type); ++s) set_paths(type, s);
  }
  for (int a = 0; a < gpus(); ++a) {
    for (int b = 0; b < gpus(); ++b) {
      if (a != b) raw_gpu_bw_ = std::max(raw_gpu_bw_, gpu_path(a, b).bw);
    }
  }
  divert_gpu_pairs();
  shorten_c2c_nets();
  reroute_nets();
  mark_intel_roots();
  note_local_nets();
}

int Topo::add_link(int from, int to, EdgeType type, float bw) {
  links_.push_back({from, to, type, bw});
  const int id = static_cast<int>(links_.size()) - 1;
  auto& out = nodes_[from].links;
  auto at = out.end();
  while (at != out.begin() && links_[*std::prev(at)].bw < bw) --at;
  out.insert(at, id);
  return id;
}

void Topo::copy(const System& system) {
  const auto& from = system.nodes();
  nodes_.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    nodes_[i].type = from[i].type;
    nodes_[i].slot = 0;
    nodes_[i].system_index = static_cast<int>(i);
    nodes_[i].facts = &from[i];
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (const Edge& e : system.edges()[i]) {
      if (e.type == EdgeType::sys) continue;
      auto type = e.type;
      double bw = e.bw_GBps;
      if (type == EdgeType::nvl) {
        const Node& gpu = from[i].type == NodeType::gpu ? from[i] : from[e.to];
        const double newest = nvlink_GBps(gpu.cc);
        // A System holds whole links of the newest version's speed; the quotient is their (possibly split) number.
        const auto count = static_cast<float>(std::round(e.bw_GBps / newest * 1e6) / 1e6);
        bw = static_cast<double>(count * static_cast<float>(nvlink_GBps(gpu.cc, version_)));
      }
      // Before 2.26 NVLink-C2C had no level of its own.
      if (type == EdgeType::c2c && version_ < Version{2, 26, 0}) type = EdgeType::nvl;
      links_.push_back({static_cast<int>(i), e.to, type, static_cast<float>(bw)});
      nodes_[i].links.push_back(static_cast<int>(links_.size()) - 1);
    }
  }
}

namespace {
// Broadcom (PEX) switches in base mode show two levels although every port runs at full rate.
int broadcom_generation(std::uint64_t device, std::uint64_t level) {
  const auto family = device & 0xfffffffffffff000ULL;
  if (family == 0x1000c0101000a000ULL) return 4;
  if (family == (0x1000c03010000000ULL | level * 0x1000ULL)) return 5;
  return 0;
}
}  // namespace

void Topo::flatten_switches() {
  for (std::size_t s = 0; s < nodes_.size(); ++s) {
    auto& top = nodes_[s];
    if (top.type != NodeType::pci || top.slot < 0) continue;
    const int generation = broadcom_generation(top.facts->pci_device, 0);
    if (generation == 0 || (generation == 5 && version_ < Version{2, 20, 0})) continue;
    std::vector<int> kept, subs;
    for (const int l : top.links) {
      const auto& below = nodes_[links_[l].to];
      const bool part = below.type == NodeType::pci && broadcom_generation(below.facts->pci_device, 1) == generation &&
                        below.slot >= 0;
      if (part)
        subs.push_back(links_[l].to);
      else
        kept.push_back(l);
    }
    top.links = kept;
    for (const int sub : subs) {
      if (sub == static_cast<int>(s)) continue;
      for (const int l : nodes_[sub].links) {
        const int device = links_[l].to;
        if (device == static_cast<int>(s)) continue;
        links_[l].from = static_cast<int>(s);
        top.links.push_back(l);
        for (const int up : nodes_[device].links) {
          if (links_[up].to == sub) links_[up].to = static_cast<int>(s);
        }
      }
      nodes_[sub].links.clear();
      nodes_[sub].slot = -1;
    }
  }
}

void Topo::connect_cpus() {
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    if (nodes_[a].type != NodeType::cpu) continue;
    for (std::size_t b = 0; b < nodes_.size(); ++b) {
      if (a == b || nodes_[b].type != NodeType::cpu || nodes_[a].facts->host != nodes_[b].facts->host) continue;
      add_link(static_cast<int>(a), static_cast<int>(b), EdgeType::sys,
               static_cast<float>(inter_cpu_GBps(*nodes_[a].facts, version_)));
    }
  }
}

// Links towards the CPU come last, so that a walk tries what is below first.
void Topo::sort_links() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].type == NodeType::cpu) sort_below(static_cast<int>(i), -1);
  }
}

void Topo::sort_below(int top, int up) {
  std::vector<std::pair<int, int>> todo{{top, up}};
  std::vector<char> seen(nodes_.size(), 0);
  while (!todo.empty()) {
    const auto [at, parent] = todo.back();
    todo.pop_back();
    if (seen[at]) continue;
    seen[at] = 1;
    auto& out = nodes_[at].links;
    if (parent >= 0) {
      const auto it = std::find_if(out.begin(), out.end(), [&, p = parent](int l) { return links_[l].to == p; });
      if (it != out.end()) std::rotate(it, it + 1, out.end());
    }
    for (const int l : out) {
      if (links_[l].type == EdgeType::pci && links_[l].to != parent) todo.emplace_back(links_[l].to, at);
    }
  }
}

void Topo::find_hosts() {
  std::vector<std::uint64_t> names;
  std::vector<int> todo;
  std::vector<char> seen(nodes_.size(), 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].type != NodeType::cpu) continue;
    const auto name = nodes_[i].facts->host;
    auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end()) it = names.insert(names.end(), name);
    nodes_[i].host = static_cast<int>(it - names.begin());
    seen[i] = 1;
    todo.push_back(static_cast<int>(i));
  }
  hosts_ = std::max<int>(1, static_cast<int>(names.size()));
  while (!todo.empty()) {
    const int at = todo.back();
    todo.pop_back();
    for (const int l : nodes_[at].links) {
      const auto& link = links_[l];
      const bool within = link.type == EdgeType::pci || link.type == EdgeType::net || link.type == EdgeType::c2c;
      if (!within || seen[link.to]) continue;
      seen[link.to] = 1;
      nodes_[link.to].host = nodes_[at].host;
      todo.push_back(link.to);
    }
  }
}

}  // namespace linkcast::models::nccl
