// Faults of a scenario: names, edits, what they cost, and what is refused.
#include "linkcast/planning/faults.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "catch.hpp"
#include "faults_support.hpp"

using namespace linkcast;
using namespace linkcast::planning;

namespace {

double ratio(const Evaluation& a, const Evaluation& b) {
  return static_cast<double>(a.time.ps()) / static_cast<double>(b.time.ps());
}

}  // namespace

TEST_CASE("parts of a cluster are found by the names that messages give them", "[faults]") {
  Evaluator evaluator;
  const Elements elements{evaluator.cluster(scenario_of(two_units + all_reduce))};
  const auto kind = [&](const std::string& name) { return elements.find(name).value().kind; };
  CHECK(kind("node[3]") == ElementKind::node);
  CHECK(kind("node[3].gpu[7]") == ElementKind::gpu);
  CHECK(kind("node[0].nic[2]") == ElementKind::nic);
  CHECK(kind("node[0].nvswitch[1]") == ElementKind::nvswitch);
  CHECK(kind("leaf[15]") == ElementKind::leaf);
  CHECK(kind("spine[1]") == ElementKind::spine);
  // From either end, and a NIC's cable is the NIC.
  CHECK(elements.find("spine[1]-leaf[4]")->name == "leaf[4]-spine[1]");
  CHECK(elements.find("node[0].nic[0]-leaf[0]")->name == "node[0].nic[0]");
  CHECK(elements.find("node[1].nvswitch[0]-gpu[2]")->name == elements.find("node[1].gpu[2]-nvswitch[0]")->name);
  CHECK_FALSE(elements.find("leaf[0]-leaf[1]"));
  std::string help;
  CHECK_FALSE(elements.find("node[4]", &help));
  CHECK_FALSE(elements.find("nic[3]", &help));
  CHECK(help == "say of which node: 'node[0].nic[3]'");
  CHECK_FALSE(elements.find("node[2].ncis[3]", &help));
  CHECK(help == "did you mean 'node[2].nic[3]'?");
}

TEST_CASE("a fault is an edit of the scenario, and nothing else of it changes", "[faults]") {
  Evaluator evaluator;
  const auto s = scenario_of(two_units + all_reduce +
                             "faults:\n"
                             "  - {fail: \"leaf[3]\"}\n"
                             "  - {fail: \"leaf[4]-spine[1]\", count: 1}\n"
                             "  - {degrade: \"node[1].nic[2]\", to: 0.5}\n"
                             "  - {degrade: \"node[2].gpu[0]-nvswitch[1]\", to: 50 GB/s}\n"
                             "  - {fail: \"node[3].nvswitch[0]\"}\n");
  const Elements elements{evaluator.cluster(s)};
  const auto f = apply(s, elements, faults_of(s, elements));
  CHECK_FALSE(f.outage);
  // 400 Gb/s are 50 GB/s, half of them 25.
  CHECK(workloads::written(*f.scenario.root.get("overrides")) ==
        "[{switch: 'leaf[3]',state: down,},{link: 'leaf[4]-spine[1]',state: down,count: 1,},{nic: "
        "'node[1].nic[2]',state: "
        "25000000000 B/s,},{link: 'node[2].gpu[0]-nvswitch[1]',state: 50000000000 B/s,},{device: "
        "'node[3].nvswitch[0]',state: down,},]");
  CHECK(workloads::written(*f.scenario.root.get("workload")) == workloads::written(*s.root.get("workload")));
}

TEST_CASE("a dead GPU or node of the job is an outage, one beside the job is nothing", "[faults]") {
  const auto job = two_units + "gpus: 16\n" + all_reduce;  // on node[0] and node[1]
  CHECK(with_faults(job, "{fail: \"node[1].gpu[7]\"}").outage_reason == "node[1].gpu[7] is part of the job");
  CHECK(with_faults(job, "{fail: \"node[0]\"}").outage);
  const auto beside = with_faults(job, "{fail: \"node[2]\"}, {fail: \"node[3].gpu[0]\"}");
  CHECK_FALSE(beside.outage);
  CHECK(beside.time == with_faults(job, "").time);
  CHECK(std::ranges::count(beside.notes, "node[2] fails: it is not part of the job") == 1);
}

TEST_CASE("a fault that disconnects the job is an outage, not an error", "[faults]") {
  const auto job = two_units + "gpus: 16\n" + all_reduce;
  std::string all;
  for (int i = 0; i < 8; ++i) all += "{fail: \"node[1].nic[" + std::to_string(i) + "]\"}, ";
  const auto alone = with_faults(job, all);
  CHECK(alone.outage);
  CHECK_FALSE(alone.outage_reason.empty());
  // Without PCIe the driver has lost the GPU, though NVLink is still there.
  CHECK(with_faults(two_units + all_reduce, "{fail: \"node[0].pcie_switch[0]\"}").outage);
}

TEST_CASE("with one of eight NICs down, seven carry what eight did", "[faults]") {
  // All NICs at half their rate, so that nothing but them bounds the rings; 4 GiB, so that latencies are below a
  // hundredth.
  const std::string machines =
      "topology: dgx-h100\nnodes: 2\nnetwork: {type: rail_optimised, switch: qm9700, nodes_per_unit: 2}\n"
      "workload: {collective: {op: all_reduce, size: 4 GiB}}\nenv: {NCCL_ALGO: Ring}\n";
  const auto faults = [](const std::string& of_one) {
    std::string out = of_one;
    for (int node = 0; node < 2; ++node)
      for (int nic = 0; nic < 8; ++nic)
        if (node != 0 || nic != 3) out += fmt::format(", {{degrade: \"node[{}].nic[{}]\", to: 0.5}}", node, nic);
    return out;
  };
  const auto half = with_faults(machines, faults("{degrade: \"node[0].nic[3]\", to: 0.5}"));
  const auto dead = with_faults(machines, faults("{fail: \"node[0].nic[3]\"}"));
  CHECK_FALSE(dead.outage);
  CHECK(ratio(dead, half) == Approx(8.0 / 7).epsilon(0.01));
  // A NIC at half of that again holds its ring back, and with it all: twice the time.
  const auto quarter = with_faults(machines, faults("{degrade: \"node[0].nic[3]\", to: 100 Gb/s}"));
  CHECK(ratio(quarter, half) == Approx(2).epsilon(0.01));
  CHECK(with_faults(machines, faults("{degrade: \"node[0].nic[3]\", to: 0.25}")).time == quarter.time);
}

TEST_CASE("what retries leave of a link follows from packets and bit errors", "[faults]") {
  // 125 bytes are 1000 bits: p = 1 - (1 - 1e-6)^1000 = 9.995e-4. 1 us at 1 GB/s are 1000 bytes, 8 packets, so that
  // n = 9: (1 - p) / (1 - p + 9 p) = 0.9990005 / 1.0079960 = 0.991076.
  const auto rate = sim::Rate::from_GBps(1);
  CHECK(goodput_share(1e-6, sim::Bytes{125}, rate, sim::Time::from_us(1)) == Approx(0.991076).epsilon(1e-5));
  // With nothing in flight each broken packet costs itself alone: 1 - p.
  CHECK(goodput_share(1e-6, sim::Bytes{125}, rate, sim::Time{}) == Approx(1 - 9.995e-4).epsilon(1e-6));
  double last = 1;
  for (const double ber : {1e-12, 1e-10, 1e-8, 1e-6, 1e-4}) {
    const double share = goodput_share(ber, sim::Bytes{4096}, rate, sim::Time::from_us(1));
    CHECK(share < last);
    CHECK(share > 0);
    last = share;
  }
}

TEST_CASE("a fault is felt wherever in the job it is: any rank of the step can be followed", "[faults]") {
  const auto sound = with_faults(two_units + step, "");
  // All machines are alike: a slow GPU costs the same in each place of its stage, recorded (rank 0) or not. Stage 0 is
  // node[0] and node[1].
  const auto recorded = with_faults(two_units + step, "{slow: \"node[0].gpu[0]\", factor: 1.5}");
  CHECK(recorded.time > sound.time);
  CHECK(with_faults(two_units + step, "{slow: \"node[0].gpu[5]\", factor: 1.5}").time == recorded.time);
  CHECK(with_faults(two_units + step, "{slow: \"node[1].gpu[3]\", factor: 1.5}").time == recorded.time);
  // Nothing computes in a collective.
  const auto none = with_faults(two_units + all_reduce, "{slow: \"node[0].gpu[0]\", factor: 1.5}");
  CHECK(none.time == with_faults(two_units + all_reduce, "").time);
  CHECK(std::ranges::any_of(none.notes, [](const auto& n) { return n.find("nothing computes") != n.npos; }));
}

TEST_CASE("a dead NIC costs a step the same on every node and rail", "[faults]") {
  const auto sound = with_faults(two_units + step, "");
  const auto first = with_faults(two_units + step, "{fail: \"node[0].nic[0]\"}");
  CHECK(first.time >= sound.time);
  for (const auto* other : {"node[1].nic[0]", "node[0].nic[1]", "node[1].nic[2]"}) {
    CAPTURE(other);
    CHECK(with_faults(two_units + step, std::string{"{fail: \""} + other + "\"}").time == first.time);
  }
}

TEST_CASE("bad faults are refused with what to write instead, all at once", "[faults]") {
  const auto on = two_units + all_reduce;
  struct Wrong {
    const char *faults, *said;
  };
  const auto wrong = GENERATE(values<Wrong>({
      {"{fail: \"leaf[3]\"}", "'faults' must be a list"},
      {"[7]", "a fault must be a map"},
      {"[{fail: \"leaf[99]\"}]", "there is no 'leaf[99]'"},
      {"[{fail: \"node[9].gpu[0]\"}]", "there is no 'node[9].gpu[0]'"},
      {"[{fail: [leaf]}]", "must be the name of a part"},
      {"[{fial: \"leaf[3]\"}]", "did you mean 'fail'?"},
      {"[{fail: \"leaf[3]\", slow: \"node[0].gpu[0]\", factor: 2}]", "a fault has one of"},
      {"[{degrade: \"node[0].nic[0]\"}]", "a fault has no 'to'"},
      {"[{degrade: \"node[0].nic[0]\", to: 1.5}]", "a share between 0 and 1, or a rate"},
      {"[{degrade: \"node[0].nic[0]\", to: 800 Gb/s}]", "has 400 Gb/s: 800 Gb/s is not less"},
      {"[{degrade: \"node[0].nic[0]\", to: fast}]", "write 0.5 or 200 Gb/s"},
      {"[{degrade: \"leaf[0]\", to: 0.5}]", "'leaf[0]' is no link"},
      {"[{errors: \"leaf[0]-spine[0]\"}]", "a fault has no 'ber'"},
      {"[{errors: \"leaf[0]-spine[0]\", ber: 2}]", "above 0, at most 1e-3"},
      {"[{errors: \"leaf[0]-spine[0]\", ber: nan}]", "above 0, at most 1e-3"},
      {"[{slow: \"node[0].gpu[0]\", factor: 0.5}]", "a number above 1"},
      {"[{slow: \"node[0].nic[0]\", factor: 2}]", "does not compute"},
      {"[{fail: \"leaf[0]-spine[0]\", count: 99}]", "cables"},
      {"[{fail: \"node[0].nic[0]\", count: 1}]", "between two switches"},
      {"[{fail: \"leaf[0]\", at: 10}]", "unit"},
      {"[{fail: \"leaf[0]\", for: 10 s}]", "'for' without 'at'"},
      {"[{fail: \"leaf[0]\"}, {fail: \"leaf[0]\"}]", "'leaf[0]' is failed twice"},
      {"[{fail: \"node[0].nic[1]\"}, {degrade: \"node[0].nic[1]\", to: 0.5}]", "failed and degraded at the same time"},
      {"[{fail: \"node[0]\"}, {slow: \"node[0].gpu[1]\", factor: 2}]", "the node as a whole has failed"},
      {"[{fail: \"leaf[0]\", at: 1 s, for: 10 s}, {fail: \"leaf[0]\", at: 5 s}]", "'leaf[0]' is failed twice"},
  }));
  CAPTURE(wrong.faults);
  CHECK_THAT(said_about(on, wrong.faults), ContainsText(wrong.said) && ContainsText("study.yaml:"));
}

TEST_CASE("all problems of the faults are said in one run, and faults that follow each other are fine", "[faults]") {
  const auto text = said_about(two_units + all_reduce, "[{fail: \"leaf[99]\"}, {slow: \"node[0].gpu[0]\"}, {fail: 3}]");
  CHECK_THAT(text, ContainsText("leaf[99]") && ContainsText("'factor'") && ContainsText("there is no '3'"));
  CHECK(said_about(two_units + all_reduce,
                   "[{fail: \"leaf[0]\", at: 1 s, for: 4 s}, {fail: \"leaf[0]\", at: 5 s, for: 1 s}]")
            .empty());
}
