// The matrices and products of one layer of a model. Knows no plan and no GPU.
#pragma once

#include <vector>

#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads::step {

/// How tensor parallelism cuts a weight matrix of rows x columns (inputs x outputs).
enum class Split : std::uint8_t { none, columns, rows };
struct Linear {
  double rows = 0, columns = 0;
  Split split = Split::none;
  double weights() const;
};

std::vector<Linear> attention_linears(const ModelCard& c);
std::vector<Linear> mamba_linears(const ModelCard& c);
std::vector<Linear> mlp_linears(const ModelCard& c, double ffn);
/// Operations of one query with one key and its value, all heads.
double scores_per_key(const ModelCard& c);
/// Keys that a query meets on average.
double keys_seen(const ModelCard& c, double sequence, AttentionCount count);
double mamba_scan_flops(const ModelCard& c);  // of one token, forward

struct LayerWeights {
  double shared = 0;  // of which every rank of an expert-parallel group has a copy
  double expert = 0;  // of one expert
};
LayerWeights weights_of(const ModelCard& c, const LayerShape& shape);

}  // namespace linkcast::workloads::step
