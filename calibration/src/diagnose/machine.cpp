// See machine.hpp. Words and counts to a machine; cluster.cpp builds it.
#include "machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "linkcast/topologies/describe.hpp"
#include "machine_kinds.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

/// The least power of two above two: only on two do trees pass the rate of the NICs (V100 with two EDR 41 of 25
/// GB/s, A100 with two HDR 57 of 50 in public threads), which nobody's silence may be taken for.
constexpr int unsaid_nodes = 4;

void take_counts(Machine& m, const Hardware& h) {
  if (h.nodes > 0) m.nodes = h.nodes;
  if (h.gpus_per_node > 0) m.gpus = h.gpus_per_node;
  m.nics = h.nics_per_node;
  m.nic_gbps = h.nic_gbps;
  m.network = kind_of_network(h.fabric);
  // Somebody who names the network and its NICs, but no number of machines, speaks of more than one.
  if (h.nodes <= 0 && m.nodes <= 1 && !m.network.empty() && h.nics_per_node > 0) {
    m.nodes = unsaid_nodes;
    m.sentences.push_back(fmt::format("the number of nodes is not said: taken as {}", unsaid_nodes));
  }
}

/// A system of the catalog whose part is another one.
void use_system(Machine& m, const GpuKind& kind) {
  m.topology = kind.system;
  m.system = kind.system;
  if (!kind.part.empty()) {  // A800: eight of twelve NVLinks on the six switches
    m.part = kind.part;
    m.parts_yaml = kind.parts_yaml;
    m.overlay = "  gpus: {model: gpu-card}\n  nvlink: {switches: {links: [2, 2, 1, 1, 1, 1]}}\n";
    m.in_catalog = false;
  } else if (kind.four == "v100-x4" && m.gpus <= 4) {
    m.topology.clear();
    m.part = "v100-sxm2";
    m.pcie_link = "pcie-gen3";
    m.overlay = m.gpus > 1 ? "  nvlink: {link: nvlink2, mesh: {all: 2}}\n" : "";
    m.in_catalog = false;
    // PowerEdge C4140, SuperServer 1029GQ and their like.
    m.sentences.push_back("taken as a box of four V100 SXM2 with two NVLinks between every two");
  } else if (m.gpus == 4 && !kind.four.empty()) {
    m.topology = kind.four;
    m.system = kind.four;
  } else if (m.topology.find("-nvl72") != std::string::npos) {
    const int trays = m.nvlink_domain ? std::clamp(m.nodes, 1, 18) : std::clamp((m.gpus + 3) / 4, 1, 18);
    m.params["trays"] = std::to_string(trays);
    if (m.nvlink_domain) {
      m.gpus *= std::max(1, m.nodes);
      m.nodes = 1;
      m.sentences.push_back(fmt::format("{} trays of one NVLink domain", trays));
    }
  } else if (m.gpus < kind.gpus) {
    m.sentences.push_back(fmt::format("taken as {} GPUs of a {}", m.gpus, m.topology));
  }
}

/// What the machine's own fabric says of how its GPUs reach each other, whatever its name.
void learn_peers(Machine& m, const topologies::Fabric& fabric) {
  const auto gpus = fabric.gpus();
  if (gpus.size() < 2) return;
  m.cards = !fabric.route(gpus[0], gpus[1], topologies::Transport::nvlink).has_value();
  m.peers = !m.cards || fabric.pcie_p2p();
}

/// Fabric of one GPU of the kind, as it stands in the catalog or in this tool.
const models::GpuModel& model_of(const topologies::Fabric& fabric) { return fabric.gpu_model(fabric.gpus()[0]); }

/// "measured on A, but T has B": of GPU names that people and logs use.
void refuse_other_gpus(const std::string& topology, const topologies::Fabric& fabric, const Hardware& h) {
  const auto* kind = h.gpu.empty() ? nullptr : kind_of_gpu(h.gpu);
  if (kind == nullptr) return;
  Hardware alone;
  alone.gpu = h.gpu;
  alone.gpus_per_node = kind->gpus;
  const auto expected_fabric = cluster_of(machine_of(alone, {}), 1, 1, {}).machine(0);
  const auto& expected = model_of(expected_fabric);
  const auto& model = model_of(fabric);
  const bool switched = std::any_of(fabric.devices().begin(), fabric.devices().end(),
                                    [](const auto& d) { return d.kind == topologies::DeviceKind::nvswitch; });
  const bool card_in_a_board = kind->system.empty() && switched;
  // Boards of one generation ("h100-sxm", "h800-sxm") are told apart where the catalog says which it is; a file that
  // was imported knows the generation only.
  const auto family = [](const std::string& name) { return name.substr(0, name.find('-')); };
  const bool other_board = kind->part.empty() && !kind->system.empty() && !std::filesystem::exists(topology) &&
                           family(expected.name) != family(model.name);
  if (expected.architecture == model.architecture && expected.compute_capability == model.compute_capability &&
      !card_in_a_board && !other_board)
    return;
  throw sim::InputError(
      fmt::format("measured on '{}', but '{}' has {}{}", h.gpu, topology, model.name,
                  card_in_a_board && expected.architecture == model.architecture ? " on NVSwitches" : ""),
      kind->system.empty()
          ? "leave --topology away, or name the topology of the machine that was measured"
          : fmt::format("such GPUs are in {}, for one", kind->system == "a800" ? "dgx-a100" : kind->system));
}

bool is_xml(const std::string& file) {
  std::ifstream in(file);
  char first = ' ';
  constexpr std::string_view before = " \t\r\n\xEF\xBB\xBF";  // blanks and a byte order mark
  while (in.get(first) && before.find(first) != std::string_view::npos) {
  }
  return in && first == '<';
}

/// What nobody said of the NICs is as the machine has them.
void take_nics(Machine& m, const topologies::Fabric& machine) {
  const auto own = nics_of(machine);
  if (m.nics <= 0) m.nics = static_cast<int>(own.names.size());
  if (m.nic_gbps <= 0) m.nic_gbps = own.gbps;
}

}  // namespace

std::string words_of(const Machine& m) {
  if (m.described_network || m.nodes <= 1) return m.name;
  const bool counted = m.name.find(" x ") != std::string::npos;  // "8 x H100 SXM"
  if (counted || !m.gpu_known) return fmt::format("{} nodes of {}", m.nodes, m.name);
  return fmt::format("{} x {}, {} GPUs each", m.nodes, m.name, m.gpus);
}

Machine machine_of(const Hardware& h, const std::optional<std::string>& system) {
  Machine m;
  take_counts(m, h);
  m.nvlink_domain = m.nodes > 1 && m.network.empty() && names_nvlink(h.fabric);
  const auto names = topologies::catalog_names();
  if (system && std::find(names.begin(), names.end(), *system) != names.end()) {
    m.topology = m.system = *system;
    m.name = *system;
    learn_peers(m, topologies::load(*system));
    if (m.topology.find("-nvl72") != std::string::npos) {
      const int trays = m.nvlink_domain ? m.nodes : std::max(1, m.gpus / 4);
      m.params["trays"] = std::to_string(std::clamp(trays, 1, 18));
      if (m.nvlink_domain) m.gpus *= m.nodes, m.nodes = 1;
    }
    return m;
  }
  if (const auto* kind = kind_of_gpu(h.gpu)) {
    m.peers = has_peer_access(*kind);
    m.cards = kind->system.empty();
    if (h.gpus_per_node <= 0) m.gpus = std::max(1, kind->gpus);
    if (!kind->system.empty()) {
      use_system(m, *kind);
    } else {
      m.part = kind->part;
      m.parts_yaml = kind->parts_yaml;
      m.pcie_link = kind->pcie;
      m.lanes = kind->lanes;
      m.system = kind->part == "rtx4090" || kind->part == "l40s" ? fmt::format("pcie-{}", kind->part)
                 : kind->part == "a100-pcie" || kind->part == "v100-pcie"
                     ? "pcie-" + std::string(kind->part.substr(0, 4))
                     : "pcie-l40s";
      m.in_catalog = false;
      m.sentences.push_back(
          fmt::format("'{}' is no system of the catalog: taken as a box of such cards on {}", h.gpu, m.pcie_link));
    }
    m.name = fmt::format("{} x {}", m.gpus, h.gpu);
  } else {
    // Nothing is known inside the machine; the network's rate still says what several of them can do.
    m.gpu_known = false;
    m.topology = m.system = m.nic_gbps >= 400 ? "dgx-h100" : "dgx-a100";
    m.in_catalog = false;
    m.name = h.gpu.empty() ? "unknown GPUs" : fmt::format("'{}'", h.gpu);
    m.gpus = std::min(m.gpus, 8);
    m.sentences.push_back(fmt::format("{}: only what the NICs carry is taken for known", m.name));
  }
  return m;
}

Machine machine_of_topology(const std::string& topology, const std::map<std::string, std::string>& params,
                            const Hardware& h) {
  Machine m;
  topologies::ClusterOptions options;
  options.params = params;
  const auto cluster = topologies::load_cluster(topology, options);
  m.topology = topology;
  m.system = cluster.machine(0).name();
  m.params = params;
  m.name = cluster.name();
  m.described_network = cluster.nodes() > 1;
  if (std::filesystem::exists(topology) && is_xml(topology)) m.whole_yaml = topologies::to_yaml(cluster.machine(0));
  m.gpus = cluster.gpus_per_node();
  m.nodes = cluster.nodes();
  const int gpus = m.gpus;
  take_counts(m, h);
  take_nics(m, cluster.machine(0));
  if (m.described_network && m.nodes > cluster.nodes())
    throw sim::InputError(fmt::format("{} nodes were measured, but '{}' has {}", m.nodes, topology, cluster.nodes()),
                          "name the topology of the cluster that was measured");
  if (m.gpus > gpus)
    throw sim::InputError(fmt::format("{} GPUs a node were measured, but '{}' has {}", m.gpus, topology, gpus),
                          "name the topology of the machine that was measured");
  refuse_other_gpus(topology, cluster.machine(0), h);
  learn_peers(m, cluster.machine(0));
  return m;
}

}  // namespace linkcast::calibration::diagnosis
