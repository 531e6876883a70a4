// Builds the machines of machine.hpp, whole or with what a fault changes of them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "machine.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

/// A box of PCIe cards: one socket up to two cards, else two sockets with half of cards and NICs each.
std::string generic_yaml(const Machine& m, const Edit& edit) {
  const int nics = std::max(1, m.nics);
  const int sockets = m.gpus > 2 ? 2 : 1;
  const bool old = m.pcie_link == "pcie-gen3";
  const bool soc = m.parts_yaml.find("compute_capability: 121") != std::string::npos;  // GB10: CPU and GPU in one
  const auto link = edit.pcie_link.empty() ? m.pcie_link : edit.pcie_link;
  std::string out = "schema: linkcast.topology/1\n";
  if (!m.parts_yaml.empty())
    out += fmt::format("parts:\n  gpus:{}\n", [&] {
      std::string indented;
      for (const char c : m.parts_yaml) indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
      return indented;
    }());
  out += fmt::format(
      "node:\n  host: {}\n  cpus: {{model: {}, count: 2, link: {}}}\n  gpus: {{model: {}, count: {}}}\n"
      "  nics: {{model: connectx-7, count: {}, rate: {} Gb/s}}\n{}",
      soc   ? "grace"
      : old ? "xeon"
            : "epyc",
      soc   ? "grace"
      : old ? "xeon-skl"
            : "epyc-milan",
      soc   ? "nvlink-c2c-grace"
      : old ? "upi-skl"
            : "xgmi2",
      m.part, m.gpus, nics, m.nic_gbps > 0 ? m.nic_gbps : 100, m.overlay);
  out += fmt::format("  pcie:\n    link: {}\n    lanes: {}\n    p2p: {}\n    trees:\n", link,
                     edit.lanes > 0 ? edit.lanes : m.lanes, !edit.no_pcie_p2p);
  const auto half = [](int n, int sockets_of, int s) {
    std::string list;
    for (int i = 0; i < n; ++i)
      if (i * sockets_of / n == s) list += (list.empty() ? "" : ", ") + std::to_string(i);
    return list;
  };
  for (int s = 0; s < sockets; ++s) {
    const auto gpus = half(m.gpus, sockets, s), cards = half(nics, sockets, s);
    if (gpus.empty() && cards.empty()) continue;
    out += fmt::format("      - {{cpu: {}", s);
    // Eight cards need more lanes than two sockets have: such boxes have a switch on each.
    if (m.gpus > 6)
      out += fmt::format(", switch: {}", old ? "pex8796" : m.pcie_link == "pcie-gen4" ? "pex88096" : "pex89144");
    if (!gpus.empty()) out += fmt::format(", gpus: [{}]", gpus);
    if (!cards.empty()) out += fmt::format(", nics: [{}]", cards);
    out += "}\n";
  }
  return out;
}

/// A file is extended from beside it.
bool is_file(const Machine& m) { return !m.topology.empty() && std::filesystem::exists(m.topology); }

std::string place_of(const Machine& m) {
  if (!is_file(m)) return m.name;
  return (std::filesystem::path(m.topology).parent_path() / "diagnosed.yaml").string();
}

std::string catalog_yaml(const Machine& m, const Edit& edit) {
  if (!m.whole_yaml.empty()) {
    if (!edit.pcie_link.empty() || edit.lanes > 0 || edit.no_pcie_p2p)
      throw sim::InputError(fmt::format("the slots of '{}' cannot be changed", m.name));
    return m.whole_yaml;
  }
  std::string out = fmt::format("schema: linkcast.topology/1\nextends: {}\n",
                                is_file(m) ? std::filesystem::path(m.topology).filename().string() : m.topology);
  if (!m.parts_yaml.empty()) {
    out += "parts:\n  gpus:";
    for (const char c : m.parts_yaml) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    out += "\n";
  }
  std::string node = m.overlay, pcie;
  if (!edit.pcie_link.empty()) pcie += fmt::format("    link: {}\n", edit.pcie_link);
  if (edit.lanes > 0) pcie += fmt::format("    lanes: {}\n", edit.lanes);
  if (edit.no_pcie_p2p) pcie += "    p2p: false\n";
  if (!pcie.empty()) node += "  pcie:\n" + pcie;
  if (!node.empty()) out += "node:\n" + node;
  return out;
}

std::string yaml_of(const Machine& m, const Edit& edit) {
  auto out = m.topology.empty() ? generic_yaml(m, edit) : catalog_yaml(m, edit);
  if (!edit.overrides.empty()) {
    out += "overrides:\n";
    for (const auto& line : edit.overrides) out += fmt::format("  - {{{}}}\n", line);
  }
  return out;
}

/// Fewer or other NICs in the places of the machine's own; where their number does not fit, the next that does, with
/// the same rate together.
topologies::Fabric with_nics(const topologies::Fabric& node, int count, double gbps, bool as_ports) {
  for (int tries = 0, n = count; n > 0 && tries < 8; ++tries, --n) {
    try {
      return node.with_nics(n, sim::Rate::from_GBps(gbps * count / n / 8), as_ports);
    } catch (const sim::InputError&) {
      if (n == 1) throw;
    }
  }
  throw sim::InputError(fmt::format("{} NICs do not fit into '{}'", count, node.name()), "say the topology");
}

std::string usual_network(const topologies::Fabric& node) {
  for (const auto& d : node.devices())
    if (const auto it = d.attributes.find("fabric"); d.kind == topologies::DeviceKind::nic && it != d.attributes.end())
      return it->second;
  return "ib";
}

topologies::Cluster cut(const topologies::Cluster& whole, int nodes, int gpus) {
  std::vector<int> every(static_cast<std::size_t>(nodes)), some;
  std::iota(every.begin(), every.end(), 0);
  if (gpus < whole.gpus_per_node()) {
    some.resize(static_cast<std::size_t>(gpus));
    std::iota(some.begin(), some.end(), 0);
  }
  return whole.job(every, some);
}

topologies::Cluster slowed(topologies::Cluster cluster, const Edit& edit) {
  std::vector<topologies::SlowCable> slow;
  if (edit.cables < 1) slow.push_back({edit.cables, -1, -1});
  if (edit.one_node < 1) slow.push_back({edit.one_node, 0, -1});
  if (edit.one_nic < 1) slow.push_back({edit.one_nic, 0, 0});
  return topologies::with_slow_cables(cluster, slow);
}

}  // namespace

Nics nics_of(const topologies::Fabric& machine) {
  Nics out;
  for (const auto& d : machine.devices()) {
    if (d.kind != topologies::DeviceKind::nic) continue;
    out.names.push_back(d.name);
    if (const auto it = d.attributes.find("gbps"); it != d.attributes.end()) out.gbps = std::stod(it->second);
  }
  return out;
}

std::string Edit::key() const {
  std::string out = fmt::format("{}|{}|{}|{}|{:.3f}|{:.3f}|{:.3f}|{}", pcie_link, lanes, no_pcie_p2p, network, cables,
                                one_nic, one_node, nics);
  for (const auto& o : overrides) out += "|" + o;
  return out;
}

topologies::Cluster cluster_of(const Machine& m, int nodes, int gpus, const Edit& edit) {
  topologies::ClusterOptions options;
  options.params = m.params;
  options.profile = m.profile;
  // "3 x NVL8": parts of racks that are larger than a host.
  if (const auto trays = options.params.find("trays");
      trays != options.params.end() && gpus > 4 * std::atoi(trays->second.c_str()))
    trays->second = std::to_string(std::min(18, (gpus + 3) / 4));
  const auto network = edit.network.empty() ? m.network : edit.network;
  if (m.described_network) {
    if (!network.empty()) options.fabric = network;
    auto cluster = topologies::load_cluster_text(yaml_of(m, edit), place_of(m), options);
    if (nodes > cluster.nodes())
      throw sim::InputError(fmt::format("{} nodes were measured, but '{}' has {}", nodes, m.name, cluster.nodes()));
    return slowed(cut(cluster, nodes, gpus), edit);
  }
  const auto whole = topologies::load_cluster_text(yaml_of(m, edit), place_of(m), options).machine(0);
  if (gpus > static_cast<int>(whole.gpus().size()))
    throw sim::InputError(
        fmt::format("{} GPUs a node were measured, but '{}' has {}", gpus, m.name, whole.gpus().size()));
  std::vector<int> first(static_cast<std::size_t>(gpus));
  std::iota(first.begin(), first.end(), 0);
  auto node = first.size() == whole.gpus().size() ? whole : whole.slice(first);
  if (nodes == 1) return topologies::Cluster{node};
  const auto own = nics_of(node);
  const int has = static_cast<int>(own.names.size());
  const int count = edit.nics > 0 ? edit.nics : m.nics > 0 ? m.nics : has;
  const double gbps = m.nic_gbps > 0 ? m.nic_gbps : own.gbps;
  const auto kind = network.empty() ? usual_network(node) : network;
  if (count != has || gbps != own.gbps) node = with_nics(node, count, gbps, kind == "efa");
  return slowed(topologies::ideal_cluster(node, nodes, kind, m.profile.get()), edit);
}

}  // namespace linkcast::calibration::diagnosis
