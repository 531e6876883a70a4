// Each row is generated, replayed and compared; rows are independent, so threads take them in turn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "../on_threads.hpp"
#include "defaults.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/replay_recording.hpp"

namespace linkcast::calibration {
namespace {

StepSummary summary_of(const std::vector<double>& errors) {
  StepSummary s;
  s.rows = static_cast<int>(errors.size());
  if (errors.empty()) return s;
  auto sorted = errors;
  std::ranges::sort(sorted);
  const auto middle = [](const std::vector<double>& v) {
    return v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
  };
  s.median = middle(sorted);
  for (auto& x : sorted) x = std::abs(x);
  std::ranges::sort(sorted);
  s.median_abs = middle(sorted);
  s.p90_abs = sorted[std::min(sorted.size() - 1, sorted.size() * 9 / 10)];
  return s;
}

/// What the source measured, as seconds of a step. FLOP rates last: sources count differently.
double measured_of(const StepRow& r, const workloads::ModelCard& card) {
  const double tokens = static_cast<double>(r.global_batch) * r.sequence;
  if (r.step_s > 0) return r.step_s;
  if (r.tokens_per_s_per_gpu > 0) return tokens / r.tokens_per_s_per_gpu / r.gpus;
  if (r.tokens_per_s > 0) return tokens / r.tokens_per_s;
  if (r.model_tflops > 0) {
    const auto count = r.tflops_kind.find("non-causal") != std::string::npos ? workloads::AttentionCount::full
                                                                             : workloads::AttentionCount::causal;
    return tokens * workloads::training_flops_per_token(card, r.sequence, count) / (r.model_tflops * 1e12) / r.gpus;
  }
  if (r.hw_tflops > 0 && r.tflops_kind.find("96Bslh^2") != std::string::npos) {
    const double l = static_cast<double>(card.layers.size()), h = card.hidden;
    const double flops = 96 * tokens * l * h * h * (1 + r.sequence / (6 * h) + card.vocab / (16 * l * h));
    return flops / (r.hw_tflops * 1e12) / r.gpus;
  }
  return 0;
}

/// A search over shapes states each row's own: "layers 72, hidden 14336, heads 64, vocab about 250k". The rest is
/// GPT's: an MLP of four times the width, GELU, tied embeddings.
std::optional<workloads::ModelCard> card_in_notes(const std::string& notes) {
  int layers = 0, hidden = 0, heads = 0, vocab = 0;
  if (std::sscanf(notes.c_str(), "layers %d, hidden %d, heads %d, vocab about %dk", &layers, &hidden, &heads, &vocab) !=
          4 ||
      layers < 1 || hidden < 1 || heads < 1 || vocab < 1 || layers > 10'000 || hidden % heads != 0)
    return std::nullopt;
  workloads::ModelCard c;
  c.name = fmt::format("{} layers of {}", layers, hidden);
  c.hidden = hidden;
  c.heads = c.kv_heads = heads;
  c.head_dim = hidden / heads;
  c.ffn = 4 * hidden;
  c.vocab = vocab * 1'000;
  c.gated = false;
  c.tied = true;
  c.layers.assign(static_cast<std::size_t>(layers), {});
  return c;
}

/// Where a source does not say what is computed again: as little as memory allows.
void least_recomputation(const workloads::ModelCard& card, workloads::Plan& plan, const models::GpuModel& gpu,
                         std::vector<std::string>& assumed) {
  using workloads::Recompute;
  const auto has = static_cast<double>(gpu.memory_capacity.count());
  for (const auto r : {Recompute::none, Recompute::half, Recompute::full}) {
    plan.recompute = r;
    if (workloads::memory_of(card, plan).total() <= has) break;
  }
  assumed.push_back(
      fmt::format("recomputation not stated: {}, the least with which it fits", workloads::name_of(plan.recompute)));
}

void predict(PredictedStep& out, const std::map<std::string, workloads::ModelCard>& cards, const StepOptions& options) {
  const auto& r = out.row;
  const auto found = cards.find(r.model);
  auto stated = card_in_notes(r.notes);
  if (found == cards.end() && !stated) {
    out.skipped = fmt::format("the dimensions of {} are not known", r.model);
    return;
  }
  auto card = stated ? *stated : found->second;
  if (r.layers_override > 0) card.layers.resize(static_cast<std::size_t>(r.layers_override), card.layers.back());
  try {
    auto plan = plan_of(r, out.assumed);
    out.measured_s = measured_of(r, card);
    if (out.measured_s <= 0) {
      out.skipped = "no step time, tokens per second or FLOP rate that can be turned into one";
      return;
    }
    auto machine = machine_of(r, plan.precision, out.assumed);
    out.kind = machine.kind;
    auto efficiency = workloads::compute_efficiency(machine.gpu, plan.precision);
    if (const auto e = options.efficiency.find(out.kind); e != options.efficiency.end()) {
      efficiency.gemm = e->second;
      if (plan.precision == workloads::Precision::bf16) efficiency.gemm_bf16 = e->second;
    }
    plan = workloads::checked(card, plan, &machine.gpu);
    if (r.recompute.empty()) least_recomputation(card, plan, machine.gpu, out.assumed);
    out.memory_gb = workloads::memory_of(card, plan).total() * 1e-9;
    const auto recording = workloads::step_recording(card, plan, machine.gpu, efficiency);
    const auto result = workloads::replay_recording(recording, machine.cluster);
    out.predicted_s = result.end.seconds();
    const auto ranks = static_cast<double>(result.by_rank.size());
    for (const auto& rank : result.by_rank) {
      out.compute_s += rank.compute.seconds() / ranks;
      out.bubble_s += (rank.bubble + rank.wait + rank.idle).seconds() / ranks;
      for (const auto& [name, t] : rank.exposed) out.exposed_s[name] += t.seconds() / ranks;
    }
  } catch (const sim::InputError& e) {
    out.skipped = e.diagnostics().front().problem;
  }
}

/// A scaling series: rows of a file that differ in their number of GPUs and what follows from it.
std::string series_of(const StepRow& r) {
  return fmt::format("{} {} {} {} seq {} tp {} pp {} cp {} vpp {} mb {} {} {} {}", r.file, r.model, r.gpu, r.precision,
                     r.sequence, r.tp, r.pp, r.cp, r.vpp, r.micro_batch, r.recompute, r.zero, r.notes);
}

void add_ratios(StepValidation& v) {
  std::map<std::string, std::vector<const PredictedStep*>> series;
  for (const auto& p : v.rows)
    if (p.skipped.empty() && !p.odd) series[series_of(p.row)].push_back(&p);
  for (auto& [name, rows] : series) {
    std::ranges::stable_sort(rows, [](const auto* a, const auto* b) { return a->row.gpus < b->row.gpus; });
    const auto* first = rows.front();
    const auto load = [](const PredictedStep* p) {  // tokens of a GPU
      return static_cast<double>(p->row.global_batch) * p->row.sequence / p->row.gpus;
    };
    for (const auto* p : rows) {
      if (p->row.gpus == first->row.gpus) continue;
      const double scale = load(first) / load(p);
      v.ratios.push_back({fmt::format("{} {} {}", p->row.file, p->row.model, p->row.precision), first->row.gpus,
                          p->row.gpus, p->measured_s / first->measured_s * scale,
                          p->predicted_s / first->predicted_s * scale, p->fitted});
    }
  }
}

}  // namespace

StepValidation validate_steps(std::vector<StepRow> rows, const std::map<std::string, workloads::ModelCard>& cards,
                              const StepOptions& options) {
  StepValidation v;
  for (auto& r : rows) {
    auto& p = v.rows.emplace_back();
    p.row = std::move(r);
    p.odd = p.row.check == "fail";
    p.fitted = in_fitted_half(p.row.file);
  }
  on_threads(v.rows.size(), options.threads, [&](std::size_t i) { predict(v.rows[i], cards, options); });
  std::map<std::string, std::vector<double>> files, kinds;
  std::vector<double> all, mine, other;
  for (const auto& p : v.rows) {
    if (!p.skipped.empty() || p.odd) continue;
    files[p.row.file].push_back(p.error());
    kinds[p.kind].push_back(p.error());
    all.push_back(p.error());
    (p.fitted ? mine : other).push_back(p.error());
  }
  for (const auto& [name, e] : files) v.by_file[name] = summary_of(e);
  for (const auto& [name, e] : kinds) v.by_kind[name] = summary_of(e);
  v.all = summary_of(all);
  v.fitted_half = summary_of(mine);
  v.other_half = summary_of(other);
  add_ratios(v);
  std::vector<double> ratios, ratios_mine, ratios_other;
  for (const auto& r : v.ratios) {
    const double e = r.predicted / r.measured - 1;
    ratios.push_back(e);
    (r.fitted ? ratios_mine : ratios_other).push_back(e);
  }
  v.ratio_all = summary_of(ratios);
  v.ratio_fitted = summary_of(ratios_mine);
  v.ratio_other = summary_of(ratios_other);
  return v;
}

}  // namespace linkcast::calibration
