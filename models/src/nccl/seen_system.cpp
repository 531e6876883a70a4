// See seen_system.hpp. Sources: ncclIbInitDevices (transport/net_ib/init.cc: NCCL_IB_HCA, NCCL_IB_DISABLE) and
// ncclTopoMakeVNics (graph/topo.cc: fusion of ports) of NCCL. NCCL_TOPO_FILE is the System itself.
#include "nccl/seen_system.hpp"

#include <algorithm>
#include <numeric>

#include "linkcast/models/nccl/network_defaults.hpp"
#include "nccl/rules.hpp"

namespace linkcast::models::nccl {

namespace {

constexpr std::size_t most_fused = 4;  // NCCL_NET_MAX_DEVS_PER_NIC

struct Wish {
  std::string name;
  int port = -1, rail = -1, plane = -1;
};

// name[:port[:rail[:plane]]],…
std::vector<Wish> wishes(std::string_view text) {
  std::vector<Wish> list;
  while (!text.empty()) {
    auto entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    Wish wish;
    int* const numbers[] = {&wish.port, &wish.rail, &wish.plane};
    wish.name = entry.substr(0, entry.find(':'));
    for (int* n : numbers) {
      const auto colon = entry.find(':');
      if (colon == std::string_view::npos) break;
      entry.remove_prefix(colon + 1);
      const auto digits = std::string{entry.substr(0, entry.find(':'))};
      if (!digits.empty()) *n = std::atoi(digits.c_str());
    }
    if (!wish.name.empty()) list.push_back(std::move(wish));
  }
  return list;
}

bool matches(const std::string& name, int port, const Wish& wish, bool exact) {
  const bool named = exact ? name == wish.name : name.starts_with(wish.name);
  return named && (wish.port < 0 || port <= 0 || wish.port == port);
}

std::string all_names(const System& s) {
  std::string names;
  for (const int n : s.of_type(NodeType::net)) names += (names.empty() ? "" : ", ") + s.nodes()[n].name;
  return names;
}

/// Keeps what is to be kept: nodes are renumbered, edges between kept nodes stay in their order.
System without(const System& from, const std::vector<char>& dropped) {
  System to;
  to.name = from.name;
  std::vector<int> moved(from.nodes().size(), -1);
  for (std::size_t i = 0; i < from.nodes().size(); ++i) {
    if (dropped[i] == 0) moved[i] = to.add(from.nodes()[i]);
  }
  for (std::size_t i = 0; i < from.nodes().size(); ++i) {
    if (moved[i] < 0) continue;
    for (const Edge& e : from.edges()[i]) {
      if (moved[e.to] >= 0) to.connect_one_way(moved[i], moved[e.to], e.type, e.bw_GBps);
    }
  }
  return to;
}

// NCCL calls a device by its name in the kernel. Machines that were not read from a file have names of their own; there
// mlx5_<i> is the i-th port.
std::string device_name(const Node& net, int index, bool kernel_names) {
  return kernel_names ? net.name : "mlx5_" + std::to_string(index);
}

class Ports {
 public:
  explicit Ports(const System& given) : system{given} {
    const auto nets = system.of_type(NodeType::net);
    for (std::size_t i = 0; i < nets.size(); ++i) ports.push_back({static_cast<int>(i)});
  }

  void select(std::string_view list) {
    const auto whole = std::string{list};
    const bool not_these = list.starts_with('^');
    if (not_these) list.remove_prefix(1);
    const bool exact = list.starts_with('=');
    if (exact) list.remove_prefix(1);
    const auto wanted = wishes(list);
    if (wanted.empty()) return;
    const auto nets = system.of_type(NodeType::net);
    std::vector<char> dropped(system.nodes().size(), 0);
    std::vector<std::vector<int>> left;
    std::vector<const Wish*> chosen;
    const auto pass = [&](bool kernel_names) {
      std::fill(dropped.begin(), dropped.end(), 0);
      left.clear();
      chosen.clear();
      bool any = false;
      for (std::size_t i = 0; i < nets.size(); ++i) {
        const Node& net = system.nodes()[nets[i]];
        const Wish* hit = nullptr;
        for (const auto& w : wanted) {
          if (hit == nullptr && matches(device_name(net, static_cast<int>(i), kernel_names), net.port, w, exact))
            hit = &w;
        }
        any = any || hit != nullptr;
        if ((hit != nullptr) == not_these) {
          dropped[nets[i]] = 1;
        } else {
          left.push_back(ports[i]);
          chosen.push_back(hit);
        }
      }
      return any;
    };
    if (!pass(true)) pass(false);
    if (left.empty()) {
      throw sim::InputError{"NCCL_IB_HCA=" + whole + " leaves no port", "the machine has " + all_names(system)};
    }
    ports = std::move(left);
    system = without(system, dropped);
    // Since 2.30 the list may say on which rail and plane a port lies.
    std::size_t at = 0;
    change([&](Node& n) {
      const Wish* w = n.type == NodeType::net ? chosen[at++] : nullptr;
      if (w == nullptr) return;
      if (w->rail >= 0) n.rail = w->rail;
      if (w->plane >= 0) n.plane = w->plane;
    });
  }

  template <class F>
  void change(F f) {
    System to;
    to.name = system.name;
    for (const auto& n : system.nodes()) {
      Node copy = n;
      f(copy);
      to.add(std::move(copy));
    }
    for (std::size_t i = 0; i < system.nodes().size(); ++i) {
      for (const Edge& e : system.edges()[i]) to.connect_one_way(static_cast<int>(i), e.to, e.type, e.bw_GBps);
    }
    system = std::move(to);
  }

  /// One port out of several: their speeds add up, behind the PCIe lanes of all of them, or of the card they share.
  void fuse(const std::vector<int>& group, bool one_slot) {
    const auto nets = system.of_type(NodeType::net);
    std::vector<char> dropped(system.nodes().size(), 0);
    double speed = 0, lanes = 0;
    std::string name;
    bool gdr = true, collnet = true;
    int rail = system.nodes()[nets[group[0]]].rail;
    std::vector<int> nics;
    for (const int i : group) {
      const Node& net = system.nodes()[nets[i]];
      speed += net.net_GBps;
      name += (name.empty() ? "" : "+") + net.name;
      gdr = gdr && net.gdr;
      collnet = collnet && net.collnet;
      if (net.rail != rail) rail = -1;
      const int nic = nic_of(nets[i]);
      if (nic >= 0 && std::find(nics.begin(), nics.end(), nic) == nics.end()) {
        nics.push_back(nic);
        if (!one_slot || nics.size() == 1) lanes += pci_bw(nic);
      }
      if (i != group[0]) {
        dropped[nets[i]] = 1;
        ports[group[0]].insert(ports[group[0]].end(), ports[i].begin(), ports[i].end());
      }
    }
    for (std::size_t k = 1; k < nics.size(); ++k) dropped[nics[k]] = 1;
    const int first = nets[group[0]];
    const int nic = nics.empty() ? -1 : nics[0];
    System wider;
    wider.name = system.name;
    for (std::size_t i = 0; i < system.nodes().size(); ++i) {
      Node n = system.nodes()[i];
      if (static_cast<int>(i) == first) {
        n.net_GBps = speed;
        n.name = name;
        n.gdr = gdr;
        n.collnet = collnet;
        n.rail = rail;
      }
      wider.add(std::move(n));
    }
    for (std::size_t i = 0; i < system.nodes().size(); ++i) {
      for (const Edge& e : system.edges()[i]) {
        const bool of_nic = static_cast<int>(i) == nic || e.to == nic;
        double bw = e.bw_GBps;
        if (e.type == EdgeType::net && (static_cast<int>(i) == first || e.to == first)) bw = speed;
        if (e.type == EdgeType::pci && of_nic) bw = lanes;
        wider.connect_one_way(static_cast<int>(i), e.to, e.type, bw);
      }
    }
    system = without(wider, dropped);
    std::vector<std::vector<int>> left;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const bool gone =
          static_cast<int>(i) != group[0] && std::find(group.begin(), group.end(), static_cast<int>(i)) != group.end();
      if (!gone) left.push_back(std::move(ports[i]));
    }
    ports = std::move(left);
  }

  /// How far apart two ports lie; LOC: the very same card.
  PathType distance(int a, int b) const {
    const auto nets = system.of_type(NodeType::net);
    const int x = nic_of(nets[a]), y = nic_of(nets[b]);
    if (x < 0 || y < 0) return PathType::sys;
    // Functions of one PCI device differ in the last digit of the address. (Numbers below bus 1 are no addresses.)
    const auto p = system.nodes()[x].id, q = system.nodes()[y].id;
    if (x == y || (p >= 0x1000 && p >> 4 == q >> 4)) return PathType::nvl;  // PORT, which has that place on the ladder
    const auto up = ancestors(x), other = ancestors(y);
    for (std::size_t i = 0; i < up.size(); ++i) {
      const auto it = std::find(other.begin(), other.end(), up[i]);
      if (it == other.end()) continue;
      if (system.nodes()[up[i]].type == NodeType::cpu) return PathType::phb;
      return i == 0 && it == other.begin() ? PathType::pix : PathType::pxb;
    }
    return PathType::sys;
  }

  System system;
  std::vector<std::vector<int>> ports;

 private:
  int nic_of(int net) const {
    for (const Edge& e : system.edges()[net]) {
      if (e.type == EdgeType::net) return e.to;
    }
    return -1;
  }
  double pci_bw(int nic) const {
    for (const Edge& e : system.edges()[nic]) {
      if (e.type == EdgeType::pci) return e.bw_GBps;
    }
    return 0;
  }
  // What a card hangs below, up to the CPU: breadth first, so the nearest come first.
  std::vector<int> ancestors(int nic) const {
    std::vector<int> found;
    for (const Edge& e : system.edges()[nic]) {
      if (e.type == EdgeType::pci) found.push_back(e.to);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (system.nodes()[found[i]].type == NodeType::cpu) continue;
      for (const Edge& e : system.edges()[found[i]]) {
        const auto type = system.nodes()[e.to].type;
        const bool up = e.type == EdgeType::pci && (type == NodeType::pci || type == NodeType::cpu);
        if (up && std::find(found.begin(), found.end(), e.to) == found.end()) found.push_back(e.to);
      }
    }
    return found;
  }
};

void force_merge(Ports& ports, std::string_view text) {
  while (!text.empty()) {
    const auto part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const auto wanted = wishes(part);
    if (wanted.empty()) continue;
    const auto nets = ports.system.of_type(NodeType::net);
    std::vector<int> group;
    for (const bool kernel_names : {true, false}) {
      if (!group.empty()) break;
      for (std::size_t i = 0; i < nets.size(); ++i) {
        const Node& net = ports.system.nodes()[nets[i]];
        const auto name = device_name(net, static_cast<int>(i), kernel_names);
        const bool hit =
            std::any_of(wanted.begin(), wanted.end(), [&](const Wish& w) { return matches(name, net.port, w, true); });
        if (hit) group.push_back(static_cast<int>(i));
      }
    }
    if (group.size() != wanted.size() || group.size() > most_fused) {
      throw sim::InputError{"NCCL_NET_FORCE_MERGE: '" + std::string{part} + "' is " + std::to_string(group.size()) +
                                " ports of this machine",
                            "a group names two to four ports; the machine has " + all_names(ports.system)};
    }
    bool one_slot = true;
    for (const int i : group) one_slot = one_slot && ports.distance(group[0], i) <= PathType::nvl;
    if (group.size() > 1) ports.fuse(group, one_slot);
  }
}

void merge_near(Ports& ports, PathType level, bool rails_only, std::size_t most) {
  for (std::size_t i = 0; i < ports.ports.size(); ++i) {
    if (ports.ports[i].size() > 1) continue;
    const auto nets = ports.system.of_type(NodeType::net);
    const int rail = ports.system.nodes()[nets[i]].rail;
    std::vector<int> group{static_cast<int>(i)};
    for (std::size_t j = i + 1; j < ports.ports.size() && group.size() < most; ++j) {
      const bool same_rail = rail >= 0 && ports.system.nodes()[nets[j]].rail == rail;
      if (ports.ports[j].size() == 1 && (!rails_only || same_rail) &&
          ports.distance(static_cast<int>(i), static_cast<int>(j)) <= level) {
        group.push_back(static_cast<int>(j));
      }
    }
    if (group.size() > 1) ports.fuse(group, level <= PathType::nvl);
  }
}

/// Before 2.24 all cards had to have the same number of ports.
bool evenly_paired(const Ports& ports) {
  const auto n = ports.ports.size();
  for (std::size_t i = 0; i < n; ++i) {
    int near = 0;
    for (std::size_t j = 0; j < n; ++j) {
      near += j != i && ports.distance(static_cast<int>(i), static_cast<int>(j)) <= PathType::nvl ? 1 : 0;
    }
    if (near != 1) return false;
  }
  return true;
}

}  // namespace

SeenSystem seen_system(const System& given, const Config& config) {
  Ports ports{given};
  const auto& env = config.env;
  const auto& v = config.version;
  if (const auto list = env.get("NCCL_IB_HCA"); list && !ports.ports.empty()) ports.select(*list);
  const auto kind = network_defaults(config.network, config.platform, v);
  const bool sockets = uses_sockets(env) || (!config.network.empty() && !kind.gpudirect);
  const bool slow_start = kind.latency_us > 0;
  if ((sockets || slow_start) && !ports.ports.empty()) {
    ports.change([&](Node& n) {
      if (n.type != NodeType::net) return;
      if (sockets) n.gdr = n.collnet = false;
      if (slow_start && n.net_latency_us <= 0) n.net_latency_us = kind.latency_us;
    });
  }
  // Two ports of one card are one device: from 2.24 wherever the network layer can do it, before in the InfiniBand
  // layer.
  const bool fusable = !sockets && kind.fuses && env.integer("NCCL_IB_MERGE_NICS").value_or(1) != 0;
  if (fusable && v >= Version{2, 24, 0}) {
    if (const auto groups = env.get("NCCL_NET_FORCE_MERGE")) force_merge(ports, *groups);
    auto level = PathType::nvl;
    if (const auto text = env.get("NCCL_NET_MERGE_LEVEL"); text && *text != "PORT") {
      level = path_level(*text).value_or(PathType::nvl);
    }
    const auto policy = env.get("NCCL_NET_MERGE_POLICY");
    merge_near(ports, level, policy && (*policy == "RAIL" || *policy == "rail"), most_fused);
  } else if (fusable && v >= Version{2, 20, 0} && evenly_paired(ports)) {
    merge_near(ports, PathType::nvl, false, 2);
  }
  return {std::move(ports.system), std::move(ports.ports)};
}

}  // namespace linkcast::models::nccl
