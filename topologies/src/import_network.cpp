// See import_network.hpp. Knows no format.
#include "import_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "host_list.hpp"
#include "import_tree.hpp"
#include "map_reader.hpp"
#include "natural_order.hpp"

namespace linkcast::topologies {
namespace {

[[noreturn]] void refuse(const std::string& file, std::string problem, std::string help = {}) {
  throw sim::InputError({{{file, 0, 0, 1}, std::move(problem), std::move(help)}}, {});
}

/// Hosts of `order` first, in its order, then those that it does not name. Cables follow their hosts.
void reorder(ImportedNetwork& network, const NamedNetwork& order, ImportNotes& notes) {
  std::unordered_map<std::string, int> index;
  for (std::size_t i = 0; i < network.hosts.size(); ++i) index[network.hosts[i]] = static_cast<int>(i);
  std::vector<std::string> hosts;
  std::vector<int> number(network.hosts.size(), -1);
  int missing = 0;
  const auto take = [&](const std::string& name) {
    const auto at = index.find(name);
    if (at == index.end()) {
      ++missing;
      return;
    }
    auto& n = number[static_cast<std::size_t>(at->second)];
    if (n >= 0) return;
    n = static_cast<int>(hosts.size());
    hosts.push_back(name);
  };
  for (const auto& h : order.network.hosts) take(h);
  const auto ordered = hosts.size();
  if (ordered == 0) {
    refuse(order.file, "names none of the hosts that the network's file has", "do both files use the same host names?");
  }
  for (const auto& h : network.hosts) take(h);
  for (auto& c : network.cables) {
    for (auto* end : {&c.from, &c.to}) {
      if (end->host >= 0) end->host = number[static_cast<std::size_t>(end->host)];
    }
  }
  if (!order.network.domains.empty()) {
    network.domains.assign(hosts.size(), {});
    for (std::size_t i = 0; i < order.network.hosts.size(); ++i) {
      const auto at = index.find(order.network.hosts[i]);
      if (at == index.end()) continue;
      network.domains[static_cast<std::size_t>(number[static_cast<std::size_t>(at->second)])] =
          order.network.domains[i];
    }
  }
  network.hosts = std::move(hosts);
  notes.know(fmt::format("hosts are in the order of {}", order.file));
  if (missing > 0) notes.assume(fmt::format("{} hosts of {} have no cable and are left out", missing, order.file));
  if (ordered < network.hosts.size()) {
    notes.assume(fmt::format("{} hosts that {} does not name come last", network.hosts.size() - ordered, order.file));
  }
}

/// The kernel's node description counts devices from 1, the driver from 0: HCA-1 is mlx5_0.
std::string driver_name(std::string_view name) {
  const auto n = name.starts_with("HCA-") ? parse_integer(name.substr(4)) : std::nullopt;
  return n && *n > 0 ? fmt::format("mlx5_{}", *n - 1) : std::string{name};
}

void number_nics(ImportedNetwork& network, const std::string& file, const ImportedMachine& machine,
                 const std::string& machine_file, ImportNotes& notes) {
  if (network.only_order && network.cables.empty()) return;
  int highest = -1;
  for (const auto& c : network.cables) {
    for (const auto* end : {&c.from, &c.to}) {
      if (end->host >= 0) highest = std::max(highest, end->nic);
    }
  }
  const int used = std::max(highest + 1, static_cast<int>(network.nic_names.size()));
  std::vector<int> number;
  for (const auto& name : network.nic_names) {
    auto at = std::ranges::find(machine.nic_names, name);
    if (at == machine.nic_names.end()) at = std::ranges::find(machine.nic_names, driver_name(name));
    if (at == machine.nic_names.end()) break;
    number.push_back(static_cast<int>(at - machine.nic_names.begin()));
  }
  if (!network.nic_names.empty() && number.size() == network.nic_names.size()) {
    for (auto& c : network.cables) {
      for (auto* end : {&c.from, &c.to}) {
        if (end->host >= 0 && end->nic >= 0 && end->nic < static_cast<int>(number.size()))
          end->nic = number[static_cast<std::size_t>(end->nic)];
      }
    }
    notes.know(fmt::format("the NICs of {} are those of {}, by name", file, machine_file));
    return;
  }
  if (used > machine.nics) {
    refuse(file, fmt::format("its hosts have {} NICs, the machine has {}", used, machine.nics),
           "name another machine with --machine, or give the hosts' own nvidia-smi topo -m as a further file");
  }
  if (network.nic_names.size() == 1) {
    notes.assume(fmt::format("{} of the network is NIC 0 of the machine", network.nic_names[0]));
  } else if (!network.nic_names.empty()) {
    notes.assume(fmt::format("{} of the network are NIC 0 to {} of the machine, in this order",
                             fmt::join(network.nic_names, ", "), network.nic_names.size() - 1));
  } else if (used > 0 && used < machine.nics) {
    notes.assume(fmt::format("of the machine's {} NICs the first {} have cables", machine.nics, used));
  }
}

std::string quoted_name(std::string_view name) { return fmt::format("\"{}\"", name); }

/// "node[0-31,40].nic[3]": cables that differ in their node only are one line.
std::string nodes_text(const std::vector<int>& nodes, const ImportedEnd& e) {
  std::string list;
  for (std::size_t i = 0; i < nodes.size();) {
    auto k = i + 1;
    while (k < nodes.size() && nodes[k] == nodes[k - 1] + 1) ++k;
    if (!list.empty()) list += ',';
    list += k - i == 1 ? fmt::format("{}", nodes[i]) : fmt::format("{}-{}", nodes[i], nodes[k - 1]);
    i = k;
  }
  return e.port < 0 ? fmt::format("\"node[{}].nic[{}]\"", list, e.nic)
                    : fmt::format("\"node[{}].nic[{}].port[{}]\"", list, e.nic, e.port);
}

/// Cables that differ in one end only are one line: nodes as ranges, switches as a list of names.
std::string cables_yaml(const ImportedNetwork& n) {
  struct Line {
    std::vector<int> nodes;
    std::vector<std::string> switches;
    const ImportedCable* cable;
  };
  std::vector<Line> lines;
  std::map<std::tuple<int, bool, int, int, int, std::string_view, std::string_view, bool>, std::size_t> same;
  for (const auto& c : n.cables) {
    const bool host = c.from.host >= 0;
    const std::tuple key{c.to.network_switch,        host, c.from.nic, c.from.port, c.count, std::string_view{c.rate},
                         std::string_view{c.length}, c.up};
    const auto [known, added] = same.try_emplace(key, lines.size());
    if (added) lines.push_back({{}, {}, &c});
    auto& line = lines[known->second];
    if (host) {
      line.nodes.push_back(c.from.host);
    } else {
      line.switches.push_back(n.switches[static_cast<std::size_t>(c.from.network_switch)].name);
    }
  }
  std::string out;
  for (auto& l : lines) {
    std::ranges::sort(l.nodes);
    std::ranges::sort(l.switches, natural_less);
    const auto& c = *l.cable;
    out += fmt::format("    - {{from: {}, to: {}",
                       l.nodes.empty() ? quoted_name(host_list(l.switches)) : nodes_text(l.nodes, c.from),
                       quoted_name(n.switches[static_cast<std::size_t>(c.to.network_switch)].name));
    if (c.count != 1) out += fmt::format(", count: {}", c.count);
    if (!c.rate.empty()) out += fmt::format(", rate: {}", c.rate);
    if (!c.length.empty()) out += fmt::format(", length: {}", c.length);
    if (!c.up) out += ", state: down";
    out += "}\n";
  }
  return out;
}

}  // namespace

ImportedNetwork join_networks(std::vector<NamedNetwork> networks, const ImportedMachine& machine,
                              const std::string& machine_file, ImportNotes& notes) {
  const auto real = [](const NamedNetwork& n) { return !n.network.only_order; };
  auto main = std::ranges::find_if(networks, real);
  if (main == networks.end()) main = networks.begin();
  for (auto n = networks.begin(); n != networks.end(); ++n) {
    if (n == main) continue;
    if (!n->network.only_order)
      refuse(n->file, fmt::format("a second network: the first is {}", main->file), "give one of them");
    if (main->network.only_order)
      refuse(n->file, fmt::format("a second order of hosts: the first is {}", main->file), "give one of them");
    reorder(main->network, *n, notes);
  }
  if (main->network.only_order) cable_tree(main->network, machine, notes);
  auto host = machine;  // one of the hosts that the machine spans
  host.nics /= std::max(machine.trays, 1);
  if (machine.nic_ports > 1) {
    for (auto& c : main->network.cables) {
      if (c.from.host >= 0 && c.from.port < 0) c.from.port = 0;
    }
  }
  number_nics(main->network, main->file, host, machine_file, notes);
  join_domains(main->network, machine, main->file, notes);
  return std::move(main->network);
}

std::string network_yaml(const ImportedNetwork& n, const ImportedMachine&, const ImportOptions& options,
                         ImportNotes& notes) {
  std::string fabric = options.network.value_or(n.fabric);
  if (fabric.empty()) {
    fabric = "ib";
    notes.assume("the network is InfiniBand: --network names another kind");
  }
  std::string out = fmt::format("nodes: {}\nnetwork:\n  fabric: {}\n  hosts:\n", n.hosts.size(), fabric);
  constexpr std::size_t names_of_a_line = 128;
  for (std::size_t i = 0; i < n.hosts.size(); i += names_of_a_line) {
    out += fmt::format("    - \"{}\"\n",
                       host_list(std::span{n.hosts}.subspan(i, std::min(names_of_a_line, n.hosts.size() - i))));
  }
  if (!n.switches.empty()) out += "  switches:\n";
  for (const auto& s : n.switches) {
    out += fmt::format("    - {{name: \"{}\"", s.name);
    if (s.tier >= 0) out += fmt::format(", tier: {}", s.tier);
    if (!s.model.empty()) out += fmt::format(", model: {}", s.model);
    if (s.rail >= 0) out += fmt::format(", rail: {}", s.rail);
    if (s.plane >= 0) out += fmt::format(", plane: {}", s.plane);
    if (s.group >= 0) out += fmt::format(", group: {}", s.group);
    out += "}\n";
  }
  if (!n.cables.empty()) out += "  cables:\n" + cables_yaml(n);
  return out;
}

}  // namespace linkcast::topologies
