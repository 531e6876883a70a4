// See layout_keys.hpp. What `free` leaves out on purpose, since nobody runs it: chunks of a pipeline with uneven
// numbers of layers (unless the embedding and the output make up for it, as in Llama 3), interleaved schedules whose
// micro batches do not divide by the stages (Megatron-LM refuses them), and ZeRO-2, which shards gradients that a
// pipeline or a step of several micro batches has to add up first: it may be listed.
#include "layout_keys.hpp"

#include <algorithm>
#include <numeric>

namespace linkcast::planning {
namespace {

using workloads::ContextExchange;
using workloads::Plan;
using workloads::Precision;
using workloads::Recompute;
using workloads::Schedule;
using workloads::Sharding;

std::vector<int> divisors(int n) {
  std::vector<int> out;
  for (int d = 1; d <= n / d; ++d)
    if (n % d == 0) {
      out.push_back(d);
      if (d != n / d) out.push_back(n / d);
    }
  std::ranges::sort(out);
  return out;
}

template <auto Member>
void copy(Plan& to, const Plan& from) {
  to.*Member = from.*Member;
}
template <auto Member, class T>
std::vector<Plan> values(const std::vector<T>& of) {
  std::vector<Plan> out;
  for (const auto& v : of) (out.emplace_back()).*Member = v;
  return out;
}
template <auto Member>
std::vector<Plan> both(const Partial&) {
  return values<Member, bool>({true, false});
}

/// GPUs over a product of listed values, which may be larger than they are, and than an int; at least 1.
int share(int gpus, std::int64_t among) { return static_cast<int>(std::max<std::int64_t>(1, gpus / among)); }
int data_parallel(const Plan& p) { return share(p.gpus, std::int64_t{p.tp} * p.cp * p.pp); }
int micro_batches(const Plan& p) {
  return static_cast<int>(p.global_batch / std::max<std::int64_t>(1, std::int64_t{data_parallel(p)} * p.micro_batch));
}
/// All ranks of a stage, over which experts may be spread.
std::int64_t of_stage(const Plan& p) { return std::int64_t{p.tp} * p.cp * data_parallel(p); }
std::int64_t states_shared(const Plan& p) { return std::int64_t{p.cp} * data_parallel(p); }

/// As step/layout.cpp divides layers: evenly, or evenly with the ends counted as layers.
bool even(const workloads::ModelCard& card, int chunks) {
  const int layers = static_cast<int>(card.layers.size());
  return layers % chunks == 0 || (layers + 2) % chunks == 0 || (layers + 1) % chunks == 0;
}

std::vector<Plan> free_tp(const Partial& x) {
  std::vector<int> out;
  for (const int d :
       divisors(std::gcd(std::gcd(x.card.heads, x.card.ffn > 0 ? x.card.ffn : x.card.heads), x.plan.gpus)))
    out.push_back(d);
  return values<&Plan::tp, int>(out);
}
std::vector<Plan> free_cp(const Partial& x) {
  const int sequence = x.plan.sequence > 0 ? x.plan.sequence : x.card.sequence;
  return values<&Plan::cp, int>(divisors(std::gcd(share(x.plan.gpus, x.plan.tp), std::max(1, sequence))));
}
std::vector<Plan> free_pp(const Partial& x) {
  std::vector<int> out;
  for (const int d : divisors(share(x.plan.gpus, std::int64_t{x.plan.tp} * x.plan.cp)))
    if (d <= static_cast<int>(x.card.layers.size()) && even(x.card, d)) out.push_back(d);
  return values<&Plan::pp, int>(out);
}
std::vector<Plan> free_ep(const Partial& x) {
  return values<&Plan::ep, int>(
      x.card.experts > 0 ? divisors(static_cast<int>(std::gcd<std::int64_t>(x.card.experts, of_stage(x.plan))))
                         : std::vector<int>{1});
}
std::vector<Plan> free_etp(const Partial& x) {
  return values<&Plan::etp, int>(x.card.experts > 0 ? divisors(static_cast<int>(std::gcd<std::int64_t>(
                                                          std::gcd(x.card.expert_ffn, x.plan.tp),
                                                          std::max<std::int64_t>(1, of_stage(x.plan) / x.plan.ep))))
                                                    : std::vector<int>{1});
}
std::vector<Plan> free_micro_batch(const Partial& x) {
  const int dp = data_parallel(x.plan);
  if (x.plan.global_batch % dp != 0) return {};
  return values<&Plan::micro_batch, int>(divisors(x.plan.global_batch / dp));
}
std::vector<Plan> free_schedule(const Partial& x) {
  if (x.plan.pp == 1) return values<&Plan::schedule, Schedule>({Schedule::one_f_one_b});
  std::vector<Schedule> out{Schedule::one_f_one_b, Schedule::zero_bubble};
  const int n = micro_batches(x.plan);
  if (x.plan.pp % 2 == 0 && n % 2 == 0 && n / 2 >= x.plan.pp) out.push_back(Schedule::dual_pipe);
  return values<&Plan::schedule, Schedule>(out);
}
std::vector<Plan> free_vpp(const Partial& x) {
  std::vector<int> out{1};
  const int layers = static_cast<int>(x.card.layers.size());
  if (x.plan.pp > 1 && x.plan.schedule != Schedule::dual_pipe && micro_batches(x.plan) % x.plan.pp == 0)
    for (int v = 2; v <= layers / x.plan.pp; ++v)
      if (even(x.card, v * x.plan.pp)) out.push_back(v);
  return values<&Plan::vpp, int>(out);
}
std::vector<Plan> free_sharding(const Partial& x) {
  if (states_shared(x.plan) == 1) return values<&Plan::sharding, Sharding>({Sharding::optimizer});
  return values<&Plan::sharding, Sharding>({Sharding::optimizer, Sharding::full, Sharding::none});
}
std::vector<Plan> free_shard_group(const Partial& x) {
  std::vector<int> out{0};
  const auto all = states_shared(x.plan);  // a listed cp may exceed the GPUs
  if (x.plan.sharding == Sharding::full && all <= x.plan.gpus)
    for (const int d : divisors(static_cast<int>(all)))
      if (d > 1 && d < all) out.push_back(d);
  return values<&Plan::shard_group, int>(out);
}
std::vector<Plan> free_recompute(const Partial&) {
  return values<&Plan::recompute, Recompute>({Recompute::none, Recompute::selective, Recompute::half, Recompute::full});
}
std::vector<Plan> free_precision(const Partial& x) {
  std::vector<Precision> out{Precision::bf16};
  if (x.gpu.peak_fp8 > 0) out.push_back(Precision::fp8);
  if (x.gpu.peak_fp4 > 0) out.push_back(Precision::fp4);
  return values<&Plan::precision, Precision>(out);
}
std::vector<Plan> free_context(const Partial& x) {
  if (x.plan.cp == 1) return values<&Plan::context, ContextExchange>({ContextExchange::ring});
  return values<&Plan::context, ContextExchange>({ContextExchange::ring, ContextExchange::all_gather});
}
/// Axes of size one change nothing: only the order of the others is permuted.
std::vector<Plan> free_order(const Partial& x) {
  std::vector<std::string> moved, rest;
  const auto size = [&](const std::string& axis) {
    return axis == "tp"   ? std::max(x.plan.tp, x.plan.etp)
           : axis == "cp" ? x.plan.cp
           : axis == "ep" ? x.plan.ep
           : axis == "dp" ? data_parallel(x.plan)
                          : x.plan.pp;
  };
  for (const auto& axis : Plan{}.order) (size(axis) > 1 ? moved : rest).push_back(axis);
  const auto usual = moved;
  std::ranges::sort(moved);
  std::vector<Plan> out;
  do {
    auto& p = out.emplace_back();
    if (moved == usual) continue;  // Megatron's own
    p.order = moved;
    p.order.insert(p.order.end(), rest.begin(), rest.end());
  } while (std::ranges::next_permutation(moved).found);
  return out;
}

constexpr LayoutKey keys[] = {
    {"tp", copy<&Plan::tp>, free_tp},
    {"cp", copy<&Plan::cp>, free_cp},
    {"pp", copy<&Plan::pp>, free_pp},
    {"ep", copy<&Plan::ep>, free_ep},
    {"etp", copy<&Plan::etp>, free_etp},
    {"micro_batch", copy<&Plan::micro_batch>, free_micro_batch},
    {"schedule", copy<&Plan::schedule>, free_schedule},
    {"vpp", copy<&Plan::vpp>, free_vpp},
    {"sharding", copy<&Plan::sharding>, free_sharding},
    {"shard_group", copy<&Plan::shard_group>, free_shard_group},
    {"reshard", copy<&Plan::reshard>, both<&Plan::reshard>},
    {"recompute", copy<&Plan::recompute>, free_recompute},
    {"precision", copy<&Plan::precision>, free_precision},
    {"context", copy<&Plan::context>, free_context},
    {"order", copy<&Plan::order>, free_order},
    {"sequence_parallel", copy<&Plan::sequence_parallel>, both<&Plan::sequence_parallel>},
    {"overlap_grad_reduce", copy<&Plan::overlap_grad_reduce>, both<&Plan::overlap_grad_reduce>},
    {"overlap_param_gather", copy<&Plan::overlap_param_gather>, both<&Plan::overlap_param_gather>},
    {"overlap_tp", copy<&Plan::overlap_tp>, both<&Plan::overlap_tp>},
    {"overlap_ep", copy<&Plan::overlap_ep>, both<&Plan::overlap_ep>},
    {"overlap_pp", copy<&Plan::overlap_pp>, both<&Plan::overlap_pp>},
    {"async_tp_backward", copy<&Plan::async_tp_backward>, both<&Plan::async_tp_backward>},
    {"dispatch_once", copy<&Plan::dispatch_once>, both<&Plan::dispatch_once>},
    {"node_limit", copy<&Plan::node_limit>, nullptr},
    {"bucket", copy<&Plan::bucket>, nullptr},
    {"gradient_bytes", copy<&Plan::gradient_bytes>, nullptr},
};

}  // namespace

std::span<const LayoutKey> layout_keys() { return keys; }

}  // namespace linkcast::planning
