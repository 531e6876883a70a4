// See work.hpp. A matrix product of m x k with k x n takes
//   max(2 m n k / (peak x efficiency) x (1 + k0 / k) x (1 + SMs / (2 tiles)), bytes / memory) + start
// with tiles of 128 x 256 of the result: the fill of a tile's pipeline, and the last wave that is half empty on
// average. Elementwise kernels take their bytes over the memory's rate.
#include "work.hpp"

#include <algorithm>
#include <cmath>

#include "card.hpp"

namespace linkcast::workloads::step {
namespace {

constexpr double tile_m = 128, tile_n = 256;
constexpr double pipeline_fill = 192;   // of k, as long as a tile's prologue and epilogue take
constexpr double kernel_start_us = 3;   // between kernels of one stream
constexpr double attention_half = 900;  // tokens at which attention reaches half of its rate

// Bytes for each hidden element and token; fused kernels read and write each tensor once. Eager ones: PyTorch's
// norms in FP32 take eight passes, rotary embedding ten, SwiGLU five.
struct Passes {
  double norm, residual, rotary, gated, plain;
};
constexpr Passes fused_passes{4, 6, 4, 6, 4}, eager_passes{18, 6, 20, 10, 6};

}  // namespace

Work& Work::operator+=(const Work& o) {
  forward += o.forward;
  input += o.input;
  weight += o.weight;
  again += o.again;
  return *this;
}

Roofline::Roofline(const ModelCard& card, const Plan& plan, const models::GpuModel& gpu,
                   const ComputeEfficiency& efficiency)
    : card_{card}, plan_{plan}, efficiency_{efficiency}, sms_{static_cast<double>(gpu.sms)} {
  peak_ = gpu.peak_bf16 * 1e6;  // operations per microsecond
  peak_low_ = (plan.precision == Precision::fp8   ? gpu.peak_fp8
               : plan.precision == Precision::fp4 ? gpu.peak_fp4
                                                  : gpu.peak_bf16) *
              1e6;
  memory_ = static_cast<double>(gpu.memory.bytes_per_second()) * 1e-6 * efficiency.memory;
  tokens_ = static_cast<double>(plan.micro_batch) * plan.sequence / plan.cp;
  own_tokens_ = plan.tp > 1 && plan.sequence_parallel ? tokens_ / plan.tp : tokens_;
}

double Roofline::gemm(double m, double n, double k, bool low, double count) const {
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  const bool is_low = low && plan_.precision != Precision::bf16;
  const double rate = is_low ? peak_low_ * efficiency_.gemm : peak_ * efficiency_.gemm_bf16;
  const double tiles = std::ceil(m / tile_m) * std::ceil(n / tile_n) * count;
  const double ideal = 2 * m * n * k * count / rate;
  const double size = is_low ? plan_.precision == Precision::fp4 ? 0.5 : 1 : 2;
  const double bytes = (size * (m * k + k * n) + 2 * m * n) * count;
  return std::max(ideal * (1 + pipeline_fill / k) * (1 + sms_ / (2 * tiles)), bytes / memory_) + kernel_start_us;
}

double Roofline::stream(double bytes) const { return bytes <= 0 ? 0 : bytes / memory_ + kernel_start_us; }

Work Roofline::elementwise(double forward_bytes, double backward_bytes) const {
  Work w;
  w.forward = stream(forward_bytes);
  w.input = stream(backward_bytes);
  return w;
}

Work Roofline::linear(double tokens, double rows, double columns, bool low, double count) const {
  Work w;
  w.forward = gemm(tokens, columns, rows, low, count);
  w.input = gemm(tokens, rows, columns, low, count);
  w.weight = gemm(rows, columns, tokens, low, count);
  if (low && plan_.precision != Precision::bf16) {
    // Inputs are read in BF16 and written in low precision, as they are and transposed; backward the gradients.
    w.forward += stream(4 * tokens * rows * count);
    w.input += stream(4 * tokens * columns * count);
  }
  return w;
}

/// `core`: forward time of the attention core; `linears`: of the matrix products.
void Roofline::recompute(Work& w, double core, double linears) const {
  switch (plan_.recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      w.again = core;
      break;
    case Recompute::half:
      w.again = w.forward - core - linears / 2;
      break;
    case Recompute::full:
      w.again = w.forward;
      break;
  }
}

Work Roofline::mixer(const LayerShape& shape) const {
  using Mixer = LayerShape::Mixer;
  Work w;
  if (shape.mixer == Mixer::none) return w;
  const auto& c = card_;
  const auto& passes = plan_.fused ? fused_passes : eager_passes;
  const double h = c.hidden, t = tokens_, tp = plan_.tp;
  const auto linears = shape.mixer == Mixer::attention ? attention_linears(c) : mamba_linears(c);
  for (const auto& l : linears)
    w += linear(t, l.split == Split::rows ? l.rows / tp : l.rows,
                l.split == Split::columns ? l.columns / tp : l.columns, true);
  const double linears_time = w.forward;
  w += elementwise((passes.norm + passes.residual) * h * own_tokens_,
                   (1.5 * passes.norm + passes.residual) * h * own_tokens_);
  double core = 0;
  if (shape.mixer == Mixer::attention) {
    const double keys = keys_seen(c, plan_.sequence, AttentionCount::causal);
    const double scores = scores_per_key(c) * t / tp;
    const double q =
        c.latent ? c.heads * double(c.latent->nope_dim + c.latent->rope_dim) : double(c.heads) * c.head_dim;
    const double kv = c.latent ? q : double(c.kv_heads) * c.head_dim;
    if (c.positions == 0) w += elementwise(passes.rotary * (q + kv) * t / tp, passes.rotary * (q + kv) * t / tp);
    if (plan_.flash) {
      // Short sequences leave SMs without work (FlashAttention-3, arXiv 2407.08608, figures 5 and 6).
      const double reached = peak_ * efficiency_.attention * plan_.sequence / (plan_.sequence + attention_half);
      core = scores * keys / reached + kernel_start_us;
      w.forward += core;
      // Five products instead of two (FlashAttention-2, arXiv 2307.08691), at 0.8 of the forward pass's rate.
      w.input += 2.5 / 0.8 * scores * keys / reached + kernel_start_us;
    } else {
      // All scores, in memory: products, then scale, mask and softmax, then dropout (Korthikanti et al., section 4).
      const double entries = double(c.heads) / tp * t * plan_.sequence;
      const double products = scores * plan_.sequence / (peak_ * efficiency_.gemm_bf16);
      core = products + stream((2 + 4 + 5 + 2) * entries);
      w.forward += core;
      w.input += 2 * products + stream((2 + 5 + 6 + 4) * entries);
    }
  } else {
    const double inner = double(c.mamba_heads) * c.mamba_head_dim / tp;
    core = mamba_scan_flops(c) * t / tp / (peak_ * efficiency_.attention / 2) + stream(60 * inner * t);
    w.forward += core;
    w.input += 2.5 * core;
  }
  recompute(w, core, linears_time);
  return w;
}

Work Roofline::mlp_of(double tokens, double ffn, double split, double count) const {
  Work w;
  const double columns = (card_.gated ? 2 : 1) * ffn / split;
  w += linear(tokens, card_.hidden, columns, true, count);
  w += linear(tokens, ffn / split, card_.hidden, true, count);
  return w;
}

Work Roofline::mlp(const LayerShape& shape) const {
  using Mlp = LayerShape::Mlp;
  Work w;
  if (shape.mlp == Mlp::none) return w;
  const auto& c = card_;
  const auto& passes = plan_.fused ? fused_passes : eager_passes;
  const double h = c.hidden, t = tokens_, tp = plan_.tp;
  const double activation = card_.gated ? passes.gated : passes.plain;
  double linears = 0;
  if (shape.mlp == Mlp::dense) {
    w += mlp_of(t, c.ffn, tp, 1);
    linears = w.forward;
    w += elementwise(activation * c.ffn / tp * t, 1.7 * activation * c.ffn / tp * t);
  } else {
    // Tokens of the whole expert-parallel group, evenly over its experts.
    const double own = c.experts / static_cast<double>(plan_.ep);
    const double rows = t / tp * c.top_k * plan_.etp;  // of this rank's experts together: as many as it sends
    w += mlp_of(rows / own, c.expert_ffn, plan_.etp, own);
    linears = w.forward;
    w += elementwise(activation * c.expert_ffn / plan_.etp * rows, 1.7 * activation * c.expert_ffn / plan_.etp * rows);
    if (c.shared_ffn > 0) {
      w += mlp_of(t, c.shared_ffn, tp, 1);
      w += elementwise(activation * c.shared_ffn / tp * t, 1.7 * activation * c.shared_ffn / tp * t);
    }
    // The router in FP32, then tokens are put in the order of their experts, and back.
    w += elementwise(4 * own_tokens_ * c.experts * 3, 4 * own_tokens_ * c.experts * 3);
    w += elementwise(2 * 4 * h * rows, 2 * 4 * h * rows);
    w += linear(own_tokens_, h, c.experts, false);
  }
  w += elementwise((passes.norm + passes.residual) * h * own_tokens_,
                   (1.5 * passes.norm + passes.residual) * h * own_tokens_);
  recompute(w, 0, linears);
  return w;
}

Work Roofline::embedding() const {
  return elementwise(4.0 * card_.hidden * own_tokens_, 6.0 * card_.hidden * own_tokens_);
}

Work Roofline::output() const {
  Work w = linear(tokens_, card_.hidden, card_.vocab / static_cast<double>(plan_.tp), false);
  // Logits in BF16, the loss in FP32: maximum, exponential, sum; backward the softmax minus one.
  const double passes = plan_.fused ? 1 : 2;  // eager: the logits are converted first
  w += elementwise(passes * 14.0 * tokens_ * card_.vocab / plan_.tp, passes * 8.0 * tokens_ * card_.vocab / plan_.tp);
  return w;
}

double Roofline::optimizer(double parameters) const {
  // Adam in FP32: master weights and two moments read and written, gradients read twice, BF16 weights written.
  return stream(parameters * (24 + 8 + 2));
}

}  // namespace linkcast::workloads::step
