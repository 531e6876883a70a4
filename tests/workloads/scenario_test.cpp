// Scenarios with times that can be derived by hand: what is added up, hidden, waited for and shared. The kernel times
// of single collectives are CollectiveModel's; here only what a scenario makes of them is tested.
#include "linkcast/workloads/scenario.hpp"

#include "linkcast/workloads/scenario_file.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "catch.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::sim::literals;
using sim::Cause;
using sim::Time;
using workloads::ScenarioResult;

ScenarioResult run(const std::string& text, workloads::ScenarioOptions options = {}) {
  return workloads::run_scenario_text(text, "scenario.yaml", options);
}

/// A program for all ranks of a dgx-h100 whose host launches at no cost, unless `head` says something else.
ScenarioResult run_program(const std::string& operations, const std::string& head = "launch_floor: 0 us") {
  return run("topology: dgx-h100\nnccl: '2.19'\n" + head + "\nworkload:\n  programs:\n    - do: " + operations + "\n");
}

/// How long the GPUs alone take for one call on these ranks.
Time kernel(models::nccl::Op op, sim::Bytes bytes, std::vector<int> ranks = {0, 1, 2, 3, 4, 5, 6, 7}) {
  workloads::CommunicatorOptions options;
  options.nccl = models::nccl::Version::parse("2.19");
  const workloads::CollectiveModel model{topologies::load("dgx-h100").slice(ranks), options};
  models::nccl::Call call;
  call.op = op;
  call.bytes = bytes;
  return sim::replay(model.fabric().resources(), model.task(call)).end;
}

TEST_CASE("compute adds up along a stream and not across streams or ranks") {
  // rank 0: 120 + 30 = 150 us; rank 1: 100 us and, beside it, 40 us
  const auto r = run(R"(
topology: dgx-h100
ranks: 2
workload:
  programs:
    - {ranks: 0, do: [{compute: 120 us}, {compute: 30 us}]}
    - {ranks: 1, do: [{compute: 100 us}, {compute: 40 us, stream: side}]}
)");
  CHECK(r.end == 150_us);
  CHECK(r.account[Cause::compute] == 150_us);
  CHECK(r.account.total() == 150_us);
  CHECK(r.ranks == 2);
  CHECK(r.by_rank[0].compute == 150_us);
  CHECK(r.by_rank[1].compute == 100_us);  // the 40 us lie inside
  CHECK(r.by_rank[1].idle == 50_us);
  CHECK(r.collective_count == 0);
  CHECK(r.links.empty());
}

TEST_CASE("'after' holds a stream back until an operation of another one") {
  // side: after 70 us it has 50 us to do: 120 us; the main stream goes on to 70 + 20 = 90 us
  const auto r = run_program("[{compute: 70 us, name: a}, {compute: 50 us, stream: side, after: a}, {compute: 20 us}]");
  CHECK(r.end == 120_us);
}

TEST_CASE("loops repeat their body, also inside each other") {
  // 3 * (2 * 10 + 5) = 75 us
  const auto r = run_program("[{repeat: 3, do: [{repeat: 2, do: [{compute: 10 us}]}, {compute: 5 us}]}]");
  CHECK(r.end == 75_us);
  CHECK(r.tasks == 8 * 3 * 3);
}

TEST_CASE("a rank of long operations does not hold back one of many short ones") {
  // More tasks than the replay looks at at once. Rank 1 has done its 200,000 * 1 us after 200 ms, whatever rank 0, with
  // 200,000 * 2.5 us = 500 ms, still has to do; its collective with rank 2 follows at once.
  const auto r = run(R"(
topology: dgx-h100
ranks: 3
launch_floor: 0 us
workload:
  communicators: {pair: 1-2}
  programs:
    - {ranks: 0, do: [{repeat: 200000, do: [{compute: 2500 ns}]}]}
    - {ranks: 1, do: [{repeat: 200000, do: [{compute: 1 us}]}, {all_reduce: 1 MiB, on: pair}]}
    - {ranks: 2, do: [{all_reduce: 1 MiB, on: pair}]}
)");
  CHECK(r.end == 500'000_us);
  REQUIRE(r.collectives.size() == 1);
  CHECK(r.collectives[0].start == 200'000_us);
}

TEST_CASE("a name in a loop means this round's operation, and after the loop the last one's") {
  // Each round: 10 us on main, then 4 us on side beside the next round: 3 * 10 + 4 = 34, then 6 more.
  const auto r = run_program(
      "[{repeat: 3, do: [{compute: 10 us, name: a}, {compute: 4 us, stream: side, after: a, name: b}]},"
      " {compute: 6 us, after: [a, b]}]");
  CHECK(r.end == 40_us);
}

TEST_CASE("one collective takes its kernel's time, and the host's launch before it") {
  const Time alone = kernel(models::nccl::Op::all_reduce, 64_MiB);
  const auto free = run_program("[{all_reduce: 64 MiB, name: sum}]");
  CHECK(free.end == alone);
  REQUIRE(free.collectives.size() == 1);
  CHECK(free.collectives[0].name == "sum");
  CHECK(free.collectives[0].op == "all_reduce");
  CHECK(free.collectives[0].communicator == "world");
  CHECK(free.collectives[0].size == 64_MiB);
  CHECK(free.collectives[0].algorithm == "NVLS");
  CHECK(free.collectives[0].protocol == "Simple");
  CHECK(free.collectives[0].start == Time{});
  CHECK(free.collectives[0].end == alone);
  CHECK_FALSE(free.links.empty());

  const auto launched = run_program("[{all_reduce: 64 MiB}]", "launch_floor: 13 us");
  CHECK(launched.end == 13_us + alone);
  CHECK(launched.account[Cause::launch] == free.account[Cause::launch] + 13_us);
  CHECK(launched.by_rank[3].launch == 13_us);
  CHECK(launched.by_rank[3].exposed == alone);
}

TEST_CASE("a launch hides behind what the GPU is doing, as far as that lasts") {
  const Time alone = kernel(models::nccl::Op::all_reduce, 64_MiB);
  CHECK(run_program("[{compute: 120 us}, {all_reduce: 64 MiB}]", "launch_floor: 13 us").end == 120_us + alone);
  CHECK(run_program("[{compute: 4 us}, {all_reduce: 64 MiB}]", "launch_floor: 13 us").end == 13_us + alone);
}

TEST_CASE("small collectives follow each other no faster than the host launches them") {
  // Each kernel is shorter than a launch, so that the fifth starts when its launch is done, at 5 * 400 us.
  const Time alone = kernel(models::nccl::Op::all_reduce, 1_KiB);
  REQUIRE(alone < 400_us);
  CHECK(run_program("[{repeat: 5, do: [{all_reduce: 1 KiB}]}]", "launch_floor: 400 us").end == 2000_us + alone);
  // Without the host they follow each other directly.
  CHECK(run_program("[{repeat: 5, do: [{all_reduce: 1 KiB}]}]").end == 5 * alone);
}

TEST_CASE("one process for all GPUs launches for each in turn") {
  const auto host = topologies::load("dgx-h100").host();
  const Time floor = std::max(host.launch_multi_process, 8 * host.launch_single_process_per_gpu);
  const Time alone = kernel(models::nccl::Op::all_reduce, 64_MiB);
  CHECK(run_program("[{all_reduce: 64 MiB}]", "launch: single-process").end == floor + alone);
  CHECK(run_program("[{all_reduce: 64 MiB}]", "launch: multi-process").end == host.launch_multi_process + alone);
  CHECK(run_program("[{all_reduce: 64 MiB}]", "launch: graph").end == host.launch_graph + alone);
}

TEST_CASE("a collective starts when the last of its ranks comes; the others wait") {
  const auto r = run(R"(
topology: dgx-h100
nccl: '2.19'
launch_floor: 10 us
workload:
  programs:
    - {ranks: 0-6, do: [{all_reduce: 64 MiB}]}
    - {ranks: 7, do: [{compute: 100 us}, {all_reduce: 64 MiB}]}
)");
  const Time alone = kernel(models::nccl::Op::all_reduce, 64_MiB);
  CHECK(r.end == 100_us + alone);
  CHECK(r.collectives[0].first_arrival == 10_us);
  CHECK(r.collectives[0].start == 100_us);
  // ranks 0 to 6 have launched after 10 us and wait until 100 us
  CHECK(r.by_rank[0].launch == 10_us);
  CHECK(r.by_rank[0].wait == 90_us);
  CHECK(r.by_rank[0].exposed == alone);
  CHECK(r.by_rank[7].wait == Time{});
  CHECK(r.by_rank[7].compute == 100_us);
  CHECK(r.account[Cause::compute] == 100_us);
}

TEST_CASE("communication on a stream of its own hides behind compute") {
  const Time alone = kernel(models::nccl::Op::all_reduce, 64_MiB);
  REQUIRE(alone < 1000_us);
  const auto hidden = run_program("[{compute: 1000 us}, {all_reduce: 64 MiB, stream: comm}]");
  CHECK(hidden.end == 1000_us);
  CHECK(hidden.by_rank[0].communication == alone);
  CHECK(hidden.by_rank[0].exposed == Time{});
  CHECK(hidden.by_rank[0].idle == Time{});
  // 100 us of it are hidden, the rest is exposed
  const auto partly = run_program("[{compute: 100 us}, {all_reduce: 64 MiB, stream: comm}]");
  CHECK(partly.end == alone);
  CHECK(partly.by_rank[0].exposed == alone - 100_us);
}

TEST_CASE("a barrier holds all ranks and their hosts") {
  const Time alone = kernel(models::nccl::Op::all_reduce, 64_MiB);
  const auto r = run(R"(
topology: dgx-h100
nccl: '2.19'
launch_floor: 13 us
workload:
  programs:
    - {ranks: 0-6, do: [{barrier: world}, {all_reduce: 64 MiB}]}
    - {ranks: 7, do: [{compute: 100 us, stream: side}, {barrier: world}, {all_reduce: 64 MiB}]}
)");
  // The launch comes after the barrier, so that nothing hides it.
  CHECK(r.end == 113_us + alone);
  CHECK(r.by_rank[0].wait == 100_us);
  CHECK(r.collective_count == 1);
}

const char* const two_groups = R"(
topology: dgx-h100
nccl: '2.19'
launch_floor: 0 us
workload:
  communicators: {left: 0-3, right: [4, 5, 6, 7]}
  programs:
    - {ranks: 0-3, do: [{all_reduce: 256 MiB, on: left}]}
    - {ranks: 4-7, do: [{all_reduce: 256 MiB, on: right}]}
)";

TEST_CASE("NVSwitches keep two groups of GPUs apart") {
  const auto r = run(two_groups);
  REQUIRE(r.collectives.size() == 2);
  CHECK(r.collectives[0].end == kernel(models::nccl::Op::all_reduce, 256_MiB, {0, 1, 2, 3}));
  CHECK(r.collectives[1].end == kernel(models::nccl::Op::all_reduce, 256_MiB, {4, 5, 6, 7}));
  CHECK(r.account[Cause::congestion] == Time{});
}

TEST_CASE("two communicators of the same GPUs share their links") {
  // Rings over the same links: each gets half of them. Twice the bytes of one take no less than the links need for
  // them, and no more than one after the other.
  const std::string text = R"(
topology: dgx-h100
nccl: '2.19'
launch_floor: 0 us
env: {NCCL_ALGO: Ring}
workload:
  communicators: {a: 0-7, b: 0-7}
  programs: [{do: [{all_reduce: 1 GiB, on: a}, {all_reduce: 1 GiB, on: b, stream: other}]}]
)";
  const auto both = run(text);
  const auto one_after_other = run(text, {.set = {"workload.programs.0.do.1.stream=main"}});
  const Time alone = one_after_other.end / 2;
  CHECK(both.end > alone * 3 / 2);
  CHECK(both.end <= one_after_other.end);
  CHECK(both.account[Cause::congestion] > alone / 4);
  // The same bytes cross the links either way.
  REQUIRE(both.links.size() == one_after_other.links.size());
  double shared = 0, apart = 0;
  for (const auto& l : both.links) shared += l.bytes;
  for (const auto& l : one_after_other.links) apart += l.bytes;
  CHECK(shared == Approx(apart).epsilon(1e-9));
}

TEST_CASE("ranks may come to collectives of different streams in different orders") {
  const auto r = run(R"(
topology: dgx-h100
nccl: '2.19'
launch_floor: 0 us
env: {NCCL_ALGO: Ring}
ranks: 2
workload:
  communicators: {a: 0-1, b: 0-1}
  programs:
    - {ranks: 0, do: [{all_reduce: 1 MiB, on: a, stream: s}, {all_gather: 1 MiB, on: b, stream: t}]}
    - {ranks: 1, do: [{all_gather: 1 MiB, on: b, stream: t}, {all_reduce: 1 MiB, on: a, stream: s}]}
)");
  CHECK(r.collective_count == 2);
  CHECK(r.collectives[0].start == Time{});
  CHECK(r.collectives[1].start == Time{});
}

TEST_CASE("calls of one communicator never overlap, even on different streams") {
  const auto r = run_program("[{all_reduce: 64 MiB, stream: s}, {all_reduce: 64 MiB, stream: t}]");
  CHECK(r.end == 2 * kernel(models::nccl::Op::all_reduce, 64_MiB));
}

TEST_CASE("ranks may be any GPUs of the fabric") {
  const auto r = run("topology: dgx-h100\ngpus: [6, 1]\nworkload: {programs: [{do: [{all_reduce: 1 MiB}]}]}\n");
  REQUIRE(r.by_rank.size() == 2);
  CHECK(r.by_rank[0].gpu == "gpu[6]");
  CHECK(r.by_rank[1].gpu == "gpu[1]");
  for (const auto& l : r.links) CHECK((l.name.find("gpu[6]") != l.name.npos || l.name.find("gpu[1]") != l.name.npos));
}

TEST_CASE("settings of the command line stand above the file's") {
  const auto r = run(two_groups, {.set = {"topology=dgx-a100", "env.NCCL_PROTO=LL", "launch_floor=5 us"}});
  CHECK(r.topology == "dgx-a100");
  CHECK(r.collectives[0].protocol == "LL");
  CHECK(r.collectives[0].start == 5_us);
  CHECK_THROWS_WITH(run(two_groups, {.set = {"fidelity=packets"}}),
                    ContainsText("--set fidelity=packets:1:1: error: 'packets' is no fidelity"));
  CHECK_THROWS_WITH(run(two_groups, {.set = {"fidelity"}}), ContainsText("--set fidelity: no value"));
}

TEST_CASE("every example runs, at both fidelities alike, and every account adds up") {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LINKCAST_SOURCE_DIR "/configs")) {
    // Steps, traces, single collectives and jobs are run elsewhere (cli/configs_test.cpp).
    if (entry.path().extension() != ".yaml") continue;
    const auto scenario = workloads::open_scenario(entry.path());
    if (workloads::workload_kind(scenario) != workloads::WorkloadKind::programs || !scenario.root.get("workload"))
      continue;
    ++examples;
    INFO(entry.path().string());
    const auto flow = workloads::run_scenario(entry.path());
    const auto chunk = workloads::run_scenario(entry.path(), {.set = {"fidelity=chunk"}});
    // How near the fidelities are for single collectives is fidelity_test.cpp's; this is about the scenario around
    // them.
    CHECK(static_cast<double>(chunk.end.ps()) == Approx(static_cast<double>(flow.end.ps())).epsilon(0.05));
    for (const auto* r : {&flow, &chunk}) {
      CHECK(r->account.total() == r->end);
      for (const auto& k : r->by_rank) {
        CHECK(k.compute + k.exposed + k.wait + k.launch + k.idle == r->end);
        CHECK(k.exposed <= k.communication);
      }
      for (const auto& l : r->links) CHECK(l.utilisation <= 1 + 1e-9);
    }
  }
  CHECK(examples >= 3);
}

TEST_CASE("nothing to do takes no time") {
  const auto r = run("topology: dgx-h100\nworkload: {programs: [{do: []}]}\n");
  CHECK(r.end == Time{});
  CHECK(r.by_rank.size() == 8);
}

TEST_CASE("a timeline has a lane for each stream of each rank") {
  sim::Timeline timeline;
  workloads::ScenarioOptions options;
  options.timeline = &timeline;
  run("topology: dgx-h100\nranks: 2\nlaunch_floor: 0 us\nworkload:\n  programs:\n"
      "    - {ranks: 0, do: [{compute: 7 us, name: forward}, {all_reduce: 1 MiB, stream: comm, after: forward}]}\n"
      "    - {ranks: 1, do: [{all_reduce: 1 MiB, stream: comm}]}\n",
      options);
  std::ostringstream out;
  timeline.write(out);
  const auto json = out.str();
  CHECK(json.find(R"("name":"rank 0 main")") != std::string::npos);
  CHECK(json.find(R"("name":"rank 1 comm")") != std::string::npos);
  CHECK(json.find(R"("ts":0.000000,"dur":7.000000,"name":"forward")") != std::string::npos);
  CHECK(json.find(R"("ts":0.000000,"dur":7.000000,"name":"wait for peers")") != std::string::npos);
  CHECK(json.find("all_reduce 1048576 B") != std::string::npos);
}

}  // namespace
