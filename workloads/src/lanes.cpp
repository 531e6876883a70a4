#include "lanes.hpp"

#include <algorithm>
#include <array>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Version;
using topologies::DeviceKind;
using topologies::Fabric;
using topologies::Hop;
using topologies::Route;
using topologies::Transport;

// Path classes that matter for P2P over PCIe, in NCCL's order (NCCL include/graph.h).
enum PathClass : int { loc = 0, nvl = 1, pix = 2, pxb = 3, phb = 4, sys = 5 };

int class_of(const Fabric& fabric, const Route& route) {
  int switches = 0;
  int cpus = 0;
  for (const Hop& hop : route.hops) {
    const auto& link = fabric.links()[static_cast<std::size_t>(hop.link)];
    if (link.kind == models::LinkKind::inter_socket) return sys;
    const auto far = hop.forward ? link.b : link.a;
    const auto kind = fabric.devices()[static_cast<std::size_t>(far)].kind;
    if (kind == DeviceKind::pcie_switch) ++switches;
    if (kind == DeviceKind::cpu) ++cpus;
  }
  if (cpus > 1) return sys;
  if (cpus == 1) return phb;
  return switches > 1 ? pxb : pix;
}

struct Cpu {
  bool arm = false, amd = false;
};

Cpu cpu_of(const Fabric& fabric) {
  for (const auto& d : fabric.devices()) {
    if (d.kind != DeviceKind::cpu) continue;
    const auto attribute = [&](const char* key) {
      const auto it = d.attributes.find(key);
      return it == d.attributes.end() ? std::string{} : it->second;
    };
    return {attribute("arch") == "arm64", attribute("vendor") == "AuthenticAMD"};
  }
  return {};
}

// The level up to which NCCL uses P2P when the user says nothing: everything until 2.22 (but not through ARM CPUs),
// from 2.23 only below a host bridge, and everything for one or two GPUs on AMD (paths.cc, ncclTopoCheckP2p).
int default_level(const Fabric& fabric, const Version& v) {
  const Cpu cpu = cpu_of(fabric);
  if (v < Version{2, 23, 0}) return cpu.arm ? pxb : sys;
  return cpu.amd && fabric.gpus().size() <= 2 ? sys : pxb;
}

int parse_level(const std::string& value) {
  constexpr std::array<std::pair<std::string_view, int>, 12> words{{{"LOC", loc},
                                                                    {"NVL", nvl},
                                                                    {"PIX", pix},
                                                                    {"PXB", pxb},
                                                                    {"PHB", phb},
                                                                    {"SYS", sys},
                                                                    {"0", loc},
                                                                    {"1", pix},
                                                                    {"2", pxb},
                                                                    {"3", phb},
                                                                    {"4", sys},
                                                                    {"5", sys}}};
  for (const auto& [word, level] : words)
    if (value == word) return level;
  throw sim::InputError("NCCL_P2P_LEVEL=" + value + " is not a level", "write LOC, NVL, PIX, PXB, PHB or SYS");
}

}  // namespace

Lanes::Lanes(const Fabric& fabric, const Version& version, const models::nccl::Environment& env)
    : fabric_{fabric}, ranks_{static_cast<int>(fabric.gpus().size())} {
  level_ = default_level(fabric, version);
  if (const auto level = env.get("NCCL_P2P_LEVEL")) level_ = parse_level(*level);
  const auto disable = env.integer("NCCL_P2P_DISABLE");
  p2p_ = !(disable && *disable == 1) && level_ > loc;
  pcie_p2p_ = p2p_ && fabric.pcie_p2p();
  const auto n = static_cast<std::size_t>(ranks_);
  cache_.assign(n, std::vector<Lane>(n));
  known_.assign(n, std::vector<bool>(n, false));
}

const Lane& Lanes::between(int from, int to) const {
  const auto f = static_cast<std::size_t>(from);
  const auto t = static_cast<std::size_t>(to);
  if (!known_[f][t]) {
    cache_[f][t] = find(from, to);
    known_[f][t] = true;
  }
  return cache_[f][t];
}

Lane Lanes::find(int from, int to) const {
  const auto a = fabric_.gpus()[static_cast<std::size_t>(from)];
  const auto b = fabric_.gpus()[static_cast<std::size_t>(to)];
  std::optional<Route> route;
  if (p2p_) route = fabric_.route(a, b, Transport::nvlink);
  if (!route && pcie_p2p_) {
    route = fabric_.route(a, b, Transport::pcie_p2p);
    if (route && class_of(fabric_, *route) > level_) route.reset();
  }
  if (!route) route = fabric_.route(a, b, Transport::host_memory);
  if (!route) {
    const auto name = [&](topologies::DeviceId id) { return fabric_.devices()[static_cast<std::size_t>(id)].name; };
    throw sim::InputError(fabric_.name() + ": no path from " + name(a) + " to " + name(b),
                          "connect them by NVLink, or both to a CPU");
  }
  Lane lane;
  lane.transport = route->transport;
  lane.latency = route->latency;
  const auto load = [&](sim::ResourceId id, double weight) {
    const auto it =
        std::find_if(lane.usages.begin(), lane.usages.end(), [&](const auto& u) { return u.resource == id; });
    if (it == lane.usages.end())
      lane.usages.push_back({id, weight});
    else
      it->weight += weight;
  };
  for (const Hop& hop : route->hops) {
    load(Fabric::resource(hop.link, hop.forward), hop.weight);
    const bool pcie = fabric_.links()[static_cast<std::size_t>(hop.link)].kind == models::LinkKind::pcie;
    if (lane.transport == Transport::host_memory && pcie)
      load(Fabric::resource(hop.link, !hop.forward), hop.weight * host_path_coupling);
  }
  return lane;
}

}  // namespace linkcast::workloads
