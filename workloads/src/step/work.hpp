// How long the parts of a layer compute on one GPU of a plan: a roofline with fitted efficiencies (docs/step.md). Knows
// no schedule and no communication.
#pragma once

#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads::step {

/// Microseconds of one micro batch in one half of a layer (what mixes tokens; the MLP), or in the ends of the model.
struct Work {
  double forward = 0;  // once
  double input = 0;    // backward: gradients of the inputs
  double weight = 0;   // backward: gradients of the weights
  double again = 0;    // what is computed again before the backward pass
  double backward() const { return again + input + weight; }
  Work& operator+=(const Work& o);
};

class Roofline {
 public:
  Roofline(const ModelCard& card, const Plan& plan, const models::GpuModel& gpu, const ComputeEfficiency& efficiency);

  Work mixer(const LayerShape& shape) const;
  Work mlp(const LayerShape& shape) const;
  Work embedding() const;
  Work output() const;  // with the loss
  /// Adam on so many parameters, with the norm of the gradients.
  double optimizer(double parameters) const;

 private:
  double gemm(double m, double n, double k, bool low, double count = 1) const;
  double stream(double bytes) const;
  Work linear(double tokens, double rows, double columns, bool low, double count = 1) const;
  Work elementwise(double forward_bytes, double backward_bytes) const;
  Work mlp_of(double tokens, double ffn, double split, double count) const;
  void recompute(Work& w, double core, double linears) const;

  const ModelCard& card_;
  const Plan& plan_;
  ComputeEfficiency efficiency_;
  double peak_low_, peak_, memory_, sms_;
  double tokens_, own_tokens_;  // of a micro batch after cp; of which sequence parallelism leaves this many
};

}  // namespace linkcast::workloads::step
