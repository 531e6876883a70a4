// See predict.hpp.
#include "predict.hpp"

#include <fmt/format.h>

namespace linkcast::calibration::diagnosis {

std::string Probe::key() const {
  std::string out = fmt::format("{}|{}|{}|{}|{}|{}|{}", static_cast<int>(op), nodes, gpus, nccl ? nccl->str() : "",
                                static_cast<int>(launch), dtype, in_place);
  for (const auto& [name, value] : env) out += "|" + name + "=" + value;
  for (const auto size : sizes) out += fmt::format("|{}", size.count());
  return out;
}

std::string Software::key() const {
  std::string out = fmt::format("{}|{}", nccl ? nccl->str() : "", floor ? floor->ps() : -1);
  for (const auto& [name, value] : env) out += "|" + name + "=" + value;
  return out;
}

std::vector<Prediction> Predictor::simulate(const Probe& probe, const Edit& edit, const Software& software) const {
  workloads::CommunicatorOptions options;
  if (probe.nccl) options.nccl = *probe.nccl;
  if (software.nccl) options.nccl = *software.nccl;
  auto env = probe.env;
  for (const auto& [name, value] : software.env) env[name] = value;
  for (const auto& [name, value] : env) {
    if (value.empty()) continue;
    try {
      options.env.set(name, value);
    } catch (const sim::InputError&) {  // NCCL ignores what it does not know
    }
  }
  options.launch = probe.launch;
  options.launch_floor = software.floor;
  const workloads::CollectiveModel model(cluster_of(machine_, probe.nodes, probe.gpus, edit), std::move(options));
  models::nccl::Call call;
  call.op = probe.op;
  call.dtype = probe.dtype;
  call.in_place = probe.in_place;
  std::vector<Prediction> out;
  for (const auto size : probe.sizes) {
    call.bytes = size;
    auto row = model.run(call);
    // The network's number for send/recv is of many peers that share buffers; here each rank has two.
    if (probe.op == models::nccl::Op::sendrecv && probe.nodes > 1)
      row.algbw_GBps /= model.cluster().network().model().p2p_efficiency;
    out.push_back({row.algbw_GBps, std::move(row.algorithm), std::move(row.protocol), std::move(row.bound_by)});
  }
  return out;
}

std::vector<Prediction> Predictor::collective(const Probe& probe, const Edit& edit, const Software& software) const {
  const auto key = probe.key() + "#" + edit.key() + "#" + software.key();
  {
    const std::lock_guard lock{mutex_};
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
  }
  std::vector<Prediction> out;
  try {
    out = simulate(probe, edit, software);
  } catch (const sim::InputError&) {  // no such machine: this fault cannot be here
  }
  const std::lock_guard lock{mutex_};
  return known_[key] = std::move(out);
}

std::string Predictor::problem(const Probe& probe) const {
  try {
    simulate(probe, {}, {});
    return {};
  } catch (const sim::InputError& e) {
    return e.diagnostics().front().problem;
  }
}

}  // namespace linkcast::calibration::diagnosis
