// The trace format: JSON Lines mean what the YAML program means, and what a user with a wrong file reads.
// LINKCAST_REFRESH_GOLDEN=1 writes the messages anew; the diff is for a person to read.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "catch.hpp"
#include "linkcast/workloads/scenario.hpp"

namespace {

using namespace linkcast;
using namespace linkcast::sim::literals;
namespace fs = std::filesystem;

const fs::path repository{LINKCAST_SOURCE_DIR};

std::string error_of(const std::string& path) {
  try {
    workloads::run_scenario(path);
  } catch (const sim::InputError& e) {
    std::string text = e.what();
    const auto prefix = repository.string() + "/";
    for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
  }
  return "no error";
}

std::string text_of(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// A folder with one scenario over one trace, gone afterwards.
class Folder {
 public:
  explicit Folder(const std::string& trace) : path_{fs::temp_directory_path() / "linkcast-trace-test"} {
    fs::create_directories(path_);
    std::ofstream(path_ / "scenario.yaml")
        << "topology: dgx-h100\nnccl: '2.19'\nlaunch_floor: 3 us\nworkload: trace.jsonl\n";
    std::ofstream(path_ / "trace.jsonl") << trace;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string scenario() const { return (path_ / "scenario.yaml").string(); }

 private:
  fs::path path_;
};

TEST_CASE("wrong scenarios and traces are explained, all mistakes of a file at once") {
  std::vector<fs::path> inputs;
  for (const auto& entry : fs::directory_iterator(repository / "tests/golden/scenario-errors")) {
    if (entry.path().extension() == ".yaml") inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  REQUIRE(inputs.size() >= 14);
  for (const auto& input : inputs) {
    INFO(input.filename().string());
    const auto message = error_of(input.string()) + "\n";
    const auto expected = fs::path(input.string() + ".expected");
    if (std::getenv("LINKCAST_REFRESH_GOLDEN") != nullptr) std::ofstream(expected, std::ios::binary) << message;
    CHECK(message == text_of(expected));
  }
}

TEST_CASE("what is no scenario at all is said so") {
  CHECK(error_of("no/such.yaml") == "no/such.yaml: error: no such file");
  CHECK(error_of(repository.string() + "/configs") == "configs: error: is a directory\n  help: name a file inside it");
  const auto of = [](std::string text) {
    try {
      workloads::run_scenario_text(std::move(text), "s.yaml");
    } catch (const sim::InputError& e) {
      return std::string{e.what()};
    }
    return std::string{"no error"};
  };
  CHECK(of("").find("s.yaml:1:1: error: nothing in it") == 0);
  CHECK(of("- a\n- b\n").find("s.yaml:1:1: error: the scenario must be a map") == 0);
  CHECK(of("topology: dgx-h100\n").find("the scenario has no 'workload'") != std::string::npos);
  CHECK(of(std::string(2000, '[')).find("error: ") != std::string::npos);
  // Aliases that would write out as 10^9 values
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    std::string item = "*a" + std::to_string(i - 1), list = item;
    for (int k = 1; k < 10; ++k) list += ", " + item;
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  CHECK(of(laughs).find("more than 1000000 values") != std::string::npos);
}

TEST_CASE("a trace in JSON Lines runs as the same program in YAML") {
  const Folder folder{R"({"schema": "linkcast.trace/1", "ranks": 4, "communicators": {"low": [0, 1]}}
{"ranks": [0, 1, 2, 3], "compute": "120 us", "name": "forward"}
{"rank": 3, "compute": "80.5 us"}
{"ranks": "0-1", "all_gather": "2 MiB", "on": "low", "stream": "comm", "after": ["forward"], "dtype": "half"}

{"ranks": "0-3", "all_reduce": "16 MiB", "name": "sum"}
{"ranks": "0-3", "barrier": "world"}
{"ranks": "2-3", "compute": "1 ms"}
)"};
  const auto lines = workloads::run_scenario(folder.scenario());
  const auto program = workloads::run_scenario_text(R"(
topology: dgx-h100
nccl: '2.19'
launch_floor: 3 us
ranks: 4
workload:
  communicators: {low: [0, 1]}
  programs:
    - ranks: 0-1
      do:
        - {compute: 120 us, name: forward}
        - {all_gather: 2 MiB, on: low, stream: comm, after: forward, dtype: half}
        - {all_reduce: 16 MiB, name: sum}
        - {barrier: world}
    - ranks: 2
      do: [{compute: 120 us}, {all_reduce: 16 MiB, name: sum}, {barrier: world}, {compute: 1 ms}]
    - ranks: 3
      do: [{compute: 120 us}, {compute: 80.5 us}, {all_reduce: 16 MiB, name: sum}, {barrier: world}, {compute: 1 ms}]
)",
                                                    "program.yaml");
  CHECK(lines.end == program.end);
  CHECK(lines.account == program.account);
  CHECK(lines.tasks == program.tasks);
  REQUIRE(lines.by_rank.size() == 4);
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(lines.by_rank[r].compute == program.by_rank[r].compute);
    CHECK(lines.by_rank[r].exposed == program.by_rank[r].exposed);
    CHECK(lines.by_rank[r].wait == program.by_rank[r].wait);
  }
  CHECK(lines.by_rank[3].compute == 1200_us + 500_ns);
  CHECK(lines.collectives.back().start >= 200_us + 500_ns);
}

TEST_CASE("a long trace is streamed, and only its first collectives are kept") {
  std::ostringstream trace;
  trace << R"({"schema": "linkcast.trace/1", "ranks": 2})" << '\n';
  for (int i = 0; i < 3000; ++i) {
    trace << R"({"ranks": [0, 1], "compute": "10 us"})" << '\n'
          << R"({"ranks": [0, 1], "all_reduce": "1 KiB"})" << '\n';
  }
  const Folder folder{trace.str()};
  workloads::ScenarioOptions options;
  options.kept_collectives = 100;
  const auto r = workloads::run_scenario(folder.scenario(), options);
  CHECK(r.collectives.size() == 100);
  CHECK(r.collective_count == 3000);
  REQUIRE(r.totals.size() == 1);
  CHECK(r.totals[0].count == 3000);
  CHECK(r.totals[0].shortest == r.totals[0].longest);
  // The host's 3 us hide behind the 10 us of compute.
  CHECK(r.end == 3000 * (10_us + r.totals[0].shortest));
}

}  // namespace
