// Rows of a study: faults, goals without a value, variants that fail, what a key depends on.
#include "linkcast/planning/study.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "linkcast/planning/sweep.hpp"
#include "linkcast/sim/diagnostic.hpp"

using namespace linkcast;
namespace fs = std::filesystem;

namespace {

const std::string two_nodes =
    "topology: dgx-h100\nnodes: 2\nnetwork: {type: ideal}\nworkload: {collective: {op: all_reduce, size: 1 GiB}}\n";

planning::Study study(const std::string& text, const std::string& where = "study.yaml") {
  return planning::Study{workloads::open_scenario_text(text, where), {nullptr, "1"}};
}

std::vector<planning::Row> rows(const planning::Study& s) { return planning::sweep(s, {}).rows; }

struct Folder {
  fs::path path = fs::temp_directory_path() / ("linkcast-study-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

void write(const std::string& path, const std::string& text) { std::ofstream{path} << text; }

}  // namespace

TEST_CASE("faults are part of a variant", "[study]") {
  const auto s = study(two_nodes + "variants: {faults: [[], [{fail: \"node[1].nic[0]\"}], [{fail: \"node[1]\"}]]}\n");
  const auto r = rows(s);
  REQUIRE(r.size() == 3);
  const auto time = [&](std::size_t i) { return std::stod(r[i][s.column("time_us")]); };
  CHECK(time(1) > 1.01 * time(0));
  CHECK(r[2][s.column("status")] == "outage");
  CHECK_THROWS_WITH(study(two_nodes + "jobs: [{name: a}]\n"),
                    Catch::Matchers::Contains("`linkcast run` compares them"));
}

TEST_CASE("a variant that fails anywhere is a row, and the others are done", "[study]") {
  const auto s = study(two_nodes + "variants: {reliability.rates_at: [typical, hgih, low]}\n");
  const auto r = rows(s);
  REQUIRE(r.size() == 3);
  CHECK(r[0][s.column("status")] == "done");
  CHECK(r[1][s.column("status")] == "error");
  CHECK(r[1][s.column("error")].find("hgih") != std::string::npos);
  CHECK(r[2][s.column("status")] == "done");
}

TEST_CASE("`~` takes a value away", "[study]") {
  const auto s = study(
      "topology: dgx-h100\nnodes: 2\nnics: 4x200\nworkload: {collective: {op: all_reduce, size: 1 GiB}}\n"
      "variants: {nics: [~, 4x200]}\n");
  const auto r = rows(s);
  CHECK(std::stod(r[0][s.column("busbw_GBps")]) > 2 * std::stod(r[1][s.column("busbw_GBps")]));
}

TEST_CASE("goals without a value here say nothing", "[study]") {
  const auto s = study(two_nodes + "goals: [\"mfu >= 40 %\", \"step_time <= 1 s\", \"network_share <= 50 %\"]\n");
  const auto judged = planning::judged(s, rows(s).front());
  CHECK_FALSE(judged[0].known);
  CHECK(judged[2].known);
  CHECK(planning::all_met(judged));
  CHECK_FALSE(planning::some_missed(judged));
  CHECK_FALSE(planning::all_met({judged.data(), 1}));
}

TEST_CASE("a network that costs nothing is a share of nothing, not an unknown one", "[study]") {
  const auto s = study(
      "topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\n"
      "goals: [\"network_share <= 12 %\"]\n");
  CHECK(planning::judged(s, rows(s).front())[0].met);
}

TEST_CASE("NCCL over sockets is one machine for the row, its goals and its cost", "[study]") {
  const auto s = study(
      "topology: dgx-h100\nnodes: 2\nenv: {NCCL_IB_DISABLE: 1}\n"
      "workload: {collective: {op: all_reduce, size: 1 GiB}}\n"
      "goals: [\"busbw(all_reduce, 1 GiB) >= 1 GB/s\"]\n");
  const auto row = rows(s).front();
  CHECK(std::stod(row[s.column("goal_1_value")]) == Approx(1e9 * std::stod(row[s.column("busbw_GBps")])));
}

TEST_CASE("however a topology says what it extends, a change of that is another key", "[study]") {
  const Folder folder;
  for (const auto* extends : {"extends: base.yaml\n", "extends : 'base.yaml'\n", "extends:\n  base.yaml\n"}) {
    CAPTURE(extends);
    write(folder.file("base.yaml"), "schema: linkcast.topology/1\nextends: dgx-h100\n");
    write(folder.file("m.yaml"), std::string{"schema: linkcast.topology/1\n"} + extends);
    const auto text = "topology: m.yaml\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\n";
    const auto before = study(text, folder.file("s.yaml")).key(0);
    write(folder.file("base.yaml"), "schema: linkcast.topology/1\nextends: dgx-h100\ntitle: other\n");
    CHECK(study(text, folder.file("s.yaml")).key(0) != before);
  }
}

TEST_CASE("a link to the results stays a link, and edited numbers are computed again", "[study]") {
  const Folder folder;
  const auto s = study(two_nodes + "variants: {workload.collective.size: 1M:8M:x2}\n");
  fs::create_symlink(folder.file("real.csv"), folder.file("link.csv"));
  planning::SweepOptions options;
  options.out = folder.file("link.csv");
  const auto first = planning::sweep(s, options);
  CHECK(fs::is_symlink(folder.file("link.csv")));
  auto row = first.rows[1];
  row[s.column("time_us")] = "n/a";
  std::ofstream{folder.file("real.csv"), std::ios::app} << planning::csv_line(row);
  const auto again = planning::sweep(s, options);
  CHECK(again.rows == first.rows);
  CHECK(fs::is_symlink(folder.file("link.csv")));
}

TEST_CASE("a grid beyond counting is checked all the same", "[study]") {
  std::string text = "topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\nvariants: {";
  for (const auto* key : {"seed", "steps", "nccl", "gpus"}) text += std::string{key} + ": 1:8:1, ";
  text += "title: 1:200000:1, notes: 1:200000:1, duration: 1:200000:1, placement: 1:200000:1}\n";
  CHECK_THROWS_AS(study(text), sim::InputError);  // of nccl: 8, placement: 200000
}
