#include "series_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace linkcast::calibration {
namespace {

topologies::Fabric first_ranks(const topologies::Fabric& machine, int ranks) {
  if (static_cast<std::size_t>(ranks) == machine.gpus().size()) return machine;
  std::vector<int> first(static_cast<std::size_t>(ranks));
  std::iota(first.begin(), first.end(), 0);  // as nccl-tests takes them: device 0 is rank 0
  return machine.slice(first);
}

std::string kind_of_network(const Series& series, const topologies::Fabric& machine,
                            std::vector<std::string>& sentences) {
  constexpr std::array<std::string_view, 7> kinds{"ib", "roce", "efa", "slingshot", "tcp", "tcpx", "tcpxo"};
  if (std::find(kinds.begin(), kinds.end(), series.fabric) != kinds.end()) return series.fabric;
  for (const auto& d : machine.devices()) {
    const auto usual = d.attributes.find("fabric");
    if (d.kind != topologies::DeviceKind::nic || usual == d.attributes.end()) continue;
    sentences.push_back(fmt::format("kind of network not stated: {}, as these machines usually have", usual->second));
    return usual->second;
  }
  sentences.push_back("kind of network not stated: InfiniBand");
  return "ib";
}

}  // namespace

topologies::Cluster cluster_of(const Series& series, const topologies::Fabric& machine,
                               std::vector<std::string>& sentences, const topologies::Profile* profile) {
  const auto gpus = static_cast<int>(machine.gpus().size());
  if (series.nodes == 1) {
    if (series.ranks > gpus)
      throw sim::InputError(fmt::format("{} ranks, but {} has {} GPUs", series.ranks, *series.system, gpus));
    return first_ranks(machine, series.ranks);
  }
  if (series.ranks % series.nodes != 0)
    throw sim::InputError(fmt::format("{} ranks do not divide over {} nodes", series.ranks, series.nodes));
  // A machine of the catalog may be an NVLink domain of several hosts.
  const bool domain = series.fabric == "nvlink" || gpus > series.ranks / series.nodes * 2;
  if (series.fabric == "nvlink" && series.ranks <= gpus) return first_ranks(machine, series.ranks);
  int nodes = series.nodes;
  if (domain && gpus > 16 && series.ranks % gpus == 0) {
    nodes = series.ranks / gpus;
    sentences.push_back(fmt::format("{} hosts are {} NVLink domains of {} GPUs", series.nodes, nodes, gpus));
  }
  const int locals = series.ranks / nodes;
  if (locals > gpus)
    throw sim::InputError(fmt::format("{} ranks a node, but {} has {} GPUs", locals, *series.system, gpus));
  auto node = first_ranks(machine, locals);
  if (nodes == series.nodes && (series.nics_per_node > 0 || series.nic_gbps > 0)) {
    int own = 0;
    double rate = series.nic_gbps;
    for (const auto& d : node.devices()) {
      if (d.kind != topologies::DeviceKind::nic) continue;
      ++own;
      if (const auto it = d.attributes.find("gbps"); rate <= 0 && it != d.attributes.end())
        rate = std::stod(it->second);
    }
    const int count = series.nics_per_node > 0 ? series.nics_per_node : own;
    // aws-ofi-nccl shows NCCL the EFA cards below one PCIe switch as one, and stripes over them.
    node = node.with_nics(count, sim::Rate::from_GBps(rate / 8), series.fabric == "efa");
  }
  sentences.push_back("nothing is said about switches: a network that blocks nothing");
  return topologies::ideal_cluster(node, nodes, kind_of_network(series, machine, sentences), profile);
}

}  // namespace linkcast::calibration
