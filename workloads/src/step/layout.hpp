// Which layers and ranks belong together: stages and chunks of a pipeline, groups of ranks. Knows no time.
#pragma once

#include <algorithm>
#include <vector>

#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads::step {

struct Chunk {
  int first = 0, count = 0;  // of ModelCard::layers
  bool embedding = false, output = false;
};
/// Chunks in the order of the model: chunk v of stage s is number v * pp + s (DualPipe: see schedule.hpp).
std::vector<Chunk> chunks_of(const ModelCard& card, int stages, int per_stage);

/// Ranks of the world by their coordinates, in the plan's order.
class Ranks {
 public:
  explicit Ranks(const Plan& plan);
  std::vector<int> tensor(int stage) const;
  std::vector<int> context(int stage) const;
  std::vector<int> data(int stage) const;  // with context: who shares dense weights
  std::vector<int> expert(int stage) const;
  std::vector<int> expert_tensor(int stage) const;
  std::vector<int> expert_data(int stage) const;  // who shares the same experts
  std::vector<int> pipeline() const;
  int of_stage(int stage) const { return origin_ + stage * pp_stride_; }
  PlanPlace place_of(int rank) const {
    return {rank / pp_stride_ % plan_.pp,
            plan_.ep > 1 ? rank / edp_stride_ % edp_ : rank / dp_stride_ % std::max(1, plan_.dp)};
  }
  /// False: dense and expert layers would have different stages.
  bool consistent() const { return consistent_; }

 private:
  std::vector<int> along(int stage, int n, int stride) const;
  Plan plan_;
  int origin_ = 0;  // the rank of stage 0 in whose place those of the other stages are
  int tp_stride_ = 1, cp_stride_ = 1, dp_stride_ = 1, pp_stride_ = 1;
  int etp_stride_ = 1, ep_stride_ = 1, edp_stride_ = 1, edp_ = 1;
  bool consistent_ = true;
};

/// Weights that one GPU of a stage holds, and those of its experts among them.
struct Held {
  double shared = 0, expert = 0;
};
Held held_by(const ModelCard& card, const Plan& plan, const Chunk& chunk);
Held held_by(const ModelCard& card, const Plan& plan, const LayerShape& shape);
/// GPUs over which optimizer states (and with ZeRO-3 weights) are sharded.
int shards_of(const Plan& plan);

}  // namespace linkcast::workloads::step
