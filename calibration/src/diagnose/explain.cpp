// See explain.hpp.
#include "explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "pair_rates.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

constexpr std::size_t most_causes = 6;
constexpr double least_score = 0.005;

/// Of a cause: its members together, and the best of them.
struct Sum {
  double probability = 0;
  std::size_t best = 0;
  bool any = false;
};

/// How many points lie within what scatter and bias allow, and the worst of the others.
std::string fit_words(const Judged& j, const Evidence& evidence) {
  int near = 0;
  std::vector<double> off;
  for (std::size_t i = 0; i < evidence.seen.size(); ++i) {
    const auto& o = evidence.seen[i];
    const double r = std::log(o.measured / std::max(1e-9, j.predicted[i]));
    near += std::abs(r) < 2 * std::hypot(o.bias, o.scatter) ? 1 : 0;
    off.push_back(std::abs(r));
  }
  std::nth_element(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2), off.end());
  return fmt::format("explains {} of {} points, half of them within {:.0f} %", near, evidence.seen.size(),
                     100 * (std::exp(off[off.size() / 2]) - 1));
}

/// The observation that a hypothesis moves most, with numbers.
std::string example_words(const Judged& j, const Evidence& evidence) {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < evidence.seen.size(); ++i) {
    const auto& o = evidence.seen[i];
    if (o.kind == Kind::shape || o.kind == Kind::staged_over_p2p) continue;
    const double moved = std::abs(std::log(j.predicted[i] / o.base)) +
                         (o.size ? 0.01 * std::log2(static_cast<double>(o.size->count())) : 0);
    if (moved > most) most = moved, best = i;
  }
  if (most < 0) return {};
  const auto& o = evidence.seen[best];
  return fmt::format("{}: measured {:.3g}, so {:.3g}, healthy {:.3g} GB/s", o.what, o.measured * o.shown,
                     j.predicted[best] * o.shown, o.base * o.shown);
}

void add_reason(std::vector<Cause>& out, std::string cause, std::string explains, double score) {
  for (const auto& c : out)
    if (c.cause == cause) return;
  out.push_back({std::move(cause), score, std::move(explains), {}, {}});
}

/// What surprises people about the numbers of a healthy machine, from the simulation of it.
std::vector<Cause> normal_reasons(const Evidence& evidence, const Predictor& predictor, const Scene& s,
                                  const Hypothesis& best, double score) {
  std::vector<Cause> out;
  const auto& m = predictor.machine();
  if (best.cause != "normal") add_reason(out, best.cause, best.says, score);
  // The fastest point speaks first: what is said of a plateau is not said of 32 bytes.
  auto seen = evidence.seen;
  std::stable_sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.measured > b.measured; });
  for (const auto& o : seen) {
    if (o.kind == Kind::collective) {
      const auto& probe = evidence.probes[static_cast<std::size_t>(o.probe)];
      const double factor = workloads::busbw_factor(probe.op, probe.ranks());
      const double busbw = o.measured * factor;
      const double nics = s.nic_gbps / 8 * s.nics;
      if (o.shown == 1 && factor != 1)
        add_reason(out, "normal: algbw read as busbw",
                   fmt::format("algbw x {:.4g} is busbw on {} GPUs: {:.0f} GB/s algbw are {:.0f} GB/s busbw", factor,
                               probe.ranks(), o.measured, busbw),
                   score);
      if (o.several_nodes && probe.nodes == 2 && nics > 0 && busbw > 1.02 * nics)
        add_reason(
            out, "normal: 2-node tree (NVLSTree) above NIC rate",
            fmt::format("on two nodes a tree sends half of a ring's bytes over the NICs: busbw {:.0f} GB/s may pass "
                        "their {:.0f} GB/s; on four nodes or as a ring it is bound by them",
                        busbw, nics),
            score);
      if (o.several_nodes && probe.gpus == 1)
        add_reason(out, "normal: one GPU is bound by its own NIC and PCIe slot",
                   fmt::format("one GPU for each node: more NICs than its own do not help, all bytes pass its slot{}",
                               s.pcie.empty() ? "" : " (" + s.pcie + ")"),
                   score);
      if (o.several_nodes && nics > 0 && busbw < 1.1 * nics)
        add_reason(out, "normal: NIC-count limit",
                   fmt::format("{} NICs x {:.0f} Gb/s carry {:.0f} GB/s each way: {:.0f} GB/s are {:.0f} % of it",
                               s.nics, s.nic_gbps, nics, busbw, 100 * busbw / nics),
                   score);
      if (!o.size_open && o.size && *o.size >= sim::mib(1) && !o.average) {
        auto large = probe;
        large.sizes = {sim::gib(8)};
        const auto peak = predictor.collective(large, {}, {});
        if (!peak.empty() && o.base < 0.93 * peak[0].GBps && *o.size == probe.sizes.back())
          add_reason(out, "normal: size too small to reach the peak",
                     fmt::format("at {} a healthy machine gives {:.0f} % of what it gives at 8 GiB ({:.0f} GB/s busbw)",
                                 size_words(*o.size), 100 * o.base / peak[0].GBps, peak[0].GBps * factor),
                     score);
      }
      if (!o.several_nodes && o.algorithm.rfind("NVLS", 0) == 0)
        add_reason(out, "normal: NVLS busbw depends on the GPU count",
                   fmt::format("the switches reduce (NVLS): busbw counts bytes that are not on the wire and grows with "
                               "the number of GPUs; {} give {:.0f} GB/s",
                               probe.ranks(), o.base * factor),
                   score);
      if (!o.several_nodes && !s.nvlink)
        add_reason(out, "normal: PCIe limit",
                   fmt::format("no NVLink: all bytes pass {} slots", s.pcie.empty() ? m.pcie_link : s.pcie), score);
      if (o.average)
        add_reason(out, "normal: average far below the peak", "small sizes count as much as large ones", score);
    } else if (o.kind == Kind::pair && o.over_nvlink) {
      add_reason(
          out, "normal: NVLink protocol overhead (80 to 92 % of line rate)",
          fmt::format("packet headers and responses leave {:.0f} GB/s {}; the advertised figure is the bare rate, "
                      "often of both directions together",
                      o.base, o.bidirectional ? "both ways" : "one way"),
          score);
      if (!o.bidirectional)
        add_reason(out, "normal: one direction of a figure that is advertised for both",
                   fmt::format("{:.0f} GB/s one way are {:.0f} GB/s both ways", o.measured, 2 * o.measured), score);
    } else if (o.kind == Kind::pair && !o.to_host && !s.nvlink) {
      add_reason(out, "normal: PCIe limit",
                 fmt::format("{} carries about {:.0f} GB/s {} after its headers; pairs on two sockets a little less",
                             s.pcie.empty() ? fmt::format("{} x{}", m.pcie_link, m.lanes) : s.pcie, o.base,
                             o.bidirectional ? "both ways" : "one way"),
                 score);
    } else if (o.kind == Kind::test) {
      add_reason(out, "normal: NIC line rate",
                 fmt::format("{:.0f} Gb/s are {:.0f} GB/s (8 bits a byte, 3 % of headers)", 8 * o.base / 0.965, o.base),
                 score);
    } else if (o.kind == Kind::expert) {
      add_reason(out, "normal: expert-parallel figure bound by NIC or NVLink",
                 o.several_nodes
                     ? fmt::format(
                           "a GPU's share of the NICs gives about {:.0f} GB/s; the figure is algorithmic: what stays "
                           "within a node counts too and passes NVLink, which binds where it is slow and nodes are few",
                           o.base)
                     : fmt::format("NVLink gives about {:.0f} GB/s to one GPU's dispatch", o.base),
                 score);
    }
  }
  if (out.empty()) add_reason(out, "normal", "all points lie where a healthy machine of this kind has them", score);
  return out;
}

}  // namespace

std::vector<Cause> causes_of(const std::vector<Hypothesis>& hypotheses, const std::vector<Judged>& judged,
                             const Evidence& evidence, const Predictor& predictor, const Scene& scene, bool healthy) {
  std::map<std::string, Sum> sums;
  double normal = 0;
  std::size_t best_normal = 0;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    if (!judged[i].possible) continue;
    if (hypotheses[i].normal) {
      normal += judged[i].probability;
      if (judged[i].probability > judged[best_normal].probability || !hypotheses[best_normal].normal) best_normal = i;
      continue;
    }
    auto& sum = sums[hypotheses[i].cause];
    sum.probability += judged[i].probability;
    if (!sum.any || judged[i].probability > judged[sum.best].probability) sum.best = i;
    sum.any = true;
  }
  // Causes whose best member predicts the same numbers, nearly.
  const auto alike = [&](std::size_t a, std::size_t b) {
    std::vector<double> off;
    for (std::size_t i = 0; i < evidence.seen.size(); ++i)
      off.push_back(std::abs(std::log(judged[a].predicted[i] / judged[b].predicted[i])));
    std::sort(off.begin(), off.end());
    return std::abs(judged[a].log_evidence - judged[b].log_evidence) < 1.0 && off[off.size() / 2] < 0.06;
  };
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [cause, sum] : sums) order.emplace_back(-sum.probability, cause);
  std::sort(order.begin(), order.end());
  std::vector<Cause> out;
  if (healthy) out = normal_reasons(evidence, predictor, scene, hypotheses[best_normal], normal);
  const auto reasons = out.size();
  for (const auto& [minus, cause] : order) {
    if (out.size() - reasons >= most_causes || (out.size() - reasons >= 3 && -minus < least_score)) break;
    if (healthy && -minus < least_score) break;
    const auto& sum = sums[cause];
    const auto& h = hypotheses[sum.best];
    out.push_back({cause,
                   -minus,
                   fmt::format("{}. {}; {}", h.says, fit_words(judged[sum.best], evidence),
                               example_words(judged[sum.best], evidence)),
                   h.confirm,
                   {}});
    for (const auto& [other, its] : sums)
      if (other != cause && alike(sum.best, its.best)) out.back().alike.push_back(other);
  }
  return out;
}

}  // namespace linkcast::calibration::diagnosis
