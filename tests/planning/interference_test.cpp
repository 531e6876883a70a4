// Jobs that share a network: what nobody feels, what halves, what a placement changes, and files that are wrong.
#include "linkcast/planning/interference.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/slurm_export.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::sim::literals;
using planning::Interference;
using planning::JobSet;

// Leaves of two dgx-h100: 16 NICs below, 4 cables upwards.
const std::string machine = R"(
topology: dgx-h100
nodes: 8
network: {fabric: ib, type: leaf_spine, switch: qm9700, nodes_per_leaf: 2, oversubscription: 4}
)";
const std::string alltoall = "workload: {collective: {op: alltoall, size: 256 MiB}}";

JobSet jobs(const std::string& list, const std::string& head = machine) {
  return planning::read_jobs(workloads::open_scenario_text(head + "jobs:\n" + list, "jobs.yaml"));
}
Interference run(const std::string& list, bool placements = false, const std::string& head = machine) {
  planning::InterferenceOptions options;
  options.placements = placements;
  options.seeds = 3;
  return planning::interference(jobs(list, head), options);
}
std::string refusal(const std::string& list, const std::string& head = machine) {
  try {
    jobs(list, head);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return {};
}
bool says(const std::string& text, const std::string& part) {
  INFO(text);
  INFO(part);
  return text.find(part) != std::string::npos;
}

TEST_CASE("jobs on different leaves do not disturb each other, to the bit") {
  const auto set = jobs("  - {name: a, hosts: 'node[0-3]', " + alltoall + "}\n  - {name: b, hosts: 'node[4-7]', " +
                        alltoall + "}\n");
  planning::InterferenceOptions options;
  options.placements = false;
  const auto r = planning::interference(set, options);
  REQUIRE(r.jobs.size() == 2);
  for (const auto& j : r.jobs) {
    CHECK(j.together == j.alone);
    CHECK(j.slowdown == 1.0);
    CHECK(j.worst_slowdown == 1.0);
    CHECK(j.bound_by == "itself");
  }
  CHECK(r.matrix == std::vector<std::vector<double>>{{1, 1}, {1, 1}});

  // Alone is what `linkcast collective` says of these nodes.
  const std::vector<int> nodes{0, 1, 2, 3};
  const workloads::CollectiveModel model{set.cluster.job(nodes), set.library};
  CHECK(r.jobs[0].alone == model.run(*set.jobs[0].call).time);
}

TEST_CASE("two equal jobs below the same leaves get half of the uplinks each") {
  const auto r =
      run("  - {name: a, hosts: 'node[0,2]', " + alltoall + "}\n  - {name: b, hosts: 'node[1,3]', " + alltoall + "}\n");
  // Alone a node's 8 NICs have the leaf's 4 cables, together 16 NICs have them: its bytes take twice as long.
  for (const auto& j : r.jobs) {
    REQUIRE(j.phases.size() == 1);
    CHECK(j.phases[0].name == "alltoall");
    CHECK(j.phases[0].worst_stretch == Approx(2).epsilon(1e-6));
    // Only while bytes flow: the latencies of a call stay. Its bytes flow for occupancy x alone; when the other is
    // there for a share p of the time, they take 1 / (1 - p / 2) times as long.
    CHECK(j.phases[0].occupancy > 0.9);
    CHECK(j.phases[0].occupancy < 1);
    CHECK(j.worst.us() == Approx(j.alone.us() * (1 + j.phases[0].occupancy)).epsilon(1e-3));
    const double busy = j.phases[0].occupancy * j.phases[0].stretch / j.slowdown;
    CHECK(j.phases[0].stretch == Approx(1 / (1 - busy / 2)).epsilon(2e-3));
    CHECK(j.bound_by.find("leaf[") != std::string::npos);
    CHECK(j.bound_by.find("spine[") != std::string::npos);
  }
  CHECK(r.matrix[0][1] == r.matrix[1][0]);
  CHECK(r.jobs[0].together == r.jobs[1].together);
}

TEST_CASE("the order in which jobs are written changes nothing") {
  const std::string a = "  - {name: a, hosts: 'node[0,2,4]', " + alltoall + "}\n";
  const std::string b = "  - {name: b, hosts: 'node[1,3]', workload: {collective: {op: all_gather, size: 1 GiB}}}\n";
  const std::string c = "  - {name: c, hosts: 'node[5-6]', " + alltoall + "}\n";
  const auto abc = run(a + b + c), cab = run(c + a + b);
  const std::vector<std::size_t> at{1, 2, 0};  // of a, b, c in the second
  for (std::size_t i = 0; i < 3; ++i) {
    const auto &x = abc.jobs[i], &y = cab.jobs[at[i]];
    CHECK(x.name == y.name);
    CHECK(x.alone == y.alone);
    CHECK(x.together == y.together);
    CHECK(x.worst == y.worst);
    CHECK(x.bound_by == y.bound_by);
    CHECK(x.slowdown >= 1);
    CHECK(x.worst >= x.together);
    for (std::size_t k = 0; k < 3; ++k) CHECK(abc.matrix[i][k] == cab.matrix[at[i]][at[k]]);
  }
}

TEST_CASE("rings are never faster in fragments where uplinks are scarce") {
  const std::string ring = "workload: {collective: {op: all_gather, size: 256 MiB}}";
  const auto r =
      run("  - {name: a, nodes: 4, placement: fragmented, " + ring + "}\n  - {name: b, nodes: 4, " + ring + "}\n", true,
          machine + "env: {NCCL_ALGO: Ring}\n");
  const auto row = [&](const std::string& job, const std::string& placement) {
    const auto found =
        std::ranges::find_if(r.placements, [&](const auto& p) { return p.job == job && p.placement == placement; });
    REQUIRE(found != r.placements.end());
    return *found;
  };
  for (const std::string job : {"a", "b"}) {
    const auto packed = row(job, "packed"), fragmented = row(job, "fragmented");
    CHECK(fragmented.seeds == 3);
    CHECK(fragmented.least <= fragmented.together);
    CHECK(fragmented.together <= fragmented.most);
    CHECK(fragmented.least >= packed.together);
    CHECK(row(job, "suggested").together <= row(job, "given").together);
    CHECK(row(job, "given").slowdown == r.jobs[job == "a" ? 0 : 1].slowdown);
  }
  // Fragments of both lie below some leaf: its cables carry two rings. Packed they have two leaves each.
  CHECK(row("a", "fragmented").most > row("a", "packed").together);
  CHECK(row("a", "packed").together == row("a", "packed").alone);
  REQUIRE(r.suggested.size() == 2);
  CHECK(r.suggested[0].time < r.suggested[0].given);
}

TEST_CASE("a step feels what is not hidden behind computing") {
  const std::string step = R"(
    workload:
      step:
        model: )" LINKCAST_SOURCE_DIR R"(/tests/data/models/llama3.1-8b.yaml
        plan: {gpus: 16, sharding: fsdp, micro_batch: 1, global_batch: 32, sequence: 4096, recompute: full}
)";
  const auto r = run("  - name: step\n    hosts: 'node[0,2]'" + step + "  - {name: noise, hosts: 'node[1,3]', " +
                     alltoall + "}\n");
  const auto& s = r.jobs[0];
  CHECK(says(s.workload, "llama3.1-8b"));
  REQUIRE_FALSE(s.phases.empty());
  double sends = 0;
  for (const auto& p : s.phases) {
    sends += p.occupancy;
    CHECK(p.occupancy > 0);
    CHECK(p.stretch >= 1);
    CHECK(p.worst_stretch >= p.stretch);
  }
  CHECK(sends <= 1);
  CHECK(s.slowdown > 1);
  // Only its sending is stretched, and that never by more than the worst.
  CHECK(s.worst_slowdown <= 1 + sends * (s.phases[0].worst_stretch - 1) * 1.2);
  CHECK(r.jobs[1].slowdown > 1);
  // The step sends part of the time only: the noise loses less to it than to noise.
  const auto noise =
      run("  - {name: a, hosts: 'node[0,2]', " + alltoall + "}\n  - {name: b, hosts: 'node[1,3]', " + alltoall + "}\n");
  CHECK(r.jobs[1].slowdown < noise.jobs[1].slowdown);
}

TEST_CASE("jobs without hosts get free nodes by their rule, in order") {
  const auto set = jobs("  - {name: a, nodes: 2, " + alltoall + "}\n  - {name: fixed, hosts: 'node[1,6]', " + alltoall +
                        "}\n  - {name: b, nodes: 2, placement: strided, " + alltoall + "}\n");
  CHECK(set.jobs[0].nodes == std::vector<int>{0, 2});  // 1 is taken
  CHECK(set.jobs[1].nodes == std::vector<int>{1, 6});
  CHECK(set.jobs[2].nodes == std::vector<int>{3, 5});  // every second of 3, 4, 5, 7
  CHECK(topologies::host_list(set.cluster, set.jobs[2].nodes) == "node[3,5]");
  CHECK(topologies::host_list(set.cluster, std::vector<int>{0, 1, 2, 7}) == "node[0-2,7]");
  CHECK(topologies::host_list(set.cluster, std::vector<int>{4}) == "node[4]");
  CHECK(topologies::placed(set.cluster, topologies::host_list(set.cluster, std::vector<int>{4})) ==
        std::vector<int>{4});
}

TEST_CASE("compact jobs fill leaves, the largest first, the smallest gap that fits") {
  const auto cluster = jobs("  - {name: a, nodes: 1, " + alltoall + "}\n").cluster;
  const auto parts = planning::network_parts(cluster);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0] == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  // 3 nodes: a leaf and half of one; 1 node: the other half, not half of an empty leaf; 2 nodes: a leaf.
  const auto nodes = planning::compact_jobs(cluster, std::vector<int>{1, 3, 2});
  CHECK(nodes[1] == std::vector<int>{0, 1, 2});
  CHECK(nodes[2] == std::vector<int>{4, 5});
  CHECK(nodes[0] == std::vector<int>{3});
  // Spread: one below each leaf that has most left.
  CHECK(planning::compact_jobs(cluster, std::vector<int>{4}, 0)[0] == std::vector<int>{0, 2, 4, 6});
}

TEST_CASE("a cluster of NVLink domains is placed by whole domains") {
  const std::string nvl72 = R"(
topology: gb200-nvl72
nodes: 2
)";
  const auto r =
      run("  - {name: a, nodes: 1, " + alltoall + "}\n  - {name: b, nodes: 1, " + alltoall + "}\n", false, nvl72);
  CHECK(r.jobs[0].phases.empty());  // nothing leaves its domain
  CHECK(r.jobs[0].slowdown == 1.0);
  CHECK(std::ranges::any_of(r.notes, [](const auto& n) { return n.find("NVLink domain of 72 GPUs") != n.npos; }));
}

TEST_CASE("the answer as JSON and as text") {
  const auto r =
      run("  - {name: a, hosts: 'node[0,2]', " + alltoall + "}\n  - {name: b, hosts: 'node[1,3]', " + alltoall + "}\n",
          true);
  const auto json = nlohmann::json::parse(planning::interference_json(r));
  CHECK(json["schema"] == "linkcast.interference/1");
  CHECK(json["jobs"][0]["name"] == "a");
  CHECK(json["jobs"][0]["hosts"] == "node[0,2]");
  CHECK(json["jobs"][0]["slowdown"].get<double>() ==
        Approx(json["jobs"][0]["together_us"].get<double>() / json["jobs"][0]["alone_us"].get<double>()));
  CHECK(json["matrix"].size() == 2);
  CHECK(json["matrix"][0][0] == 1.0);
  CHECK(json["matrix"][0][1] == json["jobs"][0]["slowdown"]);  // there are only these two
  CHECK(json["placements"].size() == 2 * 5);                   // given, packed, strided, fragmented, suggested
  CHECK(json["suggested"][1]["job"] == "b");
  CHECK_FALSE(json["notes"].empty());
  const auto text = planning::interference_text(r);
  CHECK(says(text, "slowdown of the row by the column"));
  CHECK(says(text, "suggested nodes"));
  CHECK(says(text, "note: rates are max-min fair shares"));
  CHECK(planning::interference_text(r) ==
        planning::interference_text(run("  - {name: a, hosts: 'node[0,2]', " + alltoall +
                                            "}\n  - {name: b, hosts: 'node[1,3]', " + alltoall + "}\n",
                                        true)));
}

TEST_CASE("what is wrong with jobs is said at its place, all at once") {
  CHECK(says(refusal("  - {nodes: 2, " + alltoall + "}\n"), "name"));
  CHECK(says(refusal("  - {name: a, " + alltoall + "}\n"), "job 'a' says neither 'nodes' nor 'hosts'"));
  CHECK(says(refusal("  - {name: a, nodes: 2}\n"), "job 'a' has no 'workload'"));
  CHECK(says(refusal("  - {name: a, nodes: 2, hosts: 'node[0-1]', " + alltoall + "}\n"), "'hosts' names the nodes"));
  const auto several = refusal("  - {name: a, nodes: 2, placement: paked, colour: red, " + alltoall +
                               "}\n  - {name: a, nodes: 0, " + alltoall + "}\n");
  CHECK(says(several, "jobs.yaml:6:36: error: 'paked' is no placement"));
  CHECK(says(several, "did you mean 'packed'?"));
  CHECK(says(several, "colour"));
  CHECK(says(several, "a second job 'a'"));
  CHECK(says(several, "nodes"));

  const auto twice = refusal("  - {name: a, hosts: 'node[0-3]', " + alltoall + "}\n  - {name: b, hosts: 'node[3-4]', " +
                             alltoall + "}\n");
  CHECK(says(twice, "jobs.yaml:7:"));
  CHECK(says(twice, "node[3] belongs to job 'a' already"));
  CHECK(says(refusal("  - {name: a, hosts: 'node[0-9]', " + alltoall + "}\n"), "no node"));
  CHECK(says(refusal("  - {name: a, nodes: 5, " + alltoall + "}\n  - {name: b, nodes: 4, " + alltoall + "}\n"),
             "job 'b' wants 4 nodes, 3 are free"));
  CHECK(says(refusal("  []\n"), "'jobs' must be a list"));
  CHECK(says(refusal("  - {name: a, nodes: 2, " + alltoall + "}\n", machine + "fidelity: chunk\n"),
             "jobs share a network at fidelity flow only"));

  const auto workloads = refusal(
      "  - {name: a, nodes: 1, workload: {collective: {op: altoall, size: 1 MiB}}}\n"
      "  - {name: b, nodes: 1, workload: {collective: {op: alltoall, size: 1}}}\n"
      "  - {name: c, nodes: 1, workload: {programs: []}}\n");
  CHECK(says(workloads, "'altoall' is no collective"));
  CHECK(says(workloads, "jobs.yaml:7:"));
  CHECK(says(workloads, "job 'c' has no workload that can share a network"));
  const std::string model = LINKCAST_SOURCE_DIR "/tests/data/models/llama3.1-8b.yaml";
  CHECK(says(refusal("  - {name: a, nodes: 1, workload: {step: {model: " + model +
                     ", plan: {gpus: 16, sharding: fsdp, global_batch: 16, sequence: 4096}}}}\n"),
             "job 'a' needs 16 GPUs, its 1 nodes have 8"));
  CHECK_THROWS_AS(planning::read_jobs(workloads::open_scenario_text(machine, "none.yaml")), sim::InputError);
}

TEST_CASE("a job without a workload takes the scenario's") {
  const auto set = jobs("  - {name: a, nodes: 2}\n  - {name: b, nodes: 2}\n", machine + alltoall + "\n");
  CHECK(set.jobs[0].call->op == models::nccl::Op::alltoall);
  CHECK(set.jobs[1].call->bytes == 256_MiB);
  CHECK(set.jobs[0].workload == "alltoall 256 MiB");
}

TEST_CASE("goals of jobs are about the one that loses most") {
  const auto r =
      run("  - {name: a, hosts: 'node[0,2]', " + alltoall + "}\n  - {name: b, hosts: 'node[1,3]', " + alltoall + "}\n",
          false, machine + "goals: ['slowdown <= 1.1', 'slowdown <= 2.5', 'step_time <= 1 s']\n");
  REQUIRE(r.goals.size() == 3);
  CHECK(r.goals[0].value == std::max(r.jobs[0].slowdown, r.jobs[1].slowdown));
  CHECK_FALSE(r.goals[0].met);
  CHECK(r.goals[1].met);
  CHECK_FALSE(r.goals[2].known);
  CHECK(says(planning::interference_text(r), "- slowdown <= 1.1: missed with"));
  CHECK(says(refusal("  - {name: a, nodes: 1, " + alltoall + "}\n", machine + "goals: ['slowness <= 1.1']\n"),
             "slowness"));
}

TEST_CASE("a study that is stopped keeps what it has") {
  std::stop_source stop;
  stop.request_stop();
  planning::InterferenceOptions options;
  options.stop = stop.get_token();
  const auto r = planning::interference(
      jobs("  - {name: a, nodes: 2, " + alltoall + "}\n  - {name: b, nodes: 2, " + alltoall + "}\n"), options);
  CHECK(r.interrupted);
  CHECK(r.jobs.size() == 2);
  CHECK(r.suggested.empty());
}

}  // namespace
