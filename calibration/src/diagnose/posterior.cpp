// See posterior.hpp.
#include "posterior.hpp"

#include "../on_threads.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace linkcast::calibration::diagnosis {
namespace {

constexpr int grid = 49;  // of the bias, over plus and minus six scales
constexpr double reach = 6;
constexpr double tail_bias = 6;  // degrees of freedom of Student's t
constexpr double tail_point = 4;

double log_t(double z, double dof) { return -(dof + 1) / 2 * std::log1p(z * z / dof); }

struct Residual {
  double r, scatter, weight;
};

/// ln of the integral over the bias of prior x likelihood. A healthy machine that beats the model is no riddle: on that
/// side the bias is twice as wide.
double log_group(const std::vector<Residual>& points, double bias, bool normal) {
  std::array<double, grid> terms{};
  double top = -1e300;
  for (int k = 0; k < grid; ++k) {
    const double z = -reach + 2 * reach * k / (grid - 1);
    const double b = z * bias * (z > 0 && normal ? 2.0 : 1.0);
    // Nor does a fault give more than it leaves: only the model's own error is on that side.
    double sum = z > 0 && !normal ? log_t(0, tail_bias) - 0.5 * z * z : log_t(z, tail_bias);
    for (const auto& p : points) sum += p.weight * (log_t((p.r - b) / p.scatter, tail_point) - std::log(p.scatter));
    terms[static_cast<std::size_t>(k)] = sum;
    top = std::max(top, sum);
  }
  double total = 0;
  for (const double t : terms) total += std::exp(t - top);
  return top + std::log(total * 2 * reach / (grid - 1));
}

/// Figures whose reading is swapped: busbw taken for algbw, or the other way round.
double swapped(const Observation& o, const Probe& probe, const Hypothesis& h) {
  if (o.kind != Kind::collective || !h.swap_reading || (o.reading != Reading::open && !h.swap_labels) || !o.size_open)
    return o.reading == Reading::open && h.swap_reading && o.kind == Kind::collective
               ? workloads::busbw_factor(probe.op, probe.ranks())
               : 1.0;
  const double factor = workloads::busbw_factor(probe.op, probe.ranks());
  return o.shown == 1.0 && o.reading == Reading::as_said ? 1 / factor : factor;
}

/// A fault that changes none of the numbers by more than a few percent may be there or not: these measurements are
/// those of a healthy machine.
bool visible(const Evidence& evidence, const Judged& judged) {
  for (std::size_t i = 0; i < evidence.seen.size(); ++i)
    if (judged.predicted[i] < 0.93 * evidence.seen[i].base) return true;
  return false;
}

bool predict(const Hypothesis& h, const Evidence& evidence, const Predictor& predictor, Judged& out) {
  const bool changed = !(h.edit == Edit{}) || !h.software.none();
  std::vector<std::vector<Prediction>> calls(evidence.probes.size());
  for (const auto& o : evidence.seen) {
    double value = o.base;
    if (o.kind == Kind::collective && changed) {
      auto& call = calls[static_cast<std::size_t>(o.probe)];
      if (call.empty())
        call = predictor.collective(evidence.probes[static_cast<std::size_t>(o.probe)], h.edit, h.software);
      if (call.empty()) return false;
      if (o.average) {
        value = 0;
        for (const auto& c : call) value += c.GBps / static_cast<double>(call.size());
      } else {
        value = call[o.point].GBps;
      }
    }
    if (h.share) value *= h.share(o);
    // A fault makes nothing faster: what would, a healthy machine has too.
    if (!h.normal && o.kind != Kind::shape) value = std::min(value, 1.02 * o.base);
    // What was measured, when read otherwise, is compared as if the prediction had been read so.
    if (h.swap_reading && o.kind == Kind::collective)
      value /= swapped(o, evidence.probes[static_cast<std::size_t>(o.probe)], h);
    out.predicted.push_back(value);
  }
  return h.normal || visible(evidence, out);
}

void weigh(const Hypothesis& h, const Evidence& evidence, Judged& out) {
  std::map<std::string, std::vector<Residual>> groups;
  std::map<std::string, double> bias;
  for (std::size_t i = 0; i < evidence.seen.size(); ++i) {
    const auto& o = evidence.seen[i];
    groups[o.group].push_back({std::log(o.measured / std::max(1e-9, out.predicted[i])), o.scatter, o.weight});
    bias[o.group] = std::max(bias[o.group], o.bias);
  }
  for (const auto& [name, points] : groups) out.log_evidence += log_group(points, bias[name], h.normal);
}

}  // namespace

std::vector<Judged> judge(const std::vector<Hypothesis>& hypotheses, const Evidence& evidence,
                          const Predictor& predictor, int threads) {
  std::vector<Judged> out(hypotheses.size());
  on_threads(out.size(), threads, [&](std::size_t i) {
    out[i].possible = predict(hypotheses[i], evidence, predictor, out[i]);
    if (out[i].possible) weigh(hypotheses[i], evidence, out[i]);
  });
  double top = -1e300;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].possible) top = std::max(top, out[i].log_evidence + std::log(hypotheses[i].prior));
  double total = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].possible) continue;
    out[i].probability = std::exp(out[i].log_evidence + std::log(hypotheses[i].prior) - top);
    total += out[i].probability;
  }
  for (auto& j : out) j.probability /= total;
  return out;
}

}  // namespace linkcast::calibration::diagnosis
