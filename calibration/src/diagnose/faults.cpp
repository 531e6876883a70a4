// The list of hypotheses: what is here, healthy readings, and a fault that nobody knows.
#include "faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace linkcast::calibration::diagnosis {

using models::nccl::Op;

Scene scene_of(const Predictor& predictor, const Evidence& evidence, const Hardware& hardware) {
  const auto& machine = predictor.machine();
  Scene s;
  s.gpus = machine.gpus;
  s.gpu_known = machine.gpu_known;
  s.nics = machine.nics;
  s.nic_gbps = machine.nic_gbps;
  s.network = machine.network;
  for (const auto& o : evidence.seen) {
    s.inside |= o.kind == Kind::collective && !o.several_nodes;
    s.several |= (o.kind == Kind::collective || o.kind == Kind::expert) && o.several_nodes;
    s.pairs |= o.kind == Kind::pair || o.kind == Kind::staged_pair;
    s.tests |= o.kind == Kind::test;
  }
  for (const char* name : {"rtx4090", "rtx2080", "4090", "5090", "3090", "2080", "GeForce", "TITAN", "Titan"})
    s.geforce |= hardware.gpu.find(name) != std::string::npos || machine.topology.find(name) != std::string::npos;
  s.amd = hardware.cpu.find("AMD") != std::string::npos || hardware.cpu.find("EPYC") != std::string::npos;
  try {
    const auto fabric = cluster_of(machine, 1, machine.gpus, {}).machine(0);
    const auto gpus = fabric.gpus();
    s.multicast = machine.gpu_known && gpus.size() > 1 && fabric.nvls(gpus);
    s.pcie_peers = fabric.pcie_p2p();
    int nics = 0;
    for (const auto& d : fabric.devices()) nics += d.kind == topologies::DeviceKind::nic ? 1 : 0;
    if (s.nics == 0) s.nics = nics;
    for (const auto& link : fabric.links()) {
      if (link.kind != models::LinkKind::nvlink) continue;
      s.nvlink = true;
      const auto& a = fabric.devices()[static_cast<std::size_t>(link.a)];
      const auto& b = fabric.devices()[static_cast<std::size_t>(link.b)];
      if (s.switch_link.empty() && (a.name == "gpu[0]" || b.name == "gpu[0]")) s.switch_link = a.name + "-" + b.name;
    }
  } catch (const sim::InputError&) {
  }
  s.nvlink &= machine.gpu_known;
  if (!machine.gpu_known) s.switch_link.clear();
  return s;
}

void add_normal(const Scene& s, const Evidence& evidence, std::vector<Hypothesis>& out) {
  const auto normal = [&](const char* cause, double prior) {
    Hypothesis h;
    h.cause = cause;
    h.normal = true;
    h.prior = prior;
    return h;
  };
  out.push_back(normal("normal", 0.36));
  if (s.several && !s.multicast) {
    // Before NVLS, Ring and Tree are near each other on few nodes, and versions take the one or the other.
    for (const char* algo : {"Ring", "Tree"}) {
      auto h = normal("normal", 0.05);
      h.software.env["NCCL_ALGO"] = algo;
      h.says = fmt::format("NCCL took {}", algo);
      out.push_back(std::move(h));
    }
  }
  for (const char* version : {"2.18.5", "2.21.5", "2.27.3"}) {
    const bool told =
        std::any_of(evidence.probes.begin(), evidence.probes.end(), [](const Probe& p) { return p.nccl.has_value(); });
    if (told || evidence.probes.empty()) break;
    auto h = normal("normal", 0.02);
    h.software.nccl = models::nccl::Version::parse(version);
    out.push_back(std::move(h));
  }
  const bool open = std::any_of(evidence.seen.begin(), evidence.seen.end(),
                                [](const Observation& o) { return o.reading == Reading::open; });
  const bool figures = std::any_of(evidence.seen.begin(), evidence.seen.end(),
                                   [](const Observation& o) { return o.kind == Kind::collective && o.size_open; });
  if (open || figures) {
    auto h = normal("normal: algbw read as busbw", open ? 0.12 : 0.012);
    h.swap_reading = true;
    h.swap_labels = !open;
    h.says = "the figure is algbw (size / time), which all_reduce on n GPUs multiplies by 2(n-1)/n to get busbw";
    out.push_back(std::move(h));
  }
  if (figures) {
    // A figure without a size may be of one that is too small for the peak.
    for (const double share : {0.93, 0.85, 0.75}) {
      auto h = normal("normal: size too small to reach the peak", 0.02);
      h.share = [share](const Observation& o) { return o.size_open && o.kind == Kind::collective ? share : 1.0; };
      h.says = fmt::format("no size is named: a smaller one gives {:.0f} % of the peak", 100 * share);
      out.push_back(std::move(h));
    }
  }
}

std::vector<Hypothesis> hypotheses(const Scene& scene, const Evidence& evidence) {
  std::vector<Hypothesis> out;
  add_normal(scene, evidence, out);
  if (scene.gpu_known) add_faults_inside(scene, evidence, out);
  add_faults_of_network(scene, evidence, out);
  add_faults_of_pairs(scene, evidence, out);
  // Something that is none of these: everything of one scope is slower by one factor.
  const auto unknown = [&](const char* scope, bool inside, bool net, double prior) {
    // Down to a thousandth of the rate, equally probable in the logarithm: whatever is slow enough is not normal.
    for (double l = 0.15; l < 7; l += l < 3.9 ? 0.15 : 0.3) {
      Hypothesis h;
      h.cause = "unexplained: slower than the machine, for a reason that is not among those known";
      h.prior = prior / 25;
      h.share = [inside, net, l](const Observation& o) {
        if (o.kind == Kind::shape || o.kind == Kind::staged_over_p2p) return 1.0;
        return (o.several_nodes ? net : inside) ? std::exp(-l) : 1.0;
      };
      h.says = fmt::format("{} at {:.0f} %", scope, 100 * std::exp(-l));
      h.confirm = inside ? "nvbandwidth -t device_to_device_memcpy_read_ce" : "ib_write_bw -a --report_gbits <peer>";
      out.push_back(std::move(h));
    }
  };
  if (scene.inside || scene.pairs) unknown("everything within the machine", true, false, 0.02);
  if (scene.several || scene.tests) unknown("everything between machines", false, true, 0.02);
  if ((scene.inside || scene.pairs) && (scene.several || scene.tests)) unknown("everything", true, true, 0.01);
  // On any machine, also one that nobody knows: a copy that avoids host memory must not be slower than one through it.
  for (const double share : {0.7, 0.5, 0.35, 0.2}) {
    const bool compared = std::any_of(evidence.seen.begin(), evidence.seen.end(),
                                      [](const Observation& o) { return o.kind == Kind::staged_over_p2p; });
    if (!compared) break;
    Hypothesis h;
    h.cause = "PCIe peer-to-peer is broken: slower than through host memory";
    h.prior = 0.01;
    h.share = [share](const Observation& o) { return o.kind == Kind::staged_over_p2p ? share : 1.0; };
    h.says = fmt::format("with peer access {:.0f} % of the rate without it", 100 * share);
    h.confirm = "nvidia-smi topo -p2p r; lspci -vvv | grep -i acsctl";
    out.push_back(std::move(h));
  }
  const bool shapes = std::any_of(evidence.seen.begin(), evidence.seen.end(),
                                  [](const Observation& o) { return o.kind == Kind::shape; });
  for (const double drop : {0.85, 0.75, 0.6, 0.45}) {
    if (!shapes) break;
    Hypothesis h;
    h.cause = "unexplained: a plateau below the peak";
    h.prior = 0.006;
    h.share = [drop](const Observation& o) { return o.kind == Kind::shape ? drop : 1.0; };
    h.says = fmt::format("the largest sizes reach {:.0f} % of the best", 100 * drop);
    h.confirm = "rerun with -n 100 -b 1M -e 1G -f 2 and watch clocks and retries (nvidia-smi dmon, perfquery)";
    out.push_back(std::move(h));
  }
  // Of a machine that nobody knows the shape still tells: a hump first, while caches hold the buffers (25 to 35 %
  // below, or a hump and a lower plateau, in public threads; add_faults_inside has the same for known machines).
  for (const double drop : {0.85, 0.7}) {
    if (!shapes || scene.gpu_known || scene.several) break;
    Hypothesis h;
    h.cause = "CPU/NUMA binding: process or buffers on the wrong socket";
    h.prior = 0.015;
    h.share = [drop](const Observation& o) { return o.kind == Kind::shape ? drop : 1.0; };
    h.says = "copies through the host cross sockets; large sizes fall behind middle ones";
    h.confirm = "nvidia-smi topo -m; numactl --cpunodebind=<node> --membind=<node> …, or mpirun --bind-to none";
    out.push_back(std::move(h));
  }
  double normals = 0, faults = 0;
  for (const auto& h : out) (h.normal ? normals : faults) += h.prior;
  // Four of ten people who asked had a healthy machine; of those who only check, most.
  for (auto& h : out)
    h.prior *= h.normal ? (scene.geforce ? 0.3 : 0.8) / normals : (scene.geforce ? 0.7 : 0.2) / faults;
  return out;
}

}  // namespace linkcast::calibration::diagnosis
