// Faults that have a place: one GPU, one pair of GPUs, one host. The place is the one that stands out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "faults.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

double middle(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

constexpr const char* nvlink_confirm =
    "nvidia-smi nvlink -s; nvidia-smi --query-gpu=index,pcie.link.width.current --format=csv";

/// The GPU whose row and column are lowest, beside what is expected of them.
void one_gpu(const Evidence& evidence, std::vector<Hypothesis>& out) {
  std::map<int, std::vector<double>> rows, columns;
  for (const auto& o : evidence.seen) {
    if (o.kind != Kind::pair || o.matrix < 0 || o.to_host) continue;
    const double r = std::log(o.measured / o.base);
    rows[o.from].push_back(r), columns[o.to].push_back(r);
  }
  if (rows.size() < 3) return;
  int worst = -1, sender = -1, receiver = -1;
  double least = 0, least_row = 0, least_column = 0;
  for (const auto& [gpu, values] : rows) {
    auto both = values;
    both.insert(both.end(), columns[gpu].begin(), columns[gpu].end());
    if (const double m = middle(both); worst < 0 || m < least) worst = gpu, least = m;
    if (const double m = middle(values); sender < 0 || m < least_row) sender = gpu, least_row = m;
  }
  for (const auto& [gpu, values] : columns)
    if (const double m = middle(values); receiver < 0 || m < least_column) receiver = gpu, least_column = m;
  const auto add = [&](const char* cause, double prior, double f, std::string says, auto concerns) {
    Hypothesis h;
    h.cause = cause;
    h.prior = prior;
    h.says = std::move(says);
    h.confirm = nvlink_confirm;
    h.share = [f, concerns](const Observation& o) {
      return o.kind == Kind::pair && o.matrix >= 0 && !o.to_host && concerns(o) ? f : 1.0;
    };
    out.push_back(std::move(h));
  };
  const bool nvlink =
      std::any_of(evidence.seen.begin(), evidence.seen.end(), [](const Observation& o) { return o.over_nvlink; });
  const auto shares = severities(0.05, 0.87);
  const double many = static_cast<double>(shares.size());
  for (const double f : shares) {
    // Over PCIe, sockets and switches make differences of this size on healthy boxes.
    if (!nvlink && f > 0.75) continue;
    add("one GPU's path is bad (link down or narrow)", 0.05 / many, f,
        fmt::format("row and column of GPU {} at {:.0f} %", worst, 100 * f),
        [worst](const Observation& o) { return o.from == worst || o.to == worst; });
    add("a slow link in one direction", 0.018 / many, f, fmt::format("what GPU {} sends at {:.0f} %", sender, 100 * f),
        [sender](const Observation& o) { return o.from == sender; });
    add("a slow link in one direction", 0.018 / many, f,
        fmt::format("what GPU {} receives at {:.0f} %", receiver, 100 * f),
        [receiver](const Observation& o) { return o.to == receiver; });
  }
  // One pair.
  const Observation* low = nullptr;
  for (const auto& o : evidence.seen)
    if (o.kind == Kind::pair && o.matrix >= 0 && !o.to_host &&
        (!low || o.measured / o.base < low->measured / low->base))
      low = &o;
  if (!low) return;
  for (const double f : shares) {
    const int a = low->from, b = low->to;
    add("one GPU's path is bad (link down or narrow)", 0.012 / many, f,
        fmt::format("between GPU {} and GPU {} at {:.0f} %", a, b, 100 * f),
        [a, b](const Observation& o) { return (o.from == a && o.to == b) || (o.from == b && o.to == a); });
    add("a slow link in one direction", 0.012 / many, f,
        fmt::format("from GPU {} to GPU {} at {:.0f} %", a, b, 100 * f),
        [a, b](const Observation& o) { return o.from == a && o.to == b; });
  }
}

/// The host that the slow tests share.
void one_host(const Evidence& evidence, std::vector<Hypothesis>& out) {
  std::map<std::string, std::vector<double>> of;
  for (const auto& o : evidence.seen) {
    if (o.kind != Kind::test || o.host_from.empty()) continue;
    const double r = std::log(o.measured / o.base);
    of[o.host_from].push_back(r), of[o.host_to].push_back(r);
  }
  if (of.size() < 3) return;
  const auto worst = std::min_element(of.begin(), of.end(),
                                      [](const auto& a, const auto& b) { return middle(a.second) < middle(b.second); });
  const auto shares = severities(0.05, 0.87);
  for (const double f : shares) {
    Hypothesis h;
    h.cause = "one slow node";
    h.prior = 0.06 / static_cast<double>(shares.size());
    h.says = fmt::format("all slow pairs share {}: it carries {:.0f} %", worst->first, 100 * f);
    h.confirm = fmt::format("ssh {} 'ibstat; lspci -vv | grep -A1 LnkSta; lsmod | grep peermem'", worst->first);
    h.share = [f, host = worst->first](const Observation& o) {
      return o.kind == Kind::test && (o.host_from == host || o.host_to == host) ? f : 1.0;
    };
    out.push_back(std::move(h));
  }
}

}  // namespace

void add_faults_of_pairs(const Scene& scene, const Evidence& evidence, std::vector<Hypothesis>& out) {
  if (scene.pairs) one_gpu(evidence, out);
  if (scene.tests) one_host(evidence, out);
}

}  // namespace linkcast::calibration::diagnosis
