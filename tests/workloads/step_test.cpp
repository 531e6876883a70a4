// Training steps from a card and a plan: parameters and operations by hand, schedules by their rules, replays that end.
#include <map>
#include <set>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/replay_recording.hpp"
#include "linkcast/workloads/step.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::workloads;

constexpr const char* llama_405b =
    "layers: 126\nhidden: 16384\nheads: 128\nkv_heads: 8\nhead_dim: 128\nffn: 53248\nvocab: 128256\n";
constexpr const char* small = "layers: 8\nhidden: 1024\nheads: 8\nffn: 4096\nvocab: 32000\ndefault_seq_tokens: 2048\n";
constexpr const char* small_moe =
    "layers: 4\nhidden: 1024\nheads: 8\nvocab: 32000\nexperts: 8\ntop_k: 2\nmoe_ffn: 2048\n";

RecordingResult replayed(const char* card, const std::string& plan, int nodes = 1) {
  const auto cluster =
      topologies::load_cluster("dgx-h100", {.nodes = nodes, .params = {}, .fabric = {}, .routing = {}});
  const auto& machine = cluster.machine(0);
  const auto recording =
      step_recording(read_model_card_text(card, "card"), read_plan(plan, "plan"), machine.gpu_model(machine.gpus()[0]));
  return replay_recording(recording, cluster);
}

TEST_CASE("parameters of Llama 3.1 405B") {
  // Embeddings 2 x 128256 x 16384 = 4,202,692,608. A layer: queries, keys, values 16384 x (16384 + 2 x 1024), output
  // 16384 x 16384, MLP 3 x 16384 x 53248, norms 2 x 16384: 3,187,703,808.
  const auto p = parameters_of(read_model_card_text(llama_405b, "card"));
  CHECK(p.embedding == 4'202'692'608.0);
  CHECK(p.total == 4'202'692'608.0 + 126 * 3'187'703'808.0);
  CHECK(p.active == p.total);
}

TEST_CASE("operations per token: causal attention is half of full") {
  const auto card = read_model_card_text(llama_405b, "card");
  // Linear: 6 x (126 x 3,187,671,040 + 16384 x 128256); attention: 3 x 126 x 4 x 128 x 128 x keys, keys 4096 or 8192.
  const double linear = 6.0 * (126 * 3'187'671'040.0 + 16384.0 * 128256.0), per_key = 3.0 * 126 * 4 * 128 * 128;
  CHECK(training_flops_per_token(card, 8192) == Approx(linear + per_key * 4096));
  CHECK(training_flops_per_token(card, 8192, AttentionCount::full) == Approx(linear + per_key * 8192));
}

TEST_CASE("a mixture counts all experts, a token meets top_k") {
  const auto p = parameters_of(read_model_card_text(small_moe, "card"));
  const double expert = 3.0 * 1024 * 2048;  // gated: three matrices
  CHECK(p.total - p.active == Approx(4 * (8 - 2) * expert));
}

TEST_CASE("a config.json says the same as a card") {
  const auto p = parameters_of(read_model_card_text(
      R"({"model_type": "llama", "num_hidden_layers": 126, "hidden_size": 16384, "num_attention_heads": 128,
          "num_key_value_heads": 8, "intermediate_size": 53248, "vocab_size": 128256, "tie_word_embeddings": false})",
      "config.json"));
  CHECK(p.total == parameters_of(read_model_card_text(llama_405b, "card")).total);
}

TEST_CASE("wrong cards and plans say all that is wrong") {
  try {
    read_model_card_text("layers: 4\nhiden: 8\n", "card.yaml");
    FAIL("no error");
  } catch (const sim::InputError& e) {
    CHECK(e.diagnostics().size() >= 3);  // the unknown key, and what is missing
    CHECK(std::string{e.what()}.find("hiden") != std::string::npos);
  }
  CHECK_THROWS_AS(read_plan("{tp: 0, ppp: 2}", "plan"), sim::InputError);
  Plan p;
  p.gpus = 12;
  p.tp = 8;
  p.global_batch = 3;
  p.micro_batch = 2;
  p.ep = 2;
  try {
    checked(read_model_card_text(small, "card"), p);
    FAIL("no error");
  } catch (const sim::InputError& e) {
    CHECK(e.diagnostics().size() == 3);  // 12 / 8, 3 / 2, ep without experts
  }
}

TEST_CASE("what does not fit is refused with its parts") {
  const auto cluster = topologies::load_cluster("dgx-h100");
  const auto& machine = cluster.machine(0);
  const auto& gpu = machine.gpu_model(machine.gpus()[0]);
  const auto card = read_model_card_text(llama_405b, "card");
  auto plan = read_plan("{gpus: 8, tp: 8, sequence: 8192, global_batch: 1}", "plan");
  try {
    checked(card, plan, &gpu);
    FAIL("no error");
  } catch (const sim::InputError& e) {
    const std::string said = e.diagnostics()[0].problem;
    // 405.85e9 / 8 parameters in BF16 and their optimizer states of 12 bytes.
    CHECK(said.find("parameters 101.5 GB") != std::string::npos);
    CHECK(said.find("optimizer 608.8 GB") != std::string::npos);
  }
  plan.check_memory = false;
  CHECK_NOTHROW(checked(card, plan, &gpu));
}

TEST_CASE("the bubble of 1F1B is (p - 1) / m of the computing") {
  const auto r = replayed(small, "{gpus: 4, pp: 4, micro_batch: 1, global_batch: 8, sharding: none}");
  // The last stage has the output layer too and decides; the first waits (p - 1) / m of what the longest computes.
  double most = 0;
  for (const auto& rank : r.by_rank) most = std::max(most, rank.compute.seconds());
  CHECK(r.end.seconds() > most * (1 + 0.2 * 3.0 / 8));
  CHECK(r.end.seconds() < most * (1 + 1.5 * 3.0 / 8));
}

TEST_CASE("interleaving and zero bubble shorten the step") {
  const std::string plan = "gpus: 4, pp: 4, micro_batch: 4, global_batch: 16, sharding: none";
  const auto plain = replayed(small, "{" + plan + "}").end;
  CHECK(replayed(small, "{" + plan + ", vpp: 2}").end < plain);
  CHECK(replayed(small, "{" + plan + ", schedule: zero-bubble}").end < plain);
}

TEST_CASE("every kind of parallelism replays to its end, and the accounts add up") {
  for (const auto* plan :
       {"{gpus: 16, tp: 2, pp: 2, cp: 2, micro_batch: 1, global_batch: 8}",
        "{gpus: 16, tp: 4, overlap_tp: true, micro_batch: 1, global_batch: 8}",
        "{gpus: 16, sharding: fsdp, micro_batch: 1, global_batch: 16, recompute: full}",
        "{gpus: 16, sharding: hsdp, shard_group: 8, micro_batch: 1, global_batch: 16}",
        "{gpus: 16, tp: 8, sequence_parallel: false, pp: 2, vpp: 2, micro_batch: 1, global_batch: 4}",
        "{gpus: 16, pp: 4, schedule: dualpipe, micro_batch: 1, global_batch: 48}"}) {
    INFO(plan);
    const auto r = replayed(small, plan, 2);
    CHECK(r.end > sim::Time{});
    for (const auto& rank : r.by_rank) {
      auto sum = rank.compute + rank.bubble + rank.wait + rank.idle;
      for (const auto& [name, t] : rank.exposed) sum += t;
      CHECK(sum == r.end);
    }
  }
  const auto r = replayed(small_moe, "{gpus: 16, ep: 8, sequence: 1024, micro_batch: 1, global_batch: 32}", 2);
  CHECK(r.by_rank[0].exposed.contains("ep"));
}

TEST_CASE("ranks of a group lie as Megatron lays them") {
  const auto card = read_model_card_text(small, "card");
  const auto cluster = topologies::load_cluster("dgx-h100");
  const auto& machine = cluster.machine(0);
  const auto r = step_recording(card, read_plan("{gpus: 16, tp: 2, pp: 2, global_batch: 4}", "plan"),
                                machine.gpu_model(machine.gpus()[0]));
  std::map<std::string, std::vector<int>> groups;
  for (const auto& c : r.communicators) groups[c.name] = c.ranks;
  CHECK(groups["tp 0"] == std::vector<int>{0, 1});
  CHECK(groups["dp 0"] == std::vector<int>{0, 2, 4, 6});
  CHECK(groups["tp 1"] == std::vector<int>{8, 9});
  CHECK(groups["pp"] == std::vector<int>{0, 8});
  CHECK(r.tokens == 4 * 2048);
}

}  // namespace
