// What a model card means: parameters and floating-point operations (docs/step.md). Linear layers cost two operations
// for each weight and token; attention two products of every query with the keys that it sees.
#include "card.hpp"

#include <algorithm>

namespace linkcast::workloads {
namespace step {

double Linear::weights() const { return rows * columns; }

std::vector<Linear> attention_linears(const ModelCard& c) {
  const double h = c.hidden;
  if (c.latent) {
    const auto& m = *c.latent;
    const double key = m.nope_dim + m.rope_dim;
    std::vector<Linear> out;
    if (m.q_rank > 0) {
      out.push_back({h, double(m.q_rank), Split::none});
      out.push_back({double(m.q_rank), c.heads * key, Split::columns});
    } else {
      out.push_back({h, c.heads * key, Split::columns});
    }
    out.push_back({h, double(m.kv_rank + m.rope_dim), Split::none});
    out.push_back({double(m.kv_rank), c.heads * double(m.nope_dim + m.value_dim), Split::columns});
    out.push_back({c.heads * double(m.value_dim), h, Split::rows});
    return out;
  }
  const double q = double(c.heads) * c.head_dim, kv = double(c.kv_heads) * c.head_dim;
  return {{h, q + 2 * kv, Split::columns}, {q, h, Split::rows}};
}

std::vector<Linear> mamba_linears(const ModelCard& c) {
  const double inner = double(c.mamba_heads) * c.mamba_head_dim;
  const double in = 2 * inner + 2.0 * c.mamba_groups * c.mamba_state + c.mamba_heads;  // z, x, B, C, dt
  return {{double(c.hidden), in, Split::columns}, {inner, double(c.hidden), Split::rows}};
}

std::vector<Linear> mlp_linears(const ModelCard& c, double ffn) {
  return {{double(c.hidden), (c.gated ? 2 : 1) * ffn, Split::columns}, {ffn, double(c.hidden), Split::rows}};
}

double scores_per_key(const ModelCard& c) {
  if (c.latent) return 2.0 * c.heads * (c.latent->nope_dim + c.latent->rope_dim + c.latent->value_dim);
  return 4.0 * c.heads * c.head_dim;
}

double keys_seen(const ModelCard& c, double sequence, AttentionCount count) {
  const double all = count == AttentionCount::causal ? sequence / 2 : sequence;
  if (c.window <= 0 || c.window >= sequence) return all;
  return (all + c.window) / 2;  // half of the layers slide
}

double mamba_scan_flops(const ModelCard& c) {
  // State-space duality in chunks of 256 (Mamba-2, arXiv 2405.21060): scores within a chunk, states in and out.
  const double inner = double(c.mamba_heads) * c.mamba_head_dim;
  return 2.0 * 256 * (double(c.mamba_groups) * c.mamba_state + inner) / 2 + 4 * inner * c.mamba_state;
}

double weights_of(const std::vector<Linear>& linears) {
  double sum = 0;
  for (const auto& l : linears) sum += l.weights();
  return sum;
}

LayerWeights weights_of(const ModelCard& c, const LayerShape& shape) {
  LayerWeights w;
  if (shape.mixer == LayerShape::Mixer::attention) w.shared += weights_of(attention_linears(c));
  if (shape.mixer == LayerShape::Mixer::mamba) w.shared += weights_of(mamba_linears(c));
  if (shape.mlp == LayerShape::Mlp::dense) w.shared += weights_of(mlp_linears(c, c.ffn));
  if (shape.mlp == LayerShape::Mlp::moe) {
    w.shared += double(c.hidden) * c.experts;
    if (c.shared_ffn > 0) w.shared += weights_of(mlp_linears(c, c.shared_ffn));
    w.expert = weights_of(mlp_linears(c, c.expert_ffn));
  }
  w.shared += 2.0 * c.hidden;  // norms
  return w;
}

}  // namespace step

Parameters parameters_of(const ModelCard& c) {
  Parameters p;
  p.embedding = double(c.vocab) * c.hidden * (c.tied ? 1 : 2) + double(c.positions) * c.hidden;
  p.total = p.active = p.embedding;
  for (const auto& shape : c.layers) {
    const auto w = step::weights_of(c, shape);
    const bool moe = shape.mlp == LayerShape::Mlp::moe;
    p.total += w.shared + (moe ? w.expert * c.experts : 0);
    p.active += w.shared + (moe ? w.expert * c.top_k : 0);
  }
  return p;
}

double training_flops_per_token(const ModelCard& c, int sequence, AttentionCount count) {
  double forward = 0;
  const double keys = step::keys_seen(c, sequence, count);
  const auto add = [&](const LayerShape& shape) {
    const auto w = step::weights_of(c, shape);
    forward += 2 * (w.shared - 2.0 * c.hidden + (shape.mlp == LayerShape::Mlp::moe ? w.expert * c.top_k : 0));
    if (shape.mixer == LayerShape::Mixer::attention) forward += step::scores_per_key(c) * keys;
    if (shape.mixer == LayerShape::Mixer::mamba) forward += step::mamba_scan_flops(c);
  };
  for (const auto& shape : c.layers) add(shape);
  forward += 2.0 * c.hidden * c.vocab;
  for (int i = 0; i < c.mtp_layers; ++i) {
    add(c.layers.back());
    forward += 2.0 * c.hidden * c.vocab + 4.0 * c.hidden * c.hidden;
  }
  return 3 * forward;
}

double cache_bytes_per_token(const ModelCard& c, Precision precision) {
  const double each = precision == Precision::bf16 ? 2 : 1;
  double values = 0;
  for (const auto& shape : c.layers)
    if (shape.mixer == LayerShape::Mixer::attention)
      values += c.latent ? c.latent->kv_rank + c.latent->rope_dim : 2.0 * c.kv_heads * c.head_dim;
  return values * each;
}

}  // namespace linkcast::workloads
