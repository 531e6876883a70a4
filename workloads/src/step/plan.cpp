// What a plan must keep, and the memory that it needs. Activations by the tensors that a fused implementation keeps
// for the backward pass (Korthikanti et al., arXiv 2205.05198, section 4, without the scores that FlashAttention does
// not keep); everything that does not fit is said with its parts.
#include <fmt/format.h>

#include <algorithm>

#include "card.hpp"
#include "layout.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

/// Bytes that one layer keeps of a micro batch.
double kept_by(const ModelCard& c, const Plan& p, const LayerShape& shape) {
  const double t = static_cast<double>(p.micro_batch) * p.sequence / p.cp;
  const double own = p.tp > 1 && p.sequence_parallel ? t / p.tp : t;
  const double h = c.hidden;
  if (p.recompute == Recompute::full) return 2 * h * own;
  double bytes = 0;
  if (shape.mixer != LayerShape::Mixer::none) {
    double inner = 2.0 * c.heads * c.head_dim + 2.0 * c.kv_heads * c.head_dim;
    if (c.latent)
      inner = c.heads * (2.0 * (c.latent->nope_dim + c.latent->rope_dim) + 2.0 * c.latent->value_dim) +
              (c.latent->q_rank + c.latent->kv_rank) * static_cast<double>(p.tp);
    if (shape.mixer == LayerShape::Mixer::mamba) inner = 4.0 * c.mamba_heads * c.mamba_head_dim;
    bytes += 2 * (2 * h * own + inner * t / p.tp);
    if (!p.flash && shape.mixer == LayerShape::Mixer::attention && p.recompute == Recompute::none)
      bytes += 5.0 * c.heads / p.tp * t * p.sequence;
  }
  if (shape.mlp == LayerShape::Mlp::dense) bytes += 2 * (2 * h * own + (c.gated ? 3.0 : 2.0) * c.ffn * t / p.tp);
  if (shape.mlp == LayerShape::Mlp::moe) {
    const double rows = t / p.tp * c.top_k;
    bytes += 2 * (2 * h * own + rows * (2 * h + (c.gated ? 3.0 : 2.0) * c.expert_ffn) +
                  (c.gated ? 3.0 : 2.0) * c.shared_ffn * t / p.tp);
  }
  return p.recompute == Recompute::half ? bytes * 0.6 : bytes;
}

std::string gb(double bytes) { return fmt::format("{:.1f} GB", bytes * 1e-9); }

}  // namespace

MemoryNeed memory_of(const ModelCard& card, const Plan& plan) {
  MemoryNeed most;
  const auto chunks = step::chunks_of(card, plan.pp, plan.vpp);
  const int micro_batches = std::max(1, plan.global_batch / std::max(1, plan.micro_batch * plan.dp));
  const double shards = step::shards_of(plan);
  const double expert_shards = std::max(1.0, static_cast<double>(plan.tp) * plan.cp * plan.dp / (plan.etp * plan.ep));
  for (int s = 0; s < plan.pp; ++s) {
    MemoryNeed m;
    double shared = 0, expert = 0, kept = 0;
    for (int v = 0; v < plan.vpp; ++v) {
      const auto& chunk = chunks[static_cast<std::size_t>(v * plan.pp + s)];
      const auto h = step::held_by(card, plan, chunk);
      shared += h.shared;
      expert += h.expert;
      for (int i = 0; i < chunk.count; ++i)
        kept += kept_by(card, plan, card.layers[static_cast<std::size_t>(chunk.first + i)]) / plan.vpp;
      if (chunk.output)
        m.other += 8.0 * plan.micro_batch * plan.sequence / plan.cp * card.vocab / plan.tp;  // logits and gradient
    }
    const bool full = plan.sharding == Sharding::full;
    const double weights = full ? shared / shards + expert / std::min(expert_shards, shards) : shared + expert;
    const bool sharded_gradients = full || plan.sharding == Sharding::gradients;
    const double states =
        plan.sharding == Sharding::none ? shared + expert : shared / shards + expert / std::min(expert_shards, shards);
    m.parameters = 2 * weights;
    if (full) m.other += 2 * 2 * (shared + expert) / std::max(1.0, static_cast<double>(card.layers.size()) / plan.pp);
    m.gradients = plan.gradient_bytes * (sharded_gradients ? states : shared + expert);
    m.optimizer = 12 * states;
    // 1F1B: stage s has pp - s micro batches in flight; interleaved a little more (Narayanan et al., SC'21).
    double flights = std::min(micro_batches, plan.pp - s);
    if (plan.vpp > 1)
      flights = std::min<double>(micro_batches, plan.pp + (plan.pp - 2.0 * s - 1) / plan.vpp + 1.0 / plan.vpp);
    if (plan.schedule == Schedule::dual_pipe) flights = std::min(micro_batches, plan.pp + 1);
    m.activations = kept * std::max(1.0, flights);
    if (plan.recompute == Recompute::full && !card.layers.empty()) {
      Plan once = plan;
      once.recompute = Recompute::none;
      m.activations += kept_by(card, once, card.layers.back());
    }
    m.other += 3e9;  // CUDA context, NCCL buffers, workspaces
    if (m.total() > most.total()) most = m;
  }
  return most;
}

Plan checked(const ModelCard& card, Plan p, const models::GpuModel* gpu) {
  std::vector<sim::Diagnostic> wrong;
  const auto say = [&](std::string problem, std::string help = {}) {
    wrong.push_back({{}, std::move(problem), std::move(help)});
  };
  const int layers = static_cast<int>(card.layers.size());
  if (p.sequence == 0) p.sequence = card.sequence;
  if (p.sequence <= 0) say("the plan has no 'sequence', and the model card no default", "sequence: 8192");
  if (p.vpp > 1 && p.schedule == Schedule::one_f_one_b) p.schedule = Schedule::interleaved;
  if (p.vpp > 1 && p.pp == 1) say("vpp without pp", "virtual stages divide a pipeline: give pp");
  const std::int64_t model = std::int64_t{p.tp} * p.cp * p.pp;
  if (p.gpus == 0) p.gpus = static_cast<int>(model * std::max(1, p.dp));
  if (p.dp == 0) {
    if (p.gpus % model != 0)
      say(fmt::format("{} GPUs do not divide by tp x cp x pp = {} x {} x {} = {}", p.gpus, p.tp, p.cp, p.pp, model));
    p.dp = std::max(1, static_cast<int>(p.gpus / model));
  } else if (model * p.dp != p.gpus) {
    say(fmt::format("tp x cp x pp x dp = {} x {} x {} x {} = {} is not {} GPUs", p.tp, p.cp, p.pp, p.dp, model * p.dp,
                    p.gpus),
        "leave dp out: it follows");
  }
  if (p.global_batch == 0) p.global_batch = p.dp * p.micro_batch;
  const std::int64_t at_once = std::int64_t{p.dp} * p.micro_batch;
  if (p.global_batch % at_once != 0)
    say(fmt::format("global batch {} does not divide by dp x micro batch = {} x {}", p.global_batch, p.dp,
                    p.micro_batch));
  if (p.pp * p.vpp > layers + 2)  // the embedding and the output may be chunks of their own
    say(fmt::format("{} layers are fewer than pp x vpp = {} x {} chunks", layers, p.pp, p.vpp));
  if (card.heads % p.tp != 0) say(fmt::format("{} heads do not divide by tp = {}", card.heads, p.tp));
  if (card.ffn % p.tp != 0) say(fmt::format("ffn {} does not divide by tp = {}", card.ffn, p.tp));
  if (p.sequence > 0 && p.sequence % p.cp != 0)
    say(fmt::format("a sequence of {} does not divide by cp = {}", p.sequence, p.cp));
  if (p.ep > 1 && card.experts == 0) say("ep without experts", "the model card has no 'experts'");
  if (card.experts > 0) {
    if (card.experts % p.ep != 0) say(fmt::format("{} experts do not divide by ep = {}", card.experts, p.ep));
    if ((std::int64_t{p.tp} * p.cp * p.dp) % (std::int64_t{p.ep} * p.etp) != 0)
      say(fmt::format("tp x cp x dp = {} does not divide by ep x etp = {} x {}", std::int64_t{p.tp} * p.cp * p.dp, p.ep,
                      p.etp));
  }
  if (p.shard_group > 0 && (p.dp * p.cp) % p.shard_group != 0)
    say(fmt::format("dp x cp = {} does not divide by shard_group = {}", p.dp * p.cp, p.shard_group));
  if (p.schedule == Schedule::dual_pipe) {
    if (p.pp % 2 != 0 || p.vpp > 1) say("DualPipe wants an even pp and no vpp");
    const auto micro_batches = p.global_batch / at_once;
    if (micro_batches % 2 != 0 || micro_batches < 2 * p.pp)
      say(fmt::format("DualPipe wants an even number of micro batches from 2 pp = {}: there are {}", 2 * p.pp,
                      micro_batches));
    if (layers < 2 * p.pp && layers < p.pp) say("too few layers for DualPipe");
  }
  if (p.follow < 0 || p.follow >= p.gpus)
    say(fmt::format("there is no rank {} to follow", p.follow), fmt::format("the ranks are 0 to {}", p.gpus - 1));
  if (!step::Ranks{p}.consistent())
    say("this order gives dense and expert layers different pipeline stages", "put pp last: [tp, cp, ep, dp, pp]");
  if (gpu != nullptr && p.precision == Precision::fp8 && gpu->peak_fp8 <= 0)
    say(fmt::format("{} has no FP8", gpu->name), "precision: bf16");
  if (gpu != nullptr && p.precision == Precision::fp4 && gpu->peak_fp4 <= 0)
    say(fmt::format("{} has no FP4", gpu->name), "precision: bf16 or fp8");
  if (gpu != nullptr && gpu->peak_bf16 <= 0) say(fmt::format("the peak of {} is not known", gpu->name));
  if (wrong.empty() && gpu != nullptr && p.check_memory && gpu->memory_capacity > sim::Bytes{}) {
    const auto need = memory_of(card, p);
    const auto has = static_cast<double>(gpu->memory_capacity.count());
    if (need.total() > has)
      say(fmt::format("{} of memory are needed, {} has {}: parameters {}, gradients {}, optimizer {}, activations {}, "
                      "other {}",
                      gb(need.total()), gpu->name, gb(has), gb(need.parameters), gb(need.gradients), gb(need.optimizer),
                      gb(need.activations), gb(need.other)),
          need.activations > 0.5 * has
              ? "recompute: full, a smaller micro_batch, or more tp or cp"
              : "more pp or tp, or sharding: zero-1 or fsdp; check_memory: false lets it pass");
  }
  if (!wrong.empty()) throw sim::InputError(std::move(wrong), "");
  return p;
}

}  // namespace linkcast::workloads
