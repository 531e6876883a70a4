// A training step, or a step of inference, from a model card and a parallelism plan: what is computed, what is sent, by
// which ranks, as a Recording that replay_recording() takes. Equations and their sources: docs/step.md. Knows no
// topology: ranks are numbers of the world, in the order that the plan names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads {

// ---- The model ------------------------------------------------------------------------------------------------------

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): low-rank queries, keys and values.
struct LatentAttention {
  int q_rank = 0, kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;  // q_rank 0: queries are not compressed
};

/// One residual block: what mixes tokens, and what follows.
struct LayerShape {
  enum class Mixer : std::uint8_t { none, attention, mamba };
  enum class Mlp : std::uint8_t { none, dense, moe };
  Mixer mixer = Mixer::attention;
  Mlp mlp = Mlp::dense;
  bool operator==(const LayerShape&) const = default;
};

struct ModelCard {
  std::string name;
  int hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  bool gated = true;               // SwiGLU and the like: three matrices instead of two
  bool tied = false;               // the output layer is the embedding
  int positions = 0;               // learned position embeddings; 0: none
  int window = 0;                  // of sliding attention, in half of the layers; 0: none
  std::vector<LayerShape> layers;  // from input to output
  int experts = 0, top_k = 0, expert_ffn = 0, shared_ffn = 0;
  std::optional<LatentAttention> latent;
  int mamba_heads = 0, mamba_head_dim = 0, mamba_state = 0, mamba_groups = 0;
  int mtp_layers = 0;  // multi-token prediction: further blocks, each with the output layer
  int sequence = 0;    // tokens; the card's default, 0: not said
  double stated_parameters = 0, stated_active = 0;
};

/// YAML in the form of tests/data/models, or a Hugging Face config.json. Throws sim::InputError with all problems.
ModelCard read_model_card(const std::string& path);
ModelCard read_model_card_text(std::string_view text, const std::string& where);

struct Parameters {
  double total = 0, active = 0;  // active: those that a token meets
  double embedding = 0;          // of total: input and output embeddings
};
Parameters parameters_of(const ModelCard& card);

/// How sources count attention: causal counts the half of the scores that is needed, full all of them.
enum class AttentionCount : std::uint8_t { causal, full };
/// Multiply-adds count twice; forward + backward = 3 x forward; recomputation does not count.
double training_flops_per_token(const ModelCard& card, int sequence, AttentionCount count = AttentionCount::causal);

// ---- The plan -------------------------------------------------------------------------------------------------------

enum class Schedule : std::uint8_t { one_f_one_b, interleaved, zero_bubble, dual_pipe };
enum class Sharding : std::uint8_t { none, optimizer, gradients, full };  // ZeRO-0, 1, 2, 3 (FSDP)
/// selective: the attention core (Korthikanti et al.); half: every other matrix product and what lies between
/// (torchtitan's per-operation choice); full: everything between the inputs of layers.
enum class Recompute : std::uint8_t { none, selective, half, full };
enum class Precision : std::uint8_t { bf16, fp8, fp4 };
enum class ContextExchange : std::uint8_t { ring, all_gather };  // of keys and values: overlapped, or before attention
std::string_view name_of(Schedule x);
std::string_view name_of(Sharding x);
std::string_view name_of(Recompute x);
std::string_view name_of(Precision x);

struct Plan {
  int gpus = 0;
  int tp = 1, cp = 1, pp = 1, vpp = 1, dp = 0, ep = 1, etp = 1;  // dp 0: gpus / (tp cp pp)
  bool sequence_parallel = true;                                 // where tp > 1
  Schedule schedule = Schedule::one_f_one_b;                     // interleaved where vpp > 1
  Sharding sharding = Sharding::optimizer;
  bool reshard = true;  // sharding full: gather again for the backward pass
  int shard_group = 0;  // HSDP: GPUs over which states are sharded, replicated beyond; 0: all of dp x cp
  int micro_batch = 1, global_batch = 0, sequence = 0;  // sequences, sequences, tokens
  Recompute recompute = Recompute::none;
  Precision precision = Precision::bf16;
  ContextExchange context = ContextExchange::ring;
  bool overlap_grad_reduce = true, overlap_param_gather = true;  // with the backward and the forward pass
  bool overlap_tp = false;                                       // with the GEMMs that need or make it
  bool overlap_ep = false;                                       // with another micro batch's computing
  bool overlap_pp = true;                                        // messages beside computing
  bool scatter_messages = true;   // without sequence parallelism: each rank of tp sends its part, then they gather
  bool fused = true;              // compiled or fused elementwise operations; false: PyTorch's eager kernels
  bool flash = true;              // attention without its scores in memory (FlashAttention)
  bool async_tp_backward = true;  // Megatron's: the backward pass hides what its column-parallel layers exchange
  bool dispatch_once = false;     // a token goes to a machine once, then over NVLink (DeepEP); false: to each expert
  int node_limit = 0;             // machines that a token may go to (DeepSeek-V3: 4); 0: any
  int per_node = 8;               // GPUs that NVLink joins, for dispatch_once
  bool check_memory = true;       // refuse what does not fit
  int gradient_bytes = 4;         // of what is reduced: 4 (Megatron's default), 2
  sim::Bytes bucket = sim::Bytes{0};  // of gradients and parameters; 0: Megatron's, max(40 M, 1 M x dp) elements
  int follow = 0;  // the ranks that are recorded: those of each stage that lie with this one in tp, cp, ep and dp
  std::vector<std::string> order{"tp", "cp", "ep", "dp", "pp"};  // the fastest first: Megatron's default
};

/// From a YAML (or JSON) map: `{tp: 8, pp: 16, gpus: 16384, global_batch: 2048, …}`. `line` and `column`: where the
/// text stands in the file `where`. Throws sim::InputError with all problems, each at its place.
Plan read_plan(std::string_view yaml, const std::string& where, int line = 1, int column = 1);

/// Where a rank stands: its pipeline stage, and the ranks that meet in every layer (its tensor, context and expert
/// groups), which wait for the slowest among them many times in each step.
struct PlanPlace {
  int stage = 0, replica = 0;
  auto operator<=>(const PlanPlace&) const = default;
};
PlanPlace place_of(const Plan& plan, int rank);
/// The rank of a stage whose operations are recorded (Plan::follow).
int recorded_rank(const Plan& plan, int stage);

struct MemoryNeed {  // bytes of the GPU that needs most
  double parameters = 0, gradients = 0, optimizer = 0, activations = 0, other = 0;
  double total() const { return parameters + gradients + optimizer + activations + other; }
};
MemoryNeed memory_of(const ModelCard& card, const Plan& plan);

/// Fills what follows from the rest (dp, schedule, sequence) and throws sim::InputError with everything that is wrong:
/// products, divisibility, batches; where `gpu` is given and the plan wants it, memory with its parts.
Plan checked(const ModelCard& card, Plan plan, const models::GpuModel* gpu = nullptr);

// ---- Computing ------------------------------------------------------------------------------------------------------

/// Shares of a GPU's peaks that kernels reach. One per kind of GPU and precision, fitted (docs/step.md).
struct ComputeEfficiency {
  double gemm = 0.7;       // large matrix products in `precision`, of that precision's peak
  double gemm_bf16 = 0.7;  // of BF16: the output layer and, with FP8, what stays in BF16
  double attention = 0.5;  // of the BF16 peak
  double memory = 0.8;     // of the memory's rate, elementwise
  std::string source;
};
ComputeEfficiency compute_efficiency(const models::GpuModel& gpu, Precision precision);

// ---- The step -------------------------------------------------------------------------------------------------------

/// One training step of one rank per pipeline stage; the others do alike. Throws as checked().
Recording step_recording(const ModelCard& card, const Plan& plan, const models::GpuModel& gpu,
                         const ComputeEfficiency& efficiency);
Recording step_recording(const ModelCard& card, const Plan& plan, const models::GpuModel& gpu);

struct Serving {
  enum class Phase : std::uint8_t { prefill, decode, transfer };
  Phase phase = Phase::prefill;
  int batch = 1;   // sequences per data-parallel rank
  int input = 0;   // tokens of each: prefill computes them, decode has them in the cache
  int cached = 0;  // prefill: of `input`, those that need no computing
  int to = 0;      // transfer: first rank of the instance that decodes; 0: the one after this
};
/// One forward pass (prefill, a decode step), or the way of the key-value cache from a prefill to a decode instance.
Recording serving_recording(const ModelCard& card, const Plan& plan, const Serving& serving,
                            const models::GpuModel& gpu, const ComputeEfficiency& efficiency);
/// Bytes of one token's keys and values in all layers.
double cache_bytes_per_token(const ModelCard& card, Precision precision);

}  // namespace linkcast::workloads
