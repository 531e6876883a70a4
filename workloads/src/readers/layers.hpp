// Workloads of layers in text, as ASTRA-sim, SimAI and AICB write them: a policy, the number of layers, and for each
//   name dependency  forward: time call bytes  input gradient: time call bytes  weight gradient: time call bytes update
// Times are nanoseconds. What one representative rank does follows (layers_pass.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "formats.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "parallel_groups.hpp"

namespace linkcast::workloads::readers {

bool is_layers(const Probe& probe);
Recording open_layers(const std::vector<std::string>& paths, const RecordingOptions& options);

namespace layers {

enum class Policy : std::uint8_t { data, model, data_model, model_data, dlrm, transformer, recompute, micro };

struct Call {
  bool any = false, and_alltoall = false;  // ALLREDUCEALLTOALL is both
  models::nccl::Op op = models::nccl::Op::all_reduce;
  std::int64_t bytes = 0;
  std::string group;  // "_EP", "_DP_EP" or empty: as its place says
};

struct Part {
  std::int64_t ns = 0;
  Call call;
};

struct Layer {
  std::string name;
  std::array<Part, 3> parts;  // forward, input gradient, weight gradient
  std::int64_t update_ns = 0;
};

struct Workload {
  Policy policy = Policy::data;
  bool simai = false;  // the header has model_parallel_NPU_group: sizes are whole buffers
  ParallelPlan plan;
  int inner = 1;  // ranks of the innermost dimension, for HYBRID_DATA_MODEL and HYBRID_MODEL_DATA
  int virtual_stages = 1, microbatches = 1, last_bottom = -1;
  std::int64_t pp_bytes = 0;
  std::vector<bool> checkpoint, initiates;  // by layer
  std::vector<Layer> layers;
};

/// One pass of rank 0, forwards and backwards.
void write_pass(const Workload& w, Recording& out);

}  // namespace layers
}  // namespace linkcast::workloads::readers
