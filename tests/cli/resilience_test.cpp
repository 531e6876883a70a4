// `linkcast resilience`, and `linkcast run` with faults: options, files, exit states. What is studied:
// tests/planning/resilience_test.cpp.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "ran.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("linkcast-resilience-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream{path / name} << text;
    return (path / name).string();
  }
};

const std::string two_machines =
    "topology: dgx-h100\nnodes: 2\nnetwork: {type: rail_optimised, switch: qm9700, nodes_per_unit: 2}\n"
    "workload: {collective: {op: all_reduce, size: 64 MiB}}\nreliability: {trials: 20}\n";

}  // namespace

TEST_CASE("resilience: text, JSON and CSV are of the same study", "[resilience]") {
  const Folder folder;
  const auto scenario = folder.file("s.yaml", two_machines);
  const auto csv = (folder.path / "out.csv").string();
  const auto ran = typed("resilience " + scenario + " --kinds gpu,nic --pairs 5 --json --csv " + csv);
  REQUIRE(ran.status == 0);
  const auto answer = json::parse(ran.out);
  CHECK(answer["schema"] == "linkcast.resilience/1");
  REQUIRE(answer["elements"].size() == 4);  // a dead GPU, a dead, a narrow and a faulty NIC
  CHECK(answer["elements"][0]["outage"] == true);
  CHECK(answer["elements"][0]["count"] == 16);
  CHECK(answer["pairs"]["sampled"] == 5);
  std::ifstream in{csv};
  std::string line;
  int lines = 0;
  while (std::getline(in, line)) ++lines;
  CHECK(lines == 5);
  const auto text = typed("resilience " + scenario + " --kinds gpu,nic --pairs 5");
  CHECK(text.status == 0);
  CHECK(text.out.find("the loss of any of 16 stops the job") != std::string::npos);
  CHECK(typed("resilience " + scenario + " --kinds gpu,nic --pairs 5 --json --threads 1").out == ran.out);
}

TEST_CASE("resilience: a missed goal is status 1, a wrong word 2 with what there is", "[resilience]") {
  const Folder folder;
  const auto goals = folder.file("g.yaml", two_machines + "goals: [\"goodput >= 99.99 %\", \"step_time <= 1 s\"]\n");
  const auto missed = typed("resilience " + goals + " --kinds gpu");
  CHECK(missed.status == 1);
  CHECK(missed.out.find("- goodput >= 99.99 %") != std::string::npos);
  CHECK(missed.out.find("+ step_time <= 1 s") != std::string::npos);
  const auto scenario = folder.file("s.yaml", two_machines);
  const auto kinds = typed("resilience " + scenario + " --kinds gpu,nics");
  CHECK(kinds.status == 2);
  CHECK(kinds.err.find("did you mean 'nic'?") != std::string::npos);
  CHECK(typed("resilience").status == 2);
  CHECK(typed("resilience " + scenario + " --pairs many --threads 0").status == 2);
  const auto wrong = typed("resilience " + folder.file("w.yaml", two_machines + "resilience: {pair: 3}\n"));
  CHECK(wrong.status == 2);
  CHECK(wrong.err.find("did you mean 'pairs'?") != std::string::npos);
}

TEST_CASE("run: faults change the run, an outage is an answer, faults at a time make a run of states", "[resilience]") {
  const Folder folder;
  const auto scenario = folder.file("s.yaml", two_machines);
  const auto with = [&](const std::string& faults, const std::string& more = "") {
    return typed("run " + scenario + " --set \"faults=" + faults + "\" --json " + more);
  };
  const auto dead = with("[{fail: node[1]}]");  // a bracket begins a list: quotes are needed
  CHECK(dead.status == 2);
  const auto outage = with("[{fail: 'node[1]'}]");
  REQUIRE(outage.status == 0);
  CHECK(json::parse(outage.out)["outage"] == true);
  const auto run = with("[{degrade: 'node[1].nic[0]', to: 0.5, at: 1 s}]", "--set duration=2s");
  REQUIRE(run.status == 0);
  const auto answer = json::parse(run.out);
  CHECK(answer["schema"] == "linkcast.fault-run/1");
  CHECK(answer["effective_speed"].get<double>() < 1);
  CHECK(with("[{degrade: 'node[1].nic[0]', to: 0.5}]").status == 0);
  CHECK(with("[{degrade: 'node[1].nic[9]', to: 0.5}]").status == 2);
}

TEST_CASE("run: goals are judged with faults too", "[resilience]") {
  const Folder folder;
  const auto scenario = folder.file(
      "s.yaml", two_machines + "goals: [\"step_time <= 1 us\", \"slowdown <= 1000\", \"capex <= 1 USD\"]\n");
  const auto with = [&](const std::string& faults, const std::string& more = "") {
    return typed("run " + scenario + " --set \"faults=" + faults + "\" " + more);
  };
  const std::string outage = "[{fail: 'node[1]'}]", timed = "[{fail: 'node[1]', at: 10 s, for: 20 s}]";
  const auto dead = with(outage);
  CHECK(dead.status == 1);
  CHECK(dead.out.find("- step_time <= 1 us: missed: the job cannot run") != std::string::npos);
  CHECK(dead.out.find("? capex <= 1 USD: not known") != std::string::npos);
  CHECK(json::parse(with(outage, "--json").out)["goals"][0]["met"] == false);
  CHECK(with(outage, "--set goals=~").status == 0);
  CHECK(with(outage, "--set \"goals=capex <= 1 USD\"").status == 0);  // what is not known is not missed

  const auto run = with(timed, "--set duration=1h");
  CHECK(run.status == 1);
  CHECK(run.out.find("- step_time <= 1 us: missed with") != std::string::npos);
  CHECK(run.out.find("+ slowdown <= 1000: met") != std::string::npos);
  CHECK(run.out.find("? capex <= 1 USD: not known") != std::string::npos);
  CHECK(run.out.find("step_time is its duration over the steps done and kept") != std::string::npos);
  const auto answer = json::parse(with(timed, "--set duration=1h --json").out);
  CHECK(answer["goals"][0]["value"].get<double>() == Approx(3600 / answer["steps"].get<double>()));
  CHECK(with(timed, "--set duration=1h --set \"goals=step_time <= 1 s\"").status == 0);
}

TEST_CASE("resilience: what it cannot know is said, and is no failure", "[resilience]") {
  const Folder folder;
  const auto scenario = folder.file("s.yaml", two_machines + "goals: [\"mfu >= 40 %\", \"step_time <= 1 s\"]\n");
  const auto ran = typed("resilience " + scenario + " --kinds gpu");
  CHECK(ran.status == 0);
  CHECK(ran.out.find("? mfu >= 40 %: not known") != std::string::npos);
}

TEST_CASE("resilience: a file of rates lies beside the scenario, also by --set", "[resilience]") {
  const Folder folder;
  const auto scenario = folder.file("s.yaml", two_machines);
  fs::create_directories(folder.path / "dir");
  folder.file("dir/rates.yaml", "schema: linkcast.failure-rates/1\nrates: {faulty GPU: {rate: 90 %/year}}\n");
  const auto there = typed("resilience " + scenario + " --kinds gpu --json --set rates=dir/rates.yaml");
  REQUIRE(there.status == 0);
  const auto inside = folder.file("in.yaml", two_machines + "rates: dir/rates.yaml\n");
  CHECK(json::parse(typed("resilience " + inside + " --kinds gpu --json").out)["goodput"] ==
        json::parse(there.out)["goodput"]);
  CHECK(json::parse(typed("resilience " + scenario + " --kinds gpu --json").out)["goodput"] !=
        json::parse(there.out)["goodput"]);
}

TEST_CASE("run: jobs with a goal that is of one job alone", "[resilience]") {
  const Folder folder;
  const auto scenario = folder.file("j.yaml",
                                    "topology: dgx-h100\nnodes: 2\njobs: [{name: a, nodes: 2, workload: {collective: "
                                    "{op: all_reduce, size: 64 MiB}}}]"
                                    "\ngoals: [\"step_time <= 1 us\"]\n");
  const auto ran = typed("run " + scenario);
  CHECK(ran.status == 0);
  CHECK(ran.out.find("? step_time <= 1 us: not known") != std::string::npos);
  CHECK(ran.out.find("1 job\n") != std::string::npos);
}
