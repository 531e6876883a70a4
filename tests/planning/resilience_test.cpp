// Every distinct single fault: classes that are counted by hand, one member that stands for all, pairs, bad input.
#include "linkcast/planning/resilience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "catch.hpp"
#include "faults_support.hpp"

using namespace linkcast;
using namespace linkcast::planning;

namespace {

using Count = std::vector<std::int64_t>;

/// Of dead parts: how many each class has, by kind.
std::map<ElementKind, Count> classes(const Resilience& r) {
  std::map<ElementKind, Count> out;
  for (const auto& row : r.rows)
    if (row.fault == FaultKind::fail) out[row.kind].push_back(row.count);
  for (auto& [kind, counts] : out) std::ranges::sort(counts);
  return out;
}

Resilience studied(const std::string& text, ResilienceStudy study = {}, int threads = 2) {
  ResilienceOptions options;
  options.threads = threads;
  return study_resilience(scenario_of(text + "reliability: {trials: 20}\n"), study, options);
}

ResilienceStudy only(std::vector<ElementKind> kinds, bool degraded = false, int pairs = 0) {
  ResilienceStudy s;
  s.kinds = std::move(kinds);
  s.degraded = degraded;
  s.pairs = pairs;
  return s;
}

}  // namespace

TEST_CASE("parts of a fabric that are alike are one class: counted by hand", "[resilience]") {
  // Four machines: 32 GPUs, 32 NICs. A GPU has 4, 5, 5 and 4 links to the four NVSwitches: two kinds of two in each
  // machine, and two kinds of the 32 x 4 bundles. Two units of eight leaves with two machines each; two uplinks, one to
  // each of two spines: 16 leaves, 32 cables.
  const auto c = classes(studied(two_units + all_reduce));
  CHECK(c.at(ElementKind::gpu) == Count{32});
  CHECK(c.at(ElementKind::node) == Count{4});
  CHECK(c.at(ElementKind::nic) == Count{32});
  CHECK(c.at(ElementKind::nvswitch) == Count{8, 8});
  CHECK(c.at(ElementKind::nvlink) == Count{64, 64});
  CHECK(c.at(ElementKind::leaf) == Count{16});
  CHECK(c.at(ElementKind::spine) == Count{2});
  CHECK(c.at(ElementKind::leaf_spine_cable) == Count{32});
}

TEST_CASE("a job that fills half a unit splits the classes that it touches", "[resilience]") {
  // On three of four machines: the leaves of unit 0 have two of them, those of unit 1 one. What is in the machine
  // beside the job does not count.
  const auto c = classes(
      studied(two_units + "gpus: 24\n" + all_reduce, only({ElementKind::node, ElementKind::gpu, ElementKind::leaf})));
  CHECK(c.at(ElementKind::node) == Count{1, 2});
  CHECK(c.at(ElementKind::gpu) == Count{8, 16});
  CHECK(c.at(ElementKind::leaf) == Count{8, 8});
}

TEST_CASE("stages of a pipeline are not alike", "[resilience]") {
  const auto c = classes(studied(two_units + step, only({ElementKind::gpu, ElementKind::leaf})));
  CHECK(c.at(ElementKind::gpu) == Count{16, 16});
  CHECK(c.at(ElementKind::leaf) == Count{8, 8});
}

TEST_CASE("the member that is simulated stands for every other one", "[resilience]") {
  struct Case {
    ElementKind kind;
    std::vector<const char*> members;
  };
  const auto text = two_units + all_reduce;
  for (const auto& [kind, members] :
       {Case{ElementKind::nic, {"node[0].nic[5]", "node[2].nic[0]", "node[3].nic[7]"}},
        Case{ElementKind::leaf, {"leaf[1]", "leaf[9]", "leaf[15]"}}, Case{ElementKind::spine, {"spine[1]"}}}) {
    const auto rows = studied(text, only({kind})).rows;
    REQUIRE(rows.size() == 1);
    for (const auto* member : members) {
      CAPTURE(member);
      CHECK(with_faults(text, std::string{"{fail: \""} + member + "\"}").time == rows[0].time);
    }
  }
}

TEST_CASE("the worst comes first, and slowdown is the time over that without faults", "[resilience]") {
  const auto r = studied(two_units + step);
  CHECK(r.rows.front().outage);
  double last = 1e9;
  bool outages = true;
  for (const auto& row : r.rows) {
    CAPTURE(row.element, row.fault_text);
    CHECK((outages || !row.outage));
    outages = row.outage;
    if (row.outage) {
      CHECK_FALSE(row.outage_reason.empty());
      continue;
    }
    CHECK(row.slowdown == Approx(static_cast<double>(row.time.ps()) / static_cast<double>(r.baseline.time.ps())));
    CHECK(row.slowdown <= last);
    // Nothing that fails makes a job faster, but what is late may fall beside other computing than before (Graham's
    // anomalies of list schedules).
    CHECK(row.slowdown >= 1 - 5e-3);
    last = row.slowdown;
  }
  CHECK(std::ranges::any_of(r.rows, [](const auto& x) { return x.fault == FaultKind::slow && x.slowdown > 1.1; }));
  REQUIRE(r.goodput);
  CHECK(r.goodput->share.mean > 0);
  CHECK(r.goodput->share.mean < 1);
}

TEST_CASE("the answer does not depend on the number of threads", "[resilience]") {
  const auto study = only({ElementKind::nic, ElementKind::leaf, ElementKind::leaf_spine_cable}, true, 10);
  CHECK(to_json(studied(two_units + all_reduce, study, 1)) == to_json(studied(two_units + all_reduce, study, 3)));
}

TEST_CASE("pairs are random, seeded, and an outage of one part is one of the pair", "[resilience]") {
  auto study = only({ElementKind::gpu}, false, 5);
  const auto fatal = studied(two_units + all_reduce, study);
  REQUIRE(fatal.pairs);
  CHECK(fatal.pairs->sampled == 5);
  CHECK(fatal.pairs->outages == 5);
  CHECK(fatal.pairs->worst.empty());  // nothing that one part alone would not have done
  study = only({ElementKind::nic, ElementKind::leaf}, false, 8);
  const auto some = studied(two_units + all_reduce, study);
  const auto single = std::ranges::max(some.rows, {}, &FaultRow::slowdown).slowdown;
  CHECK(some.pairs->most >= single - 1e-9);  // two are at least as bad as the worse one, and leaves take NICs
  CHECK(some.pairs->median <= some.pairs->p95);
  CHECK(some.pairs->p95 <= some.pairs->most);
  study.seed = 2;
  const auto other = studied(two_units + all_reduce, study);
  CHECK(other.pairs->worst.front().first + other.pairs->worst.front().second !=
        some.pairs->worst.front().first + some.pairs->worst.front().second);
}

TEST_CASE("JSON has the rows, and nothing where there is nothing", "[resilience]") {
  const auto r = studied(two_units + all_reduce, only({ElementKind::gpu, ElementKind::nic}));
  const auto j = nlohmann::json::parse(to_json(r));
  CHECK(j["schema"] == "linkcast.resilience/1");
  CHECK(j["baseline"]["time_us"].get<double>() == Approx(r.baseline.time.us()));
  REQUIRE(j["elements"].size() == 2);
  CHECK(j["elements"][0]["kind"] == "gpu");
  CHECK(j["elements"][0]["outage"] == true);
  CHECK(j["elements"][0]["time_us"].is_null());
  CHECK(j["elements"][1]["count"] == 32);
  CHECK(j["elements"][1]["slowdown"].get<double>() > 1);
  CHECK(j["pairs"].is_null());
  const auto csv = to_csv(r);
  CHECK(std::ranges::count(csv, '\n') == 3);
}

TEST_CASE("faults that the scenario has already are in the baseline", "[resilience]") {
  const auto plain = studied(two_units + all_reduce, only({ElementKind::spine}));
  const auto broken = studied(two_units + all_reduce + "faults: [{degrade: \"node[0].nic[0]\", to: 0.5}]\n",
                              only({ElementKind::spine}));
  CHECK(broken.baseline.time > plain.baseline.time);
  CHECK_THROWS_WITH(studied(two_units + all_reduce + "faults: [{fail: \"node[0]\"}]\n"),
                    ContainsText("the job cannot run as the scenario has it"));
}

namespace {

std::int64_t parts_in(const Resilience& r) {
  std::int64_t sum = 0;
  for (const auto& row : r.rows)
    if (row.fault == FaultKind::fail) sum += row.count;
  return sum;
}

double worst_slowdown(const Resilience& r) { return std::ranges::max(r.rows, {}, &FaultRow::slowdown).slowdown; }

}  // namespace

TEST_CASE("what is broken already is not broken again, and makes its neighbours a class of their own", "[resilience]") {
  // Two machines, one dead NIC: as a fault or as an override it is the same machine, of which 15 of 16 NICs are left.
  const std::string text =
      "topology: dgx-h100\nnodes: 2\nnetwork: {type: rail_optimised, switch: qm9700, nodes_per_unit: 2}\n"
      "env: {NCCL_ALGO: Ring}\n" +
      all_reduce;
  const auto fault = studied(text + "faults: [{fail: \"node[0].nic[0]\"}]\n", only({ElementKind::nic}));
  const auto down = studied(text + "overrides: [{nic: \"node[0].nic[0]\", state: down}]\n", only({ElementKind::nic}));
  CHECK(parts_in(fault) == 15);
  CHECK(parts_in(down) == 15);
  CHECK(std::ranges::find(fault.rows, "node[0].nic[0]", &FaultRow::element) == fault.rows.end());
  CHECK(fault.baseline.time == down.baseline.time);
  CHECK(classes(fault) == classes(down));
  CHECK(worst_slowdown(fault) == worst_slowdown(down));
}

TEST_CASE("a share is one of what a degraded link still has", "[resilience]") {
  // A NIC at half of its rate that halves again is at a quarter: 4 / 2 = 2 times as slow where it bounds everything.
  const auto r = studied(
      two_units + "env: {NCCL_ALGO: Ring}\n" + all_reduce + "faults: [{degrade: \"node[0].nic[0]\", to: 0.5}]\n",
      only({ElementKind::nic}, true));
  const auto quarter =
      with_faults(two_units + "env: {NCCL_ALGO: Ring}\n" + all_reduce, "{degrade: \"node[0].nic[0]\", to: 0.25}");
  const auto row = std::ranges::find_if(
      r.rows, [](const FaultRow& x) { return x.element == "node[0].nic[0]" && x.fault == FaultKind::degrade; });
  REQUIRE(row != r.rows.end());
  CHECK(row->count == 1);
  CHECK(row->time == quarter.time);
}

TEST_CASE("a GPU that is slow already is not like the others", "[resilience]") {
  const auto c = classes(
      studied(two_units + step + "faults: [{slow: \"node[0].gpu[3]\", factor: 1.2}]\n", only({ElementKind::gpu})));
  // Its stage is machines 0 and 1. In its own machine: itself, 3 at its CPU, 4 at the other; in machine 1: that on its
  // rail, 3 at that one's CPU, 4 at the other. The other stage has 16.
  CHECK(c.at(ElementKind::gpu) == Count{1, 1, 3, 3, 4, 4, 16});
}

TEST_CASE("the row of a class is not far from its worst member, wherever that lies in NCCL's trees", "[resilience]") {
  // NICs at half of their rate: in a tree the first and the last node send less than those between, and with
  // five or ten nodes the channels load NIC 0 of each more than the others.
  const std::string ideal = "{type: ideal}", rails = "{type: rail_optimised, switch: qm9700, nodes_per_unit: 10}";
  struct Case {
    int nodes;
    std::string network;
    const char* algorithm;
  };
  for (const auto& [nodes, network, algorithm] :
       {Case{5, ideal, "Tree"}, Case{5, ideal, "NVLSTree"}, Case{5, rails, "Tree"}, Case{5, rails, "NVLSTree"},
        Case{9, ideal, "NVLSTree"}, Case{10, rails, "Tree"}}) {
    CAPTURE(nodes, network, algorithm);
    const auto text = fmt::format("topology: dgx-h100\nnodes: {}\nnetwork: {}\nenv: {{NCCL_ALGO: {}}}\n{}", nodes,
                                  network, algorithm, all_reduce);
    auto study = only({ElementKind::nic}, true);
    const auto r = studied(text, study);
    const auto row = std::ranges::find(r.rows, FaultKind::degrade, &FaultRow::fault);
    REQUIRE(row != r.rows.end());
    REQUIRE(row->count == 8 * nodes);
    Evaluator evaluator;
    const auto s = scenario_of(text);
    const Elements elements{evaluator.cluster(s)};
    sim::Time worst, least = sim::Time::max();
    for (const auto& e : elements.all()) {
      if (e.kind != ElementKind::nic) continue;
      Fault f;
      f.kind = FaultKind::degrade;
      f.share = study.width;
      f.element = e;
      const auto time = evaluate(evaluator, apply(s, elements, {&f, 1})).time;
      worst = std::max(worst, time);
      least = std::min(least, time);
    }
    CHECK(least.us() < 0.8 * worst.us());  // members differ
    CHECK(row->time.us() >= 0.98 * worst.us());
    CHECK(row->time <= worst);
  }
}

TEST_CASE("pairs are distinct, and all of them where there are no more", "[resilience]") {
  const auto distinct = [](const Resilience& r) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& w : r.pairs->worst) seen.insert(std::minmax(w.first, w.second));
    return seen.size() == r.pairs->worst.size();
  };
  // A job on two of four machines: one pair of nodes.
  CHECK(studied(two_units + all_reduce + "gpus: 16\n", only({ElementKind::node}, false, 20)).pairs->sampled == 1);
  CHECK(studied(two_units + all_reduce + "gpus: 8\n", only({ElementKind::node}, false, 20)).pairs->sampled == 0);
  const auto leaves = studied(two_units + all_reduce, only({ElementKind::spine, ElementKind::leaf}, false, 1000));
  CHECK(leaves.pairs->sampled == 153);  // 18 switches: 18 x 17 / 2
  const auto most = studied(two_units + all_reduce, only({ElementKind::node}, false, 5));
  CHECK(most.pairs->sampled == 5);  // of 4 x 3 / 2 = 6
  CHECK(distinct(studied(two_units + all_reduce, only({ElementKind::spine, ElementKind::leaf}, false, 100))));
}

TEST_CASE("goals that a study of faults can judge are judged", "[resilience]") {
  const auto r = studied(
      two_units + all_reduce +
          "goals: [\"step_time <= 1 s\", \"busbw(all_reduce, 1 GiB) >= 1 GB/s\",\n"
          "  \"algbw(all_reduce, 1 GiB) <= 1 GB/s\", \"slowdown <= 100\", \"goodput >= 1 %\", \"capex <= 1 B USD\",\n"
          "  \"power <= 1 GW\", \"network_share <= 99 %\", \"cost_per_gpu_hour <= 1000 USD\", \"mfu >= 1 %\"]\n",
      only({ElementKind::nic}));
  REQUIRE(r.goals.size() == 10);
  for (const auto& g : r.goals) {
    CAPTURE(g.goal.text, verdict_text(g));
    CHECK(g.known == (g.goal.metric != Metric::mfu));
    CHECK(g.met == (g.known && g.goal.metric != Metric::algbw));
  }
}

TEST_CASE("keys of a study that are '~' are as if not said", "[resilience]") {
  ResilienceOptions options;
  const auto plain = study_resilience(scenario_of(two_units + all_reduce), only({ElementKind::spine}), options);
  const auto null = study_resilience(
      scenario_of(two_units + all_reduce + "rates: ~\ngoals: ~\nreliability: ~\nprices: ~\nfaults: ~\n"),
      only({ElementKind::spine}), options);
  CHECK(to_json(plain) == to_json(null));
}

TEST_CASE("a wrong key of 'resilience' is refused with what there is", "[resilience]") {
  const auto said = [](const std::string& text) -> std::string {
    const auto s = scenario_of("resilience: " + text + "\n");
    workloads::trace::Problems problems;
    ResilienceStudy::read(s.root.get("resilience"), problems);
    try {
      problems.throw_if_any();
    } catch (const sim::InputError& e) {
      return e.what();
    }
    return {};
  };

  CHECK_THAT(said("{kinds: [gpu, leafs]}"), ContainsText("there is no kind of part 'leafs'") && ContainsText("leaf"));
  CHECK_THAT(said("{kinds: []}"), ContainsText("'kinds' is empty"));
  CHECK_THAT(said("{pairs: -1}"), ContainsText("it must be from 0"));
  CHECK_THAT(said("{width: 2}"), ContainsText("between 0 and 1"));
  CHECK_THAT(said("{ber: much, slow: 0.5}"), ContainsText("'ber'") && ContainsText("'slow'"));
  CHECK_THAT(said("{pair: 3}"), ContainsText("did you mean 'pairs'?"));
  CHECK(said("{kinds: leaf, degraded: false, pairs: 10, seed: 3, width: 0.25, ber: 1e-7, slow: 2}").empty());
}

TEST_CASE("the blast radius of a part is the jobs that are slower or gone without it", "[resilience]") {
  // Job a is on the two machines of unit 0, b on one of unit 1; nobody is on node[3].
  const std::string jobs =
      "jobs:\n"
      "  - {name: a, hosts: \"node[0-1]\", workload: {collective: {op: all_reduce, size: 256 MiB}}}\n"
      "  - {name: b, hosts: \"node[2]\", workload: {collective: {op: all_reduce, size: 64 MiB}}}\n";
  const auto r = studied(two_units + jobs, only({ElementKind::node, ElementKind::nic, ElementKind::leaf}));
  REQUIRE(r.jobs.size() == 2);
  const auto row = [&](const std::string& element) -> const FaultRow& {
    const auto found = std::ranges::find(r.rows, element, &FaultRow::element);
    REQUIRE(found != r.rows.end());
    return *found;
  };
  CHECK(row("node[0]").jobs == std::vector<std::string>{"a"});
  CHECK(row("node[0]").count == 2);
  CHECK(row("node[2]").jobs == std::vector<std::string>{"b"});
  CHECK(row("node[2]").count == 1);
  CHECK(std::ranges::find(r.rows, "node[3]", &FaultRow::element) == r.rows.end());
  CHECK(row("leaf[0]").jobs == std::vector<std::string>{"a"});
  // A machine alone sends nothing over its NICs.
  CHECK(row("node[2].nic[0]").jobs.empty());
  CHECK(row("leaf[8]").jobs.empty());
}

TEST_CASE("one machine without a network has no cables to be slow", "[planning][resilience]") {
  const auto scenario = workloads::open_scenario_text(
      "topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 64 MiB}}\n", "one.yaml");
  const auto r = study_resilience(scenario, ResilienceStudy{}, {});
  CHECK_FALSE(r.rows.empty());
  for (const auto& row : r.rows)
    if (row.kind == ElementKind::nic) CHECK(row.fault == FaultKind::fail);
}
