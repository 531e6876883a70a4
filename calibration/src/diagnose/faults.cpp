// The list of hypotheses: what is here, healthy readings, and a fault that nobody knows.
#include "faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "pair_rates.hpp"

namespace linkcast::calibration::diagnosis {

using models::nccl::Op;

namespace {

constexpr const char* unexplained = "unexplained: slower than the machine, for a reason that is not among those known";

/// What no fault that is known does: one collective alone is slower, or one class of sizes alone. A group of
/// observations is named "all_reduce 2 x 8, from 64 MiB".
void add_residuals(const Evidence& evidence, std::vector<Hypothesis>& out) {
  std::map<std::string, std::set<std::string>> parts;
  std::set<std::string> all;
  for (const auto& o : evidence.seen) {
    if (o.kind == Kind::shape) continue;
    all.insert(o.group);
    if (o.kind != Kind::collective) continue;
    const auto where = o.several_nodes ? "between machines" : "within the machine";
    parts[fmt::format("{} {}", o.group.substr(0, o.group.find(' ')), where)].insert(o.group);
    if (const auto comma = o.group.find(", "); comma != std::string::npos)
      parts[fmt::format("sizes {} {}", o.group.substr(comma + 2), where)].insert(o.group);
  }
  std::erase_if(parts, [&](const auto& p) { return p.second.size() == all.size(); });
  const auto shares = severities(0.01, 0.8);
  for (const auto& [name, groups] : parts)
    for (const double f : shares) {
      auto h =
          fault(unexplained, 0.015 / static_cast<double>(shares.size() * parts.size()),
                fmt::format("something slows {} to {:.2g} %, and nothing else", name, 100 * f),
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING <the slow one>; nvidia-smi -q -d PERFORMANCE");
      h.share = [groups = groups, f](const Observation& o) { return groups.contains(o.group) ? f : 1.0; };
      out.push_back(std::move(h));
    }
}

/// "PCIe gen 4 x16": generation 3 carries 0.985 GB/s a lane, and each doubles the one before.
std::string slot_words(double GBps, int lanes) {
  const int generation = 3 + static_cast<int>(std::lround(std::log2(GBps / lanes / 0.985)));
  return fmt::format("PCIe gen {} x{}", generation, lanes);
}

}  // namespace

std::vector<double> severities(double least, double most, int every) {
  std::vector<double> out;
  int k = 0;
  for (double f = 0.9; f > least * 0.999; f *= 0.9)
    if (f < most * 1.001 && k++ % every == 0) out.push_back(f);
  return out;
}

Scene scene_of(const Predictor& predictor, const Evidence& evidence) {
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
  s.peers = machine.peers;
  s.lanes = machine.lanes;
  try {
    const auto fabric = cluster_of(machine, 1, machine.gpus, {}).machine(0);
    const auto gpus = fabric.gpus();
    s.multicast = machine.gpu_known && gpus.size() > 1 && fabric.nvls(gpus);
    s.patched = !machine.peers && fabric.pcie_p2p();
    const PairRates rates{fabric};
    if (gpus.size() > 1 && rates.best_pair(false) > 0) s.staged_share = rates.staged(false) / rates.best_pair(false);
    if (machine.gpu_known) s.compute_capability = fabric.gpu_model(gpus.front()).compute_capability;
    int nics = 0;
    for (const auto& d : fabric.devices()) nics += d.kind == topologies::DeviceKind::nic ? 1 : 0;
    if (s.nics == 0) s.nics = nics;
    for (const auto& link : fabric.links()) {
      const auto first = gpus.front();
      const bool of_first = link.a == first || link.b == first;
      if (link.kind == models::LinkKind::pcie && of_first)
        s.pcie = slot_words(link.bare.GBps(), link.width), s.lanes = link.width;
      if (link.kind != models::LinkKind::nvlink) continue;
      s.nvlink = true;
      if (of_first) s.nvlinks += link.width;
      const auto& a = fabric.devices()[static_cast<std::size_t>(link.a)];
      const auto& b = fabric.devices()[static_cast<std::size_t>(link.b)];
      if (s.switch_link.empty() && of_first) s.switch_link = a.name + "-" + b.name, s.switch_width = link.width;
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
  add_faults_inside(scene, evidence, out);
  add_faults_of_network(scene, evidence, out);
  add_faults_of_pairs(scene, evidence, out);
  // Something that is none of these: everything of one scope is slower by one factor.
  const auto unknown = [&](const char* scope, bool inside, bool net, double prior) {
    // Down to a thousandth of the rate, equally probable in the logarithm: whatever is slow enough is not normal.
    const auto shares = severities(0.001, 0.87);
    for (const double f : shares) {
      Hypothesis h;
      h.cause = unexplained;
      h.prior = prior / static_cast<double>(shares.size());
      h.share = [inside, net, f](const Observation& o) {
        if (o.kind == Kind::shape || o.kind == Kind::staged_over_p2p) return 1.0;
        return (o.several_nodes ? net : inside) ? f : 1.0;
      };
      h.says = fmt::format("{} at {:.2g} %", scope, 100 * f);
      h.confirm = inside ? "nvbandwidth -t device_to_device_memcpy_read_ce" : "ib_write_bw -a --report_gbits <peer>";
      out.push_back(std::move(h));
    }
  };
  if (scene.inside || scene.pairs) unknown("everything within the machine", true, false, 0.02);
  if (scene.several || scene.tests) unknown("everything between machines", false, true, 0.02);
  if ((scene.inside || scene.pairs) && (scene.several || scene.tests)) unknown("everything", true, true, 0.01);
  add_residuals(evidence, out);
  // On any machine, also one that nobody knows: a copy that avoids host memory must not be slower than one through it.
  const auto slower = severities(0.15, 0.8);
  for (const double share : slower) {
    const bool compared = std::any_of(evidence.seen.begin(), evidence.seen.end(),
                                      [](const Observation& o) { return o.kind == Kind::staged_over_p2p; });
    if (!compared) break;
    Hypothesis h;
    h.cause = "PCIe peer-to-peer is broken: slower than through host memory";
    h.prior = 0.04 / static_cast<double>(slower.size());
    h.share = [share](const Observation& o) { return o.kind == Kind::staged_over_p2p ? share : 1.0; };
    h.says = fmt::format("with peer access {:.0f} % of the rate without it", 100 * share);
    h.confirm = "nvidia-smi topo -p2p r; lspci -vvv | grep -i acsctl";
    out.push_back(std::move(h));
  }
  const bool shapes = std::any_of(evidence.seen.begin(), evidence.seen.end(),
                                  [](const Observation& o) { return o.kind == Kind::shape; });
  const auto drops = severities(0.3, 0.87);
  for (const double drop : drops) {
    if (!shapes) break;
    Hypothesis h;
    h.cause = "unexplained: a plateau below the peak";
    h.prior = 0.024 / static_cast<double>(drops.size());
    h.share = [drop](const Observation& o) { return o.kind == Kind::shape ? drop : 1.0; };
    h.says = fmt::format("the largest sizes reach {:.0f} % of the best", 100 * drop);
    h.confirm = "rerun with -n 100 -b 1M -e 1G -f 2 and watch clocks and retries (nvidia-smi dmon, perfquery)";
    out.push_back(std::move(h));
  }
  double normals = 0, faults = 0;
  for (const auto& h : out) (h.normal ? normals : faults) += h.prior;
  // What is asked about with a figure or a few points is healthy in four of ten cases (public threads with a known
  // cause); a whole sweep or matrix is in 85 of the 112 series of the corpus. In which kind of file it comes says
  // nothing. Where the stock driver denies the peers that a healthy box is taken to have, fewer boxes have them.
  const bool whole_log = std::any_of(evidence.seen.begin(), evidence.seen.end(),
                                     [](const Observation& o) { return o.kind == Kind::shape || o.matrix >= 0; });
  const double healthy = scene.patched ? 0.3 : whole_log ? 0.76 : 0.4;
  for (auto& h : out) h.prior *= h.normal ? healthy / normals : (1 - healthy) / faults;
  return out;
}

}  // namespace linkcast::calibration::diagnosis
