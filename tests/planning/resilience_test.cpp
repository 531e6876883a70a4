// Every distinct single fault: classes that are counted by hand, one member that stands for all, pairs, bad input.
#include "linkcast/planning/resilience.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

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
