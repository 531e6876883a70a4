// How a layout is called.
#include <fmt/format.h>

#include "linkcast/planning/plan.hpp"

namespace linkcast::planning {

std::string layout_text(const workloads::Plan& p) {
  const workloads::Plan usual;
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
  add(fmt::format("tp {}", p.tp));
  if (p.cp > 1) add(fmt::format("cp {}", p.cp));
  add(fmt::format("pp {}", p.pp));
  if (p.vpp > 1) add(fmt::format("vpp {}", p.vpp));
  add(fmt::format("dp {}", p.dp));
  if (p.ep > 1) add(fmt::format("ep {}", p.ep));
  if (p.etp > 1) add(fmt::format("etp {}", p.etp));
  add(fmt::format("micro batch {}", p.micro_batch));
  if (p.recompute != workloads::Recompute::none) add(fmt::format("recompute {}", name_of(p.recompute)));
  if (p.shard_group > 0)
    add(fmt::format("{} over {}", name_of(p.sharding), p.shard_group));
  else
    add(std::string{name_of(p.sharding)});
  add(std::string{name_of(p.precision)});
  if (p.pp > 1 && p.schedule != workloads::Schedule::one_f_one_b && p.schedule != workloads::Schedule::interleaved)
    add(std::string{name_of(p.schedule)});
  if (p.cp > 1 && p.context != usual.context) add("all-gathered keys");
  if (p.order != usual.order) add(fmt::format("order {}", fmt::join(p.order, "-")));
  const auto flag = [&](bool workloads::Plan::*member, const char* name) {
    if (p.*member != usual.*member) add(fmt::format("{}{}", p.*member ? "" : "no ", name));
  };
  flag(&workloads::Plan::reshard, "reshard");
  flag(&workloads::Plan::sequence_parallel, "sequence_parallel");
  flag(&workloads::Plan::overlap_grad_reduce, "overlap_grad_reduce");
  flag(&workloads::Plan::overlap_param_gather, "overlap_param_gather");
  flag(&workloads::Plan::overlap_tp, "overlap_tp");
  flag(&workloads::Plan::overlap_ep, "overlap_ep");
  flag(&workloads::Plan::overlap_pp, "overlap_pp");
  flag(&workloads::Plan::async_tp_backward, "async_tp_backward");
  flag(&workloads::Plan::dispatch_once, "dispatch_once");
  if (p.node_limit != usual.node_limit) add(fmt::format("node_limit {}", p.node_limit));
  if (p.gradient_bytes != usual.gradient_bytes) add(fmt::format("gradient_bytes {}", p.gradient_bytes));
  if (p.bucket != usual.bucket) add(fmt::format("bucket {} B", p.bucket.count()));
  return text;
}

}  // namespace linkcast::planning
