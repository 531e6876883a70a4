// Scenarios whose workload is a trace: their keys, and what is wrong with them.
#include "linkcast/workloads/recorded_scenario.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"

using namespace linkcast;
using sim::Time;

namespace {

/// A folder with a trace of two ranks on 16, and scenarios beside it.
class Folder {
 public:
  Folder() : path_{std::filesystem::temp_directory_path() / "linkcast-recorded-scenario"} {
    std::filesystem::create_directories(path_);
    write("trace.jsonl",
          "{\"schema\": \"linkcast.trace/1\", \"ranks\": 16}\n"
          "{\"ranks\": \"0-15\", \"compute\": \"100 us\"}\n"
          "{\"rank\": 3, \"compute\": \"60 us\", \"stream\": \"other\"}\n"
          "{\"ranks\": \"0-15\", \"barrier\": \"world\"}\n"
          "{\"ranks\": \"0-15\", \"compute\": \"10 us\", \"stream\": \"other\"}\n");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::ofstream{file} << text;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

workloads::RecordingResult replay(const workloads::RecordedScenario& s) {
  return workloads::replay_recording(s.recording, s.cluster, s.options);
}

}  // namespace

TEST_CASE("a scenario names a trace, and gets the nodes that it needs", "[workloads][recording]") {
  const Folder folder;
  const auto file = folder.write("s.yaml", "topology: dgx-a100\nworkload: {trace: trace.jsonl}\n");
  REQUIRE(workloads::is_recorded_scenario(file, {}));
  const auto s = workloads::read_recorded_scenario(file);
  CHECK(s.cluster.nodes() == 2);
  // A barrier joins the streams of all ranks: 100, then 10 on another stream.
  CHECK(replay(s).end == Time::microseconds(110));
}

TEST_CASE("replay settings reach the replay, from the file and from --set", "[workloads][recording]") {
  const Folder folder;
  const auto file = folder.write("s.yaml",
                                 "topology: dgx-a100\nworkload: {trace: trace.jsonl}\n"
                                 "replay: {compute_scale: 0.5, slow_ranks: {3: 3}}\n");
  // Rank 3: 150 us, then 15.
  CHECK(replay(workloads::read_recorded_scenario(file)).end == Time::microseconds(165));
  CHECK(replay(workloads::read_recorded_scenario(file, {"replay.compute_scale=1"})).end == Time::microseconds(330));
}

TEST_CASE("all that is wrong with such a scenario is said in one run", "[workloads][recording]") {
  const Folder folder;
  const auto file = folder.write("s.yaml",
                                 "topology: dgx-a100\nnods: 2\nworkload: {trace: nowhere.json}\n"
                                 "replay: {compute_scale: fast, work_scale: {gem: 2}}\n");
  try {
    workloads::read_recorded_scenario(file);
    FAIL("it was accepted");
  } catch (const sim::InputError& e) {
    std::string all = e.what();
    CHECK_THAT(all, Catch::Contains("unknown key 'nods'") && Catch::Contains("nowhere.json") &&
                        Catch::Contains("compute_scale must be a number") && Catch::Contains("'gem'"));
    CHECK(e.diagnostics().size() == 4);
  }
}
