// Sources of the defaults, by framework:
//   Megatron-LM 2021: Narayanan et al., SC'21 (scatter/gather of messages, full recomputation, data-parallel all-reduce
//     at the end of the step); Megatron-LM 2022: Korthikanti et al., arXiv 2205.05198.
//   Megatron-DeepSpeed of BLOOM: bigscience-workshop tr11-176B-ml: ZeRO-1 without overlap, no sequence parallelism.
//   NeMo, Megatron-Bridge, Megatron-Core: the distributed optimizer with both overlaps, gradients in BF16, sequence
//     parallelism, tensor-parallel overlap by user buffers (NeMo performance guide; perf_recipes of Megatron-Bridge).
//   llm-foundry/Composer: FSDP1, mixed precision DEFAULT: gradients reduced in FP32, in every micro batch; eager.
//   torchtitan, KempnerForge, NeMo AutoModel: FSDP2: weights gathered again backward, gradients reduced in FP32.
//   InternEvo: configs/7B: overlap_sync_grad, not overlap_sync_param; gradients in BF16.
//   Llama 3: arXiv 2407.21783, section 3.3: one layer per virtual stage, micro batches of one sequence, context
//     parallelism by all-gather, weights not resharded after the forward pass.
//   HAI-LLM: DeepSeek-V3, arXiv 2412.19437, section 3.2: DualPipe hides dispatch and combine; four nodes a token.
#include "defaults.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace linkcast::calibration {
namespace {

using workloads::ContextExchange;
using workloads::Plan;
using workloads::Precision;
using workloads::Recompute;
using workloads::Schedule;
using workloads::Sharding;

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

Precision precision_of(std::string_view p) {
  if (has(p, "NVFP4") || has(p, "FP4")) return Precision::fp4;
  return has(p, "FP8") || has(p, "fp8") || has(p, "Float8") ? Precision::fp8 : Precision::bf16;
}

/// Llama 3's cluster is in the catalog, with its zones that are joined 1:7.
bool meta_scale(const StepRow& r) { return has(r.network, "24K-GPU") && r.gpus > 3'072; }

[[noreturn]] void cannot(std::string why) { throw sim::InputError(std::move(why)); }

}  // namespace

Plan plan_of(const StepRow& r, std::vector<std::string>& assumed) {
  if (r.phase != "pretrain" && r.phase != "sft")
    cannot(r.phase.starts_with("inference") ? "inference: the batch of the measurement is not stated"
                                            : fmt::format("phase '{}': adapters are not modelled", r.phase));
  if (r.tp == 0 || r.pp == 0) cannot("the parallelism is not stated");
  if (r.global_batch == 0) cannot("the global batch is not stated");
  if (r.sequence == 0) cannot("the sequence length is not stated");
  Plan p;
  p.check_memory = false;
  p.gpus = r.gpus;
  p.tp = r.tp;
  p.pp = r.pp;
  p.cp = std::max(1, r.cp);
  p.vpp = std::max(1, r.vpp);
  p.ep = std::max(1, r.ep);
  p.etp = std::max(1, r.etp);
  p.global_batch = r.global_batch;
  p.sequence = r.sequence;
  p.precision = precision_of(r.precision);
  p.micro_batch = r.micro_batch;
  const int dp = r.gpus / std::max(1, p.tp * p.pp * p.cp);
  const auto& f = r.framework;
  const bool meta = f == "Meta internal", hai = has(f, "HAI-LLM");
  if (p.micro_batch == 0 && r.accumulation > 0 && r.global_batch % (dp * r.accumulation) == 0)
    p.micro_batch = r.global_batch / (dp * r.accumulation);
  if (p.micro_batch == 0 && (meta || hai)) {
    p.micro_batch = 1;
    assumed.push_back("micro batches of one sequence, as its paper says");
  }
  if (p.micro_batch == 0) cannot("the micro batch is not stated");

  // Sharding.
  const bool titan = has(f, "torchtitan") || has(f, "Kempner"), automodel = has(f, "AutoModel"),
             composer = has(f, "Composer"), xla = has(f, "PaxML") || has(f, "MaxText");
  const bool megatron = !titan && !automodel && !composer && !xla && !has(f, "InternEvo") && !meta && !hai;
  if (r.zero.starts_with("3") || r.zero.starts_with("FSDP2") || titan || composer || xla)
    p.sharding = Sharding::full;
  else if (r.zero.starts_with("2"))
    p.sharding = Sharding::full;
  else if (r.zero == "0")
    p.sharding = Sharding::none;
  if (has(r.zero, "SHARD_GRAD_OP")) p.reshard = false;
  if (megatron && r.shard_group > 1 && !r.zero.starts_with("1")) p.sharding = Sharding::full;
  if (p.sharding == Sharding::full && r.shard_group > 1 && r.shard_group < dp * p.cp) p.shard_group = r.shard_group;
  if (has(r.zero, "zero1=8")) p.shard_group = 8;
  if (has(r.zero, "zero1=4")) p.shard_group = 4;
  if (p.shard_group > 0 && (dp * p.cp) % p.shard_group != 0) p.shard_group = 0;

  // Recomputation.
  if (r.recompute.starts_with("full"))
    p.recompute = Recompute::full;
  else if (r.recompute.starts_with("selective (attention"))
    p.recompute = Recompute::selective;
  else if (has(r.recompute, "selective"))
    p.recompute = Recompute::half;

  // What each framework overlaps.
  if (megatron) {
    const bool old = has(f, "Megatron-LM 2021") || has(f, "Megatron-LM 2022") || has(f, "DeepSpeed");
    p.gradient_bytes = 2;
    if (old) {
      p.flash = false;
      p.sequence_parallel = r.sequence_parallel.value_or(false);
      p.overlap_grad_reduce = p.overlap_param_gather = false;
      p.overlap_pp = p.vpp > 1;
      if (has(f, "DeepSpeed")) {
        p.scatter_messages = false;
        p.gradient_bytes = has(r.precision, "fp32") ? 4 : 2;
        if (r.zero.empty()) p.sharding = Sharding::none;
      } else {
        p.sharding = Sharding::none;
      }
    } else {
      p.overlap_tp = p.tp > 1;
      p.overlap_pp = p.vpp > 1;
      if (p.tp > 1) assumed.push_back("tensor-parallel exchanges beside their GEMMs, NeMo's default");
    }
  } else if (composer) {
    p.fused = false;
    p.gradient_bytes = 4;
  } else if (titan || automodel) {
    p.async_tp_backward = false;
    p.fused = automodel || has(f, "Kempner") ? !has(r.notes, "compile off")
                                             : has(r.notes, "compile") || has(r.notes, "AsyncTP");
    p.overlap_tp = has(r.notes, "AsyncTP") || has(r.notes, "async TP");
    p.context = ContextExchange::all_gather;
    p.dispatch_once = has(r.notes, "DeepEP");
  } else if (xla) {
    p.gradient_bytes = 2;
  } else if (has(f, "InternEvo")) {
    p.gradient_bytes = 2;
    p.overlap_param_gather = false;
  } else if (meta) {
    p.vpp = r.vpp > 0 ? r.vpp : 8;
    p.sharding = Sharding::optimizer;
    p.context = ContextExchange::all_gather;
    p.async_tp_backward = false;
    assumed.push_back("one layer per virtual stage, as the paper says");
  } else if (hai) {
    p.schedule = Schedule::dual_pipe;
    p.overlap_ep = true;
    p.dispatch_once = true;
    p.node_limit = 4;
    p.gradient_bytes = 4;
  }
  if (r.sequence_parallel) p.sequence_parallel = *r.sequence_parallel;
  if (has(f, "Megatron-Bridge") || has(f, "NeMo 25.0")) p.dispatch_once = p.ep > 8;
  return p;
}

StepMachine machine_of(const StepRow& r, Precision precision, std::vector<std::string>& assumed) {
  struct Known {
    std::string_view gpu, system;
  };
  constexpr Known known[] = {{"H100-80GB", "dgx-h100"}, {"H100-96GB-HBM2e-500W", "meta-grand-teton"},
                             {"H200", "dgx-h200"},      {"H800", "hgx-h800"},
                             {"A100-80GB", "dgx-a100"}, {"A100-40GB", "dgx-a100"},
                             {"B200", "hgx-b200"},      {"B300", "hgx-b300"},
                             {"GB200", "gb200-nvl72"},  {"GB300", "gb300-nvl72"},
                             {"H20", "hgx-h20"}};
  std::string system;
  for (const auto& k : known)
    if (k.gpu == r.gpu) system = k.system;
  if (system.empty()) cannot(fmt::format("no machine of the catalog has the GPU '{}'", r.gpu));
  topologies::LoadOptions load;
  int per_node = r.gpus_per_node > 0 ? r.gpus_per_node : 8;
  const bool domain = system.starts_with("gb");
  if (domain) {
    // A job takes a power of two of a rack's 72 GPUs.
    per_node = 64;
    while (per_node > r.gpus || r.gpus % per_node != 0) per_node /= 2;
    per_node = std::max(4, per_node);
    load.params["trays"] = std::to_string(per_node / 4);
    assumed.push_back(fmt::format("{} GPUs in each NVLink domain", per_node));
  }
  auto node = topologies::load(system, load);
  auto gpu = node.gpu_model(node.gpus()[0]);
  if (r.gpu == "A100-80GB") {
    gpu.memory = sim::Rate::from_GBps(2039);  // A100 80 GB datasheet
    gpu.memory_capacity = sim::Bytes{80'000'000'000};
  }
  if (r.gpu == "H100-96GB-HBM2e-500W") {
    gpu.memory = sim::Rate::from_GBps(2400);  // its source says so
    gpu.memory_capacity = sim::Bytes{96'000'000'000};
    gpu.name = "h100-sxm-500w";
  }
  const auto kind = fmt::format("{} {}", gpu.name, workloads::name_of(precision));
  if (meta_scale(r)) {
    topologies::ClusterOptions options;
    options.nodes = 0;
    auto whole = topologies::load_cluster("meta-24k", options);
    std::vector<int> nodes(static_cast<std::size_t>(r.gpus / 8));
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
    return {whole.job(nodes), gpu, kind};
  }
  const int nodes = (r.gpus + per_node - 1) / per_node;
  const int locals = std::min(per_node, r.gpus);
  if (nodes > 1 && r.gpus % per_node != 0) cannot(fmt::format("{} GPUs do not fill nodes of {}", r.gpus, per_node));
  if (locals < static_cast<int>(node.gpus().size())) {
    std::vector<int> first(static_cast<std::size_t>(locals));
    for (int i = 0; i < locals; ++i) first[static_cast<std::size_t>(i)] = i;
    node = node.slice(first);
  }
  if (nodes == 1) return {node, gpu, kind};
  if (r.nic_gbps > 0 && !domain) {
    int own = 0;
    for (const auto& d : node.devices()) own += d.kind == topologies::DeviceKind::nic ? 1 : 0;
    // Rates below 100 Gb/s of a GPU are cards that two GPUs share.
    const double total = r.nic_gbps * locals;
    const int count = r.nic_gbps < 100 ? std::max(1, own / 2) : own;
    node = node.with_nics(count, sim::Rate::from_GBps(total / count / 8));
  }
  const auto fabric = has(r.network, "RoCE") || has(r.network, "RDMA") ? "roce" : "ib";
  if (r.network.empty()) assumed.push_back("network not stated: an InfiniBand fabric that blocks nothing");
  return {topologies::ideal_cluster(node, nodes, fabric), gpu, kind};
}

}  // namespace linkcast::calibration
