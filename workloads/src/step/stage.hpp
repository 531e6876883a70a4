// One rank of one pipeline stage through a training step: its schedule, with what it computes and exchanges. Overlap
// rules: docs/step.md.
#pragma once

#include <map>
#include <set>

#include "emit.hpp"
#include "layout.hpp"
#include "schedule.hpp"
#include "work.hpp"

namespace linkcast::workloads::step {

/// Indices of the recording's communicators that a stage uses.
struct Groups {
  std::uint32_t tensor = 0, context = 0, data = 0, replicas = 0, expert = 0, expert_tensor = 0, expert_data = 0,
                pipeline = 0, tables = 0;
};

class StageWriter {
 public:
  StageWriter(const ModelCard& card, const Plan& plan, const Roofline& roofline, const std::vector<Chunk>& chunks,
              int stage, const Groups& groups, Emitter& emit);
  void write();

 private:
  struct LayerTimes {
    step::Work mixer, mlp;
  };
  enum class Pass : std::uint8_t { forward, again, backward, input };

  const Chunk& chunk(int v) const;
  int virtual_of(int v) const;  // place in the model
  int chunks_here() const;
  const LayerTimes& times(const LayerShape& shape);
  void forward(const Slot& slot, bool first);
  void backward(const Slot& slot, bool last);
  void weights(const Slot& slot);
  void reduce_rest();
  void layer_forward(const LayerShape& shape, Pass pass);
  void layer_backward(const LayerShape& shape, bool with_weights);
  void half_forward(double us, bool tensor);
  void half_backward(double us, bool tensor);
  void experts(double us);
  void keys(bool backward, const LayerShape& shape);
  void messages_in(const Slot& slot);
  void message_out(const Slot& slot);
  void gather_ahead(const std::vector<int>& layers, std::size_t at);
  void gather_parameters();
  void reduce(double shared, double expert);
  void finish();
  double message_bytes() const;
  double gathered(const Held& h) const;
  double dispatched() const;

  const ModelCard& card_;
  const Plan& plan_;
  const Roofline& roofline_;
  const std::vector<Chunk>& chunks_;
  const int stage_;
  const Groups groups_;
  Emitter& emit_;
  std::vector<std::pair<LayerShape, LayerTimes>> times_;
  bool full_ = false;                                     // weights are sharded, gathered layer by layer
  double tokens_ = 0, own_tokens_ = 0;                    // of a micro batch on this rank; with sequence parallelism
  std::map<std::pair<int, int>, std::uint64_t> gathers_;  // chunk, layer of it -> its parameters are there
  std::vector<std::uint64_t> reductions_;
  double bucket_shared_ = 0, bucket_expert_ = 0;
  std::map<int, int> open_weights_;    // of a chunk: backward passes whose weights' gradients are still to be made
  std::set<int> last_input_;           // chunks whose last one has come
  std::uint64_t ahead_ = 0;            // of ZeRO-3: the gather of the layer that comes next
  std::vector<std::uint64_t> hidden_;  // exchanges of experts that end with the slot
};

}  // namespace linkcast::workloads::step
