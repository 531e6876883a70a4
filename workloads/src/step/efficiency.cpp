// Shares of the peaks that matrix products reach, one for each kind of GPU and precision: the median over the training
// rows of the half of the published files on which they are fitted (docs/step.md, "Efficiency"), all else fixed. The
// output layer of models in low precision is a large product in BF16: 0.7 everywhere. Attention: FlashAttention-3
// (arXiv 2407.08608) for long sequences. Memory: what copies reach of the datasheet's rate.
#include <algorithm>
#include <array>

#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads {
namespace {

struct Fitted {
  std::string_view gpu;
  double bf16, fp8, fp4;  // 0: no row of the fit has it
};
constexpr std::array<Fitted, 8> fitted{{{"a100", 0.66, 0, 0},
                                        {"h100-sxm-500w", 0.478, 0.441, 0},
                                        {"h200", 0.524, 0, 0},
                                        {"h", 0.612, 0.614, 0},
                                        {"gb300", 0.355, 0.598, 0.533},
                                        {"gb200", 0.299, 0.526, 0.493},
                                        {"b300", 0.308, 0.516, 0},
                                        {"b200", 0.297, 0.383, 0}}};
constexpr double attention_long = 0.67, copies = 0.8, output_layer = 0.7;

}  // namespace

ComputeEfficiency compute_efficiency(const models::GpuModel& gpu, Precision precision) {
  ComputeEfficiency e;
  e.attention = attention_long;
  e.memory = copies;
  e.gemm_bf16 = output_layer;
  const auto* found = std::ranges::find_if(fitted, [&](const auto& f) { return gpu.name.starts_with(f.gpu); });
  const auto of = [&](const Fitted& f) {
    return precision == Precision::bf16 ? f.bf16 : precision == Precision::fp8 ? f.fp8 : f.fp4;
  };
  e.gemm = found != fitted.end() ? of(*found) : 0;
  e.source = "fitted to half of the published step times of this GPU and precision";
  if (e.gemm <= 0) {
    const bool blackwell = gpu.compute_capability >= 100;
    e.gemm = blackwell ? 0.5 : 0.6;
    e.source = "no published step times of this GPU and precision in the fit: as its generation";
  }
  if (precision == Precision::bf16) e.gemm_bf16 = e.gemm;
  return e;
}

}  // namespace linkcast::workloads
