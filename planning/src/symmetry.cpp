// See symmetry.hpp.
#include "symmetry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace linkcast::planning {
namespace {

class Graph {
 public:
  int add(const std::string& colour) {
    const auto [at, fresh] = names_.try_emplace(colour, static_cast<int>(names_.size()));
    colours_.push_back(at->second);
    next_.emplace_back();
    return static_cast<int>(colours_.size()) - 1;
  }
  void join(int a, int b) {
    next_[static_cast<std::size_t>(a)].push_back(b);
    next_[static_cast<std::size_t>(b)].push_back(a);
  }
  /// Splits colours by those of the neighbours until nothing splits any more.
  void refine() {
    std::size_t classes = names_.size();
    std::vector<std::vector<int>> signature(colours_.size());
    std::vector<std::size_t> order(colours_.size());
    while (true) {
      for (std::size_t v = 0; v < colours_.size(); ++v) {
        auto& s = signature[v];
        s.clear();
        for (const int n : next_[v]) s.push_back(colours_[static_cast<std::size_t>(n)]);
        std::ranges::sort(s);
        s.push_back(colours_[v]);
      }
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, [&](auto a, auto b) { return signature[a] < signature[b]; });
      int colour = -1;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || signature[order[i]] != signature[order[i - 1]]) ++colour;
        colours_[order[i]] = colour;
      }
      if (static_cast<std::size_t>(colour + 1) == classes) return;
      classes = static_cast<std::size_t>(colour + 1);
    }
  }
  int colour(int v) const { return colours_[static_cast<std::size_t>(v)]; }

 private:
  std::map<std::string, int> names_;
  std::vector<int> colours_;
  std::vector<std::vector<int>> next_;
};

}  // namespace

std::vector<ElementClass> alike(const Elements& elements, std::span<const Element> parts,
                                const std::function<int(int rank)>& role) {
  const auto& cluster = elements.cluster();
  const auto& net = cluster.network();
  const int each = cluster.gpus_per_node();
  Graph g;
  std::vector<int> ports, cables, switches;
  for (std::size_t p = 0; p < net.ports(); ++p) ports.push_back(g.add("port"));
  for (const auto& s : net.switches()) switches.push_back(g.add(fmt::format("switch {} {} {}", s.tier, s.model, s.up)));
  for (const auto& c : net.cables()) {
    const auto& m = net.cable_models()[c.model];
    const int v = g.add(fmt::format("cable {} {} {} {}", m.bare.bytes_per_second(), m.latency.ps(), c.count, c.up));
    cables.push_back(v);
    for (const auto end : {c.a, c.b}) g.join(v, end < net.ports() ? ports[end] : switches[end - net.ports()]);
  }
  struct Machine {
    int node = -1;
    std::vector<int> devices, links;
  };
  std::vector<Machine> machines;
  for (int i = 0; i < cluster.nodes(); ++i) {
    const auto& f = cluster.machine(i);
    Machine m;
    m.node = g.add("node");
    std::map<topologies::DeviceId, int> rank_of;
    for (std::size_t l = 0; l < f.gpus().size(); ++l) rank_of[f.gpus()[l]] = i * each + static_cast<int>(l);
    int nic = 0;
    for (std::size_t d = 0; d < f.devices().size(); ++d) {
      const auto& device = f.devices()[d];
      const auto rank = rank_of.find(topologies::DeviceId{static_cast<std::uint32_t>(d)});
      const int v = g.add(fmt::format("{} {} {}", topologies::name_of(device.kind), device.model,
                                      rank == rank_of.end() ? -1 : role(rank->second)));
      m.devices.push_back(v);
      g.join(v, m.node);
      if (device.kind == topologies::DeviceKind::nic && !net.empty())
        for (const auto port : net.ports_of(cluster.original_node(i), nic++))
          g.join(v, ports[static_cast<std::size_t>(port)]);
    }
    for (std::size_t l = 0; l < f.links().size(); ++l) {
      const auto& link = f.links()[l];
      const int v = g.add(fmt::format("link {} {} {} {} {} {}", static_cast<int>(link.kind), link.model, link.width,
                                      link.payload.bytes_per_second(), link.latency.ps(),
                                      f.usable(topologies::LinkId{static_cast<std::uint32_t>(l)})));
      m.links.push_back(v);
      g.join(v, m.devices[static_cast<std::size_t>(link.a)]);
      g.join(v, m.devices[static_cast<std::size_t>(link.b)]);
    }
    machines.push_back(std::move(m));
  }
  g.refine();

  std::map<std::vector<int>, std::size_t> known;
  std::vector<ElementClass> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& e = parts[i];
    std::vector<int> colours{static_cast<int>(e.kind)};
    if (e.node >= 0 && e.job_node >= 0) {
      const auto& m = machines[static_cast<std::size_t>(e.job_node)];
      colours.push_back(g.colour(e.link >= 0     ? m.links[static_cast<std::size_t>(e.link)]
                                 : e.device >= 0 ? m.devices[static_cast<std::size_t>(e.device)]
                                                 : m.node));
    } else if (!e.cables.empty()) {
      for (const int c : e.cables) colours.push_back(g.colour(cables[static_cast<std::size_t>(c)]));
      std::sort(colours.begin() + 1, colours.end());
    } else if (e.network_switch >= 0) {
      colours.push_back(g.colour(switches[static_cast<std::size_t>(e.network_switch)]));
    }
    const auto [at, fresh] = known.try_emplace(std::move(colours), out.size());
    if (fresh) out.emplace_back();
    auto& c = out[at->second];
    c.members.push_back(i);
    c.count += std::max(1, e.count);
  }
  return out;
}

}  // namespace linkcast::planning
