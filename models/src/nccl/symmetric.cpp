// Calls on symmetric windows: the kernels that read and write peers directly, chosen by NCCL's own cost model for
// them, and collectives on copy engines. Source: NCCL sym_kernels.cc, ce_coll.cc. Knows no channel.
#include <algorithm>
#include <cmath>

#include "nccl/communicator_impl.hpp"

namespace linkcast::models::nccl {

namespace {
// Smooth minimum and smooth ramp of NCCL's model.
double soft_min(double x, double ceiling, double softness) {
  return ceiling - softness * std::log1p((std::exp(ceiling / softness) - 1) * std::exp(-x / softness));
}
double soft_plus(double x, double softness) {
  const double z = x / softness;
  return z >= 100 ? x : softness * std::log1p(std::exp(z));
}

struct Kernel {
  const char* name;
  Op op;
  bool ll, multicast;
};
constexpr Kernel kernels[] = {
    {"AllReduce_AGxLL_R", Op::all_reduce, true, false},      {"AllReduce_AGxLLMC_R", Op::all_reduce, true, true},
    {"AllReduce_RSxLD_AGxST", Op::all_reduce, false, false}, {"AllReduce_RSxLDMC_AGxSTMC", Op::all_reduce, false, true},
    {"AllGather_LL", Op::all_gather, true, false},           {"AllGather_LLMC", Op::all_gather, true, true},
    {"AllGather_ST", Op::all_gather, false, false},          {"AllGather_STMC", Op::all_gather, false, true},
    {"ReduceScatter_LL", Op::reduce_scatter, true, false},   {"ReduceScatter_LD", Op::reduce_scatter, false, false},
    {"ReduceScatter_LDMC", Op::reduce_scatter, false, true}};
}  // namespace

std::optional<Choice> Communicator::Impl::symmetric(const Call& call, SymmetricBlocks* blocks) const {
  if (!call.symmetric_windows || !since(27) || ranks < 2 || config.nodes > 1 || !topo->all_direct_nvlink()) return {};
  if (env("NCCL_WIN_ENABLE", 1) == 0) return {};
  if (copy_engine(call)) return {};
  const Datatype type = datatype(call.dtype);
  if (call.op != Op::all_gather && !type.symmetric) return {};
  const int n = ranks;
  const double b = static_cast<double>(call.bytes.count()) / (call.op == Op::all_reduce ? 1 : n);
  const bool blackwell = cc_min >= 100;
  const auto forced = config.env.get("NCCL_SYM_KERNEL");
  const auto wish = std::min<long long>(64, env("NCCL_SYM_CTAS", 0));
  const int most = static_cast<int>(std::clamp<long long>(env("NCCL_MAX_CTAS", 64), 1, 64));
  constexpr double gb = 1073741824.0 / 1e6;  // NCCL's "GB/s" in bytes per microsecond

  std::optional<Choice> best;
  double best_score = 0;
  for (const auto& k : kernels) {
    if (k.op != call.op || (k.multicast && !nvls_usable) || (forced && *forced != k.name)) continue;
    double bus = 0, factor = 1;
    int limit = 64;
    if (k.ll) {
      bus = 9.0 * n * b;
      factor = k.multicast ? 1.1 : 1;
      if (bus >= 2147483648.0) continue;
    } else if (call.op == Op::all_reduce) {
      bus = k.multicast ? b / n + b : 2 * b * (n - 1) / n;
      factor = k.multicast ? n : 1;
    } else {
      bus = (n - 1) * b;
      factor = k.multicast ? 0.55 * n : 1;
    }
    if (bus >= 68719476736.0) continue;
    if (k.multicast && !k.ll) limit = ((blackwell ? 32 : 16) + n - 1) / n;
    limit = wish > 0 ? static_cast<int>(wish) : std::min(limit, most);
    const bool reduces_all = call.op == Op::all_reduce;
    const double base = k.ll ? (blackwell ? (call.op == Op::all_gather ? 8.5 : 11) : 4.5)
                             : (blackwell ? (reduces_all ? 19.5 : 13) : 7.8);
    const double per_sm = (blackwell ? 55 : reduces_all ? 65 : 44) * gb;
    const double peak = (reduces_all && k.multicast ? (blackwell ? 1000 : 480) : (blackwell ? 600 : 320)) * gb;
    const auto time = [&](int sms) {
      const double bw = soft_min(sms * per_sm * factor, peak, per_sm);
      return base + soft_plus(bus / bw - 1, 1);
    };
    const double full = time(limit);
    int sms = wish > 0 ? limit : 1;
    while (sms < limit && time(sms) > 1.025 * full) ++sms;
    const double score = time(sms) * (1 + 0.025 * sms);
    if (best && score >= best_score) continue;
    best_score = score;
    Choice choice;
    choice.algorithm = Algorithm::symmetric;
    choice.protocol = k.ll ? Protocol::ll : Protocol::simple;
    choice.model_time_us = time(sms);
    choice.kernel = k.name;
    choice.reason = std::string{k.name} + " on " + std::to_string(sms) +
                    " blocks: symmetric windows come before the classic algorithms";
    best = choice;
    // Bytes per microsecond on the bus, as bytes of the call. Only the blocks: what the links do is not the library's
    // say.
    const double call_bytes = static_cast<double>(call.bytes.count());
    if (blocks != nullptr) *blocks = {sms, sim::Rate::from_GBps(sms * per_sm * factor * call_bytes / bus * 1e-3)};
  }
  return best;
}

std::optional<Choice> Communicator::Impl::copy_engine(const Call& call) const {
  if (!call.symmetric_windows || !since(28) || ranks < 2 || config.nodes > 1 || !topo->all_direct_nvlink()) return {};
  if (env("NCCL_WIN_ENABLE", 1) == 0) return {};
  const bool copies =
      call.op == Op::all_gather || call.op == Op::alltoall || call.op == Op::gather || call.op == Op::scatter;
  if (!copies) return {};
  const auto policy = config.env.get("NCCL_CTA_POLICY").value_or("0");
  const bool zero = policy.find("ZERO") != std::string::npos || policy == "2" || policy == "3";
  // The threshold counts elements of one rank's contribution, not bytes.
  const auto elements = call.bytes.count() / datatype(call.dtype).bytes / ranks;
  const bool by_itself =
      since(29) && call.op == Op::all_gather && cc_min >= 100 && elements > env("NCCL_SYM_CE_THRESHOLD", 8 << 20);
  if (!zero && !by_itself) return {};
  Choice choice;
  choice.algorithm = Algorithm::copy_engine;
  choice.reason = zero ? "copy engines: NCCL_CTA_POLICY=ZERO keeps the SMs free"
                       : "copy engines: a large all-gather on Blackwell with registered windows";
  return choice;
}

}  // namespace linkcast::models::nccl
