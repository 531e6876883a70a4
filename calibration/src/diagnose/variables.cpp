// See variables.hpp.
#include "variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace linkcast::calibration::diagnosis {
namespace {

using models::nccl::Op;

constexpr double least_loss = 0.07;  // what a fault must change to be one (posterior.cpp)

struct Loss {
  Op op = Op::all_reduce;
  double without = 0, with = 0;  // GB/s busbw
  double scale = 1;              // of the model's error, of ln
  double share() const { return without > 0 ? 1 - with / without : 0; }
  /// That the loss is one: the model's error, as large as it is expected to be, does not make it up.
  double probability() const { return 0.5 * std::erfc(-std::log(without / with) / scale / std::numbers::sqrt2); }
};

/// The collective that loses most. Nothing: it could not be simulated.
Loss loss_by(const std::string& name, const std::string& value, const Probe& healthy, const Predictor& predictor) {
  Loss worst;
  // Without RDMA the network is another one, if there is one.
  const bool sockets = name == "NCCL_IB_DISABLE" || name == "NCCL_NET";
  if (sockets && healthy.nodes < 2) return worst;
  Edit edit;
  Software software;
  if (sockets)
    edit.network = "tcp";
  else
    software.env[name] = value;
  for (const auto op : {Op::all_reduce, Op::all_gather, Op::alltoall}) {
    auto probe = healthy;
    probe.op = op;
    probe.sizes = {sim::gib(1)};
    const auto without = predictor.collective(probe, {}, {}), with = predictor.collective(probe, edit, software);
    if (without.empty() || with.empty()) continue;
    const double factor = workloads::busbw_factor(op, probe.ranks());
    const auto interval = interval_of(predictor.machine(), op, probe.nodes > 1, probe.sizes[0]);
    const Loss loss{op, without[0].GBps * factor, with[0].GBps * factor, std::hypot(interval.bias, interval.scatter)};
    if (loss.share() > worst.share()) worst = loss;
  }
  return worst;
}

}  // namespace

void judge_variables(const Predictor& predictor, const DiagnoseOptions& options, Evidence& evidence, Diagnosis& out) {
  const auto& machine = predictor.machine();
  auto healthy = healthy_probe(machine, options, {}, evidence);
  healthy.launch = healthy.nodes > 1 ? models::LaunchMode::multi_process : models::LaunchMode::single_process;
  if (healthy.ranks() < 2) return;
  double all = 0;
  for (const auto& [name, value] : evidence.crippling) {
    const auto known = cause_of_variable(name);
    if (known.empty()) continue;
    const auto loss = loss_by(name, value, healthy, predictor);
    if (loss.share() < least_loss) {
      out.notes.push_back(fmt::format("{}={} costs this machine nothing that would be seen", name, value));
      continue;
    }
    all += loss.share();
    out.confidence = std::max(out.confidence, loss.probability());
    out.causes.push_back(
        {std::string(known),
         loss.share(),
         fmt::format("{}={} is set: {} of 1 GiB gives {:.3g} GB/s busbw instead of {:.3g} (simulated; nothing was "
                     "measured)",
                     name, value, models::nccl::name_of(loss.op), loss.with, loss.without),
         fmt::format("env -u {} {}_perf -b 1G -e 1G -g {}; cat /etc/nccl.conf ~/.nccl.conf", name,
                     models::nccl::name_of(loss.op), machine.gpus),
         {}});
  }
  if (out.causes.empty()) return;
  for (auto& c : out.causes) c.score *= out.confidence / all;
  std::stable_sort(out.causes.begin(), out.causes.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  out.verdict = Verdict::degraded;
}

}  // namespace linkcast::calibration::diagnosis
