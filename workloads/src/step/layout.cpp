// See layout.hpp. Layers that do not divide over the chunks: where the ends count as layers they do (Llama 3,
// arXiv 2407.21783, section 3.3.2; Megatron's --account-for-embedding-in-pipeline-split); else the first chunks that
// are no end have one more.
#include "layout.hpp"

#include <algorithm>

#include "card.hpp"

namespace linkcast::workloads::step {

std::vector<Chunk> chunks_of(const ModelCard& card, int stages, int per_stage) {
  const int n = stages * per_stage, layers = static_cast<int>(card.layers.size());
  std::vector<int> counts(static_cast<std::size_t>(n), layers / n);
  if (layers % n != 0) {
    if ((layers + 2) % n == 0) {
      std::ranges::fill(counts, (layers + 2) / n);
      --counts.front();
      --counts.back();
    } else if ((layers + 1) % n == 0) {
      std::ranges::fill(counts, (layers + 1) / n);
      --counts.back();
    } else {
      int left = layers % n;
      for (int i = 1; i < n - 1 && left > 0; ++i, --left) ++counts[static_cast<std::size_t>(i)];
      for (int i = 0; left > 0; i = n - 1, --left) ++counts[static_cast<std::size_t>(i)];
    }
  }
  std::vector<Chunk> out;
  int first = 0;
  for (int i = 0; i < n; ++i) {
    const int count = counts[static_cast<std::size_t>(i)];
    out.push_back({first, count, i == 0, i == n - 1});
    first += count;
  }
  return out;
}

Ranks::Ranks(const Plan& plan) : plan_{plan} {
  edp_ = std::max(1, plan.tp * plan.cp * plan.dp / (plan.etp * plan.ep));
  int dense = 1, expert = 1, expert_pp = 1;
  for (const auto& axis : plan.order) {
    if (axis == "tp") {
      tp_stride_ = dense;
      dense *= plan.tp;
      etp_stride_ = expert;
      expert *= plan.etp;
    } else if (axis == "cp") {
      cp_stride_ = dense;
      dense *= plan.cp;
    } else if (axis == "ep") {
      ep_stride_ = expert;
      expert *= plan.ep;
    } else if (axis == "dp") {
      dp_stride_ = dense;
      dense *= plan.dp;
      edp_stride_ = expert;
      expert *= edp_;
    } else {
      pp_stride_ = dense;
      dense *= plan.pp;
      expert_pp = expert;
      expert *= plan.pp;
    }
  }
  // Products that do not fit are refused elsewhere; here they must only not divide by zero.
  for (auto* s : {&tp_stride_, &cp_stride_, &dp_stride_, &pp_stride_, &etp_stride_, &ep_stride_, &edp_stride_})
    *s = std::max(1, *s);
  origin_ = plan.follow - plan.follow / pp_stride_ % plan.pp * pp_stride_;
  consistent_ = plan.ep == 1 || plan.pp == 1 || expert_pp == pp_stride_;
}

std::vector<int> Ranks::along(int stage, int n, int stride) const {
  std::vector<int> out;
  const int first = of_stage(stage) - origin_ / stride % n * stride;
  for (int i = 0; i < n; ++i) out.push_back(first + i * stride);
  return out;
}
std::vector<int> Ranks::tensor(int stage) const { return along(stage, plan_.tp, tp_stride_); }
std::vector<int> Ranks::context(int stage) const { return along(stage, plan_.cp, cp_stride_); }
std::vector<int> Ranks::expert(int stage) const { return along(stage, plan_.ep, ep_stride_); }
std::vector<int> Ranks::expert_tensor(int stage) const { return along(stage, plan_.etp, etp_stride_); }
std::vector<int> Ranks::expert_data(int stage) const { return along(stage, edp_, edp_stride_); }
std::vector<int> Ranks::data(int stage) const {
  std::vector<int> out;
  const int first =
      of_stage(stage) - origin_ / dp_stride_ % plan_.dp * dp_stride_ - origin_ / cp_stride_ % plan_.cp * cp_stride_;
  for (int d = 0; d < plan_.dp; ++d)
    for (int c = 0; c < plan_.cp; ++c) out.push_back(first + d * dp_stride_ + c * cp_stride_);
  std::ranges::sort(out);
  return out;
}
std::vector<int> Ranks::pipeline() const {
  std::vector<int> out;
  for (int s = 0; s < plan_.pp; ++s) out.push_back(of_stage(s));
  return out;
}

Held held_by(const ModelCard& card, const Plan& plan, const LayerShape& shape) {
  const auto w = weights_of(card, shape);
  Held h{w.shared / plan.tp, 0};
  if (shape.mlp == LayerShape::Mlp::moe) h.expert = w.expert * card.experts / (plan.ep * plan.etp);
  return h;
}

Held held_by(const ModelCard& card, const Plan& plan, const Chunk& chunk) {
  Held sum;
  for (int i = 0; i < chunk.count; ++i) {
    const auto h = held_by(card, plan, card.layers[static_cast<std::size_t>(chunk.first + i)]);
    sum.shared += h.shared;
    sum.expert += h.expert;
  }
  const double table = static_cast<double>(card.vocab) * card.hidden / plan.tp;
  if (chunk.embedding) sum.shared += table + static_cast<double>(card.positions) * card.hidden;
  if (chunk.output && !(card.tied && plan.pp == 1)) sum.shared += table;
  return sum;
}

int shards_of(const Plan& plan) {
  const int all = plan.dp * plan.cp;
  return plan.shard_group > 0 ? std::min(plan.shard_group, all) : all;
}

}  // namespace linkcast::workloads::step
