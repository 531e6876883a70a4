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
