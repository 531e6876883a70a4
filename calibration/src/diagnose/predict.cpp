// See predict.hpp.
#include "predict.hpp"

#include <fmt/format.h>

#include <algorithm>

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

namespace {

/// Of a network that is described the NICs keep their cables; NCCL is told which of them to take.
std::string some_nics(const topologies::Fabric& machine, int used) {
  const auto names = nics_of(machine).names;
  const int all = static_cast<int>(names.size());
  std::string list;
  for (int i = 0; i < std::min(used, all); ++i)
    list += (i == 0 ? "=" : ",") + names[static_cast<std::size_t>(i * all / used)];
  return list;
}

}  // namespace

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
  auto cluster = cluster_of(machine_, probe.nodes, probe.gpus, edit);
  if (machine_.described_network && edit.nics > 0 && !options.env.get("NCCL_IB_HCA"))
    options.env.set("NCCL_IB_HCA", some_nics(cluster.machine(0), edit.nics));
  options.launch = probe.launch;
  options.launch_floor = software.floor;
  // NCCL does not see what a cable carries: its search, most of the work, is the same for all of them.
  auto structure = edit;
  structure.cables = structure.one_nic = structure.one_node = 1;
  auto key = fmt::format("{}|{}|{}|{}", probe.nodes, probe.gpus, options.nccl.str(), structure.key());
  for (const auto& [name, value] : options.env.all()) key += "|" + name + "=" + value;
  {
    const std::lock_guard lock{mutex_};
    if (const auto it = chosen_.find(key); it != chosen_.end()) options.chosen = it->second;
  }
  const workloads::CollectiveModel model(std::move(cluster), std::move(options));
  {
    const std::lock_guard lock{mutex_};
    chosen_.try_emplace(std::move(key), model.chosen());
  }
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
