// The recording of a training step: communicators with all their ranks, one rank of each pipeline stage.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "layout.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "stage.hpp"
#include "written.hpp"

namespace linkcast::workloads {
namespace step {
namespace {

class Reader final : public OperationReader {
 public:
  explicit Reader(std::shared_ptr<const Written> w) : written_{std::move(w)}, at_(written_->size(), 0) {}
  bool next(std::size_t r, Operation& out) override {
    const auto& mine = (*written_)[r];
    if (at_[r] >= mine.size()) return false;
    out = mine[at_[r]++];
    return true;
  }

 private:
  std::shared_ptr<const Written> written_;
  std::vector<std::size_t> at_;
};

}  // namespace

std::function<std::unique_ptr<OperationReader>()> reader_of(std::shared_ptr<const Written> written) {
  return [written = std::move(written)] { return std::make_unique<Reader>(written); };
}

std::uint32_t add_group(Recording& r, const char* kind, int stage, std::vector<int> ranks) {
  r.communicators.push_back(
      {fmt::format("{}{}", kind, stage < 0 ? "" : fmt::format(" {}", stage)), kind, std::move(ranks)});
  return static_cast<std::uint32_t>(r.communicators.size() - 1);
}

}  // namespace step

namespace {
Plan completed(Plan p) {
  const std::int64_t model = std::max<std::int64_t>(1, std::int64_t{p.tp} * p.cp * p.pp);
  if (p.dp == 0) p.dp = static_cast<int>(std::max<std::int64_t>(1, p.gpus / model));
  return p;
}
}  // namespace

PlanPlace place_of(const Plan& plan, int rank) { return step::Ranks{completed(plan)}.place_of(rank); }
int recorded_rank(const Plan& plan, int stage) { return step::Ranks{completed(plan)}.of_stage(stage); }

Recording step_recording(const ModelCard& card, const Plan& wanted, const models::GpuModel& gpu,
                         const ComputeEfficiency& efficiency) {
  const auto plan = checked(card, wanted, &gpu);
  Recording out;
  out.world = plan.gpus;
  *out.streams = step::stream_names();
  out.source = fmt::format("a training step of {} on {} GPUs", card.name, plan.gpus);
  out.tokens = static_cast<double>(plan.global_batch) * plan.sequence;
  out.model_flops = out.tokens * training_flops_per_token(card, plan.sequence);
  out.report->format = "step";
  const bool dual = plan.schedule == Schedule::dual_pipe;
  const auto chunks = step::chunks_of(card, plan.pp, dual ? 1 : plan.vpp);
  if (!std::ranges::all_of(chunks, [&](const auto& c) { return c.count == chunks[0].count; }))
    out.report->notes.push_back(fmt::format("{} layers over {} chunks: {} on the first, {} on the last",
                                            card.layers.size(), chunks.size(), chunks.front().count,
                                            chunks.back().count));
  const step::Ranks ranks{plan};
  const step::Roofline roofline{card, plan, gpu, efficiency};
  std::uint32_t pipeline = 0, tables = 0;
  if (plan.pp > 1) {
    pipeline = tables = step::add_group(out, "pp", -1, ranks.pipeline());
    if (card.tied) tables = step::add_group(out, "embedding", -1, {ranks.of_stage(0), ranks.of_stage(plan.pp - 1)});
  }
  auto written = std::make_shared<step::Written>(static_cast<std::size_t>(plan.pp));
  for (int s = 0; s < plan.pp; ++s) {
    out.ranks.push_back(ranks.of_stage(s));
    step::Groups g;
    g.pipeline = pipeline;
    g.tables = tables;
    if (plan.tp > 1) g.tensor = step::add_group(out, "tp", s, ranks.tensor(s));
    if (plan.cp > 1) g.context = step::add_group(out, "cp", s, ranks.context(s));
    const auto data = ranks.data(s);
    if (data.size() > 1) {
      const auto shards = static_cast<std::size_t>(step::shards_of(plan));
      if (shards < data.size()) {
        const auto mine = static_cast<std::size_t>(std::ranges::find(data, ranks.of_stage(s)) - data.begin());
        const auto first = data.begin() + static_cast<std::ptrdiff_t>(mine / shards * shards);
        g.data = step::add_group(out, "dp", s, {first, first + static_cast<std::ptrdiff_t>(shards)});
        std::vector<int> replicas;
        for (std::size_t i = mine % shards; i < data.size(); i += shards) replicas.push_back(data[i]);
        g.replicas = step::add_group(out, "dp replicas", s, replicas);
      } else {
        g.data = g.replicas = step::add_group(out, "dp", s, data);
      }
    }
    if (card.experts > 0) {
      if (plan.ep > 1) g.expert = step::add_group(out, "ep", s, ranks.expert(s));
      if (plan.etp > 1) g.expert_tensor = step::add_group(out, "etp", s, ranks.expert_tensor(s));
      if (data.size() > 1) g.expert_data = step::add_group(out, "edp", s, ranks.expert_data(s));
    }
    step::Emitter emit{(*written)[static_cast<std::size_t>(s)], *out.names};
    step::StageWriter{card, plan, roofline, chunks, s, g, emit}.write();
    out.report->records += static_cast<std::int64_t>((*written)[static_cast<std::size_t>(s)].size());
  }
  out.report->used = out.report->records;
  out.open = step::reader_of(std::move(written));
  return out;
}

Recording step_recording(const ModelCard& card, const Plan& plan, const models::GpuModel& gpu) {
  return step_recording(card, plan, gpu, compute_efficiency(gpu, plan.precision));
}

}  // namespace linkcast::workloads
