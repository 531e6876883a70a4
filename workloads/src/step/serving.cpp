// Inference (docs/step.md): prefill and a decode step are forward passes; decode reads all weights and the cache once,
// which memory decides. The key-value cache goes from a prefill to a decode instance rank by rank.
#include <fmt/format.h>

#include <algorithm>

#include "card.hpp"
#include "layout.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "stage.hpp"
#include "written.hpp"

namespace linkcast::workloads {
namespace {

/// Microseconds that memory needs to read what a decode step touches of one layer: weights and the cache.
double read_us(const ModelCard& card, const Plan& plan, const Serving& serving, const LayerShape& shape,
               const models::GpuModel& gpu, const ComputeEfficiency& efficiency) {
  const double each = plan.precision == Precision::bf16 ? 2 : plan.precision == Precision::fp8 ? 1 : 0.5;
  auto h = step::held_by(card, plan, shape);
  if (shape.mlp == LayerShape::Mlp::moe) {
    // Of a rank's experts, those that some token meets: 1 - (1 - k/E)^tokens of them.
    double missed = 1;
    const double tokens = static_cast<double>(serving.batch) * plan.ep;
    for (double i = 0; i < std::min(tokens, 4096.0); ++i) missed *= 1 - static_cast<double>(card.top_k) / card.experts;
    h.expert *= 1 - missed;
  }
  double cache = 0;
  if (shape.mixer == LayerShape::Mixer::attention) {
    const double layers = static_cast<double>(
        std::ranges::count_if(card.layers, [](const auto& l) { return l.mixer == LayerShape::Mixer::attention; }));
    const double cut = card.latent ? 1 : std::min(plan.tp, card.kv_heads);
    cache = cache_bytes_per_token(card, plan.precision) / layers / cut * serving.input * serving.batch;
  }
  const double rate = static_cast<double>(gpu.memory.bytes_per_second()) * 1e-6 * efficiency.memory;
  return ((h.shared + h.expert) * each + cache) / rate;
}

}  // namespace

Recording serving_recording(const ModelCard& card, const Plan& wanted, const Serving& serving,
                            const models::GpuModel& gpu, const ComputeEfficiency& efficiency) {
  using models::nccl::Op;
  if (serving.input < 1 || serving.batch < 1 || serving.cached >= std::max(1, serving.input))
    throw sim::InputError("serving needs a batch and an input of at least one token that is not cached");
  const bool decode = serving.phase == Serving::Phase::decode;
  auto plan = wanted;
  plan.micro_batch = serving.batch;
  plan.global_batch = 0;
  plan.check_memory = false;
  plan.sharding = Sharding::none;
  plan.sequence_parallel = false;
  plan.sequence = decode ? 1 : serving.input - serving.cached;
  plan.cp = 1;
  plan = checked(card, plan, &gpu);
  Recording out;
  out.world = plan.gpus;
  *out.streams = step::stream_names();
  out.report->format = "step";
  const step::Ranks ranks{plan};
  const auto chunks = step::chunks_of(card, plan.pp, 1);
  auto written = std::make_shared<step::Written>();
  if (serving.phase == Serving::Phase::transfer) {
    // The caches of the first rank's sequences: each rank of tp has its heads (MLA: all have all, one sends).
    const int to = serving.to > 0 ? serving.to : plan.gpus;
    out.world = std::max(out.world, to + 1);
    out.ranks = {0, to};
    const auto pair = step::add_group(out, "kv transfer", -1, {0, to});
    written->resize(2);
    const double cut = card.latent ? 1 : std::min(plan.tp, card.kv_heads);
    const double bytes = cache_bytes_per_token(card, plan.precision) / cut / plan.pp * serving.input * serving.batch;
    step::Emitter sender{(*written)[0], *out.names}, receiver{(*written)[1], *out.names};
    sender.name("kv transfer");
    receiver.name("kv transfer");
    sender.send(step::main_stream, pair, 1, bytes, 0);
    receiver.receive(step::receive_forward_stream, pair, 0, bytes, 0);
    out.source = fmt::format("the key-value cache of {} sequences of {}", serving.batch, card.name);
    out.open = step::reader_of(std::move(written));
    return out;
  }
  out.tokens = static_cast<double>(serving.batch) * plan.dp * plan.sequence;
  out.model_flops = out.tokens * training_flops_per_token(card, serving.input) / 3;
  out.source = fmt::format("{} of {} on {} GPUs", decode ? "a decode step" : "prefill", card.name, plan.gpus);
  const step::Roofline roofline{card, plan, gpu, efficiency};
  std::uint32_t pipeline = 0;
  if (plan.pp > 1) pipeline = step::add_group(out, "pp", -1, ranks.pipeline());
  written->resize(static_cast<std::size_t>(plan.pp));
  const double tokens = static_cast<double>(serving.batch) * plan.sequence, bytes = 2.0 * card.hidden * tokens;
  for (int s = 0; s < plan.pp; ++s) {
    out.ranks.push_back(ranks.of_stage(s));
    std::uint32_t tensor = 0, expert = 0;
    if (plan.tp > 1) tensor = step::add_group(out, "tp", s, ranks.tensor(s));
    if (plan.ep > 1) expert = step::add_group(out, "ep", s, ranks.expert(s));
    step::Emitter emit{(*written)[static_cast<std::size_t>(s)], *out.names};
    emit.name(decode ? "decode" : "prefill");
    if (s > 0) emit.wait_for(emit.receive(step::receive_forward_stream, pipeline, s - 1, bytes, 0));
    const auto& chunk = chunks[static_cast<std::size_t>(s)];
    for (int i = 0; i < chunk.count; ++i) {
      const auto& shape = card.layers[static_cast<std::size_t>(chunk.first + i)];
      const double mixer = roofline.mixer(shape).forward, mlp = roofline.mlp(shape).forward;
      const double longer =
          decode ? std::max(1.0, read_us(card, plan, serving, shape, gpu, efficiency) / (mixer + mlp)) : 1;
      emit.busy(mixer * longer);
      if (plan.tp > 1) emit.collective(tensor, Op::all_reduce, bytes);
      if (shape.mlp == LayerShape::Mlp::moe && plan.ep > 1) {
        const double sent = bytes / plan.tp * card.top_k;
        emit.collective(expert, Op::alltoall, sent);
        emit.busy(mlp * longer);
        emit.collective(expert, Op::alltoall, sent);
      } else {
        emit.busy(mlp * longer);
        if (plan.tp > 1 && shape.mlp != LayerShape::Mlp::none) emit.collective(tensor, Op::all_reduce, bytes);
      }
    }
    if (chunk.output) emit.busy(roofline.output().forward / (decode ? 1 : plan.sequence));
    emit.flush();
    if (s + 1 < plan.pp) emit.send(step::send_forward_stream, pipeline, s + 1, bytes, 0);
  }
  out.open = step::reader_of(std::move(written));
  return out;
}

}  // namespace linkcast::workloads
