// One scenario, evaluated: every kind of workload, and what an outage is.
#include "linkcast/planning/evaluate.hpp"

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/replay_recording.hpp"

using namespace linkcast;

namespace {

workloads::ScenarioFile scenario(const std::string& text) {
  return workloads::open_scenario_text(text, LINKCAST_SOURCE_DIR "/configs/study.yaml");
}

sim::Time sum(const planning::Evaluation& e) {
  sim::Time t;
  for (const auto& p : e.parts) t += p.time;
  return t;
}

const std::string step =
    "topology: dgx-h100\nworkload: {step: {model: ../tests/data/models/llama3.1-8b.yaml, plan: {gpus: 16, sharding: "
    "fsdp, "
    "micro_batch: 1, global_batch: 16, sequence: 4096, recompute: full}}}\n";

}  // namespace

TEST_CASE("the parts of an evaluation add up to its time, whatever the workload", "[evaluate]") {
  planning::Evaluator evaluator;
  const std::vector<std::pair<std::string, std::string>> kinds{
      {"collective", "topology: dgx-h100\nnodes: 2\nworkload: {collective: {op: alltoall, size: 64 MiB}}\n"},
      {"step", step},
      {"programs",
       "topology: dgx-h100\ngpus: [0, 1]\nworkload: {programs: [{do: [{compute: 1 ms}, {all_reduce: 64 MiB}]}]}\n"}};
  for (const auto& [kind, text] : kinds) {
    CAPTURE(kind);
    const auto e = evaluator.run(scenario(text));
    CHECK(e.kind == kind);
    CHECK_FALSE(e.outage);
    CHECK(e.time > sim::Time{});
    CHECK(sum(e) == e.time);
    CHECK_FALSE(e.bound_by.empty());
    CHECK(e.gpu == "h100-sxm");
  }
}

TEST_CASE("an evaluation is what the room below says, and does not depend on what was asked before", "[evaluate]") {
  planning::Evaluator evaluator;
  const auto once = evaluator.run(scenario(step));
  const auto s = workloads::read_recorded_scenario(scenario(step));
  CHECK(once.time == workloads::replay_recording(s.recording, s.cluster, s.options).end);
  static_cast<void>(evaluator.run(scenario("topology: dgx-a100\nworkload: {collective: {op: reduce, size: 1 KiB}}\n")));
  const auto again = evaluator.run(scenario(step));
  CHECK(again.time == once.time);
  CHECK(again.mfu == once.mfu);
}

TEST_CASE("a collective is asked of the machine of any scenario", "[evaluate]") {
  planning::Evaluator evaluator;
  const auto answer = evaluator.collective(scenario(step), models::nccl::Op::all_reduce, sim::gib(1));
  workloads::CollectiveModel model{topologies::load_cluster("dgx-h100", {2, {}, {}, {}, nullptr}), {}};
  models::nccl::Call call;
  call.bytes = sim::gib(1);
  CHECK(answer.row.time == model.run(call).time);
}

TEST_CASE("overrides reach single links, and what they cut off is an outage", "[evaluate]") {
  planning::Evaluator evaluator;
  const std::string base = "topology: dgx-h100\nnodes: 2\nworkload: {collective: {op: all_reduce, size: 1 GiB}}\n";
  const auto whole = evaluator.run(scenario(base));
  const auto one = evaluator.run(scenario(base + "overrides: [{nic: \"node[1].nic[3]\", state: down}]\n"));
  CHECK(one.time > whole.time);
  std::string all = "overrides: [";
  for (int i = 0; i < 8; ++i) all += "{nic: \"node[1].nic[" + std::to_string(i) + "]\", state: down}, ";
  const auto none = evaluator.run(scenario(base + all + "]\n"));
  CHECK(none.outage);
  CHECK_FALSE(none.outage_reason.empty());
}

TEST_CASE("a wrong override is wrong input, not an outage", "[evaluate]") {
  planning::Evaluator evaluator;
  const std::string base = "topology: dgx-h100\nnodes: 2\nworkload: {collective: {op: all_reduce, size: 1 GiB}}\n";
  CHECK_THROWS_WITH(evaluator.run(scenario(base + "overrides: [{nic: \"node[9].nic[3]\", state: down}]\n")),
                    Catch::Matchers::Contains("node[9]"));
  CHECK_THROWS_AS(evaluator.run(scenario(base + "overrides: 3\n")), sim::InputError);
  CHECK_THROWS_WITH(evaluator.run(scenario("topology: dgx-h100\nworkload: {collective: {op: al_reduce, size: 1}}\n")),
                    Catch::Matchers::Contains("did you mean 'all_reduce'?") && Catch::Matchers::Contains("size"));
}

TEST_CASE("variants of the packet section are different machines", "[evaluate]") {
  planning::Evaluator evaluator;
  const auto time = [&](const std::string& packet) {
    return evaluator
        .run(scenario("topology: superpod-h100\ngpus: 16\nfidelity: packet\npacket: " + packet +
                      "\nworkload: {collective: {op: all_reduce, size: 4 MiB}}\n"))
        .time;
  };
  // Smaller packets carry more headers.
  const auto small = time("{mtu: 512 B}"), full = time("{mtu: 4 KiB}");
  CHECK(small > full);
  CHECK(time("{mtu: 512 B}") == small);
}
