// `linkcast cost`: options, files, mistakes. What is counted and what it costs: tests/planning/cost_test.cpp.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "ran.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Scratch {
  fs::path path = fs::temp_directory_path() / ("linkcast-cost-" + std::to_string(std::rand()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream{path / name} << text;
    return (path / name).string();
  }
};

}  // namespace

TEST_CASE("cost: text, JSON and CSV are of the same bill") {
  const Scratch scratch;
  const auto csv = (scratch.path / "bom.csv").string();
  const auto ran = typed("cost --topology superpod-h100 --set units=2 --json --csv " + csv);
  REQUIRE(ran.status == 0);
  CHECK(ran.err.empty());
  const auto answer = json::parse(ran.out);
  CHECK(answer["schema"] == "linkcast.bom/1");
  CHECK(answer["nodes"] == 63);
  CHECK(answer["gpus"] == 504);
  std::ifstream in{csv};
  std::string line;
  std::size_t lines = 0;
  while (std::getline(in, line)) ++lines;
  CHECK(lines == answer["lines"].size() + 1);
  const auto text = typed("cost --topology superpod-h100 --set units=2 --tokens-per-second 500000");
  REQUIRE(text.status == 0);
  CHECK(text.out.find("superpod-h100: 63 machines, 504 GPUs") == 0);
  CHECK(text.out.find("a million tokens") != std::string::npos);
}

TEST_CASE("cost: a price file is laid over the shipped one") {
  const Scratch scratch;
  const auto prices = scratch.file("p.yaml", "schema: linkcast.prices/1\nservers: {h100-8: {usd: 100 k USD}}\n");
  const auto answer = json::parse(typed("cost --topology dgx-h100 --json --prices " + prices).out);
  CHECK(answer["capex_usd"]["typical"].get<double>() == Approx(100e3));
  const auto job = json::parse(typed("cost --topology superpod-h100 --nodes 16 --json --prices " + prices).out);
  CHECK(job["gpus"] == 128);
  CHECK(job["lines"][2]["share"].get<double>() == Approx(16.0 / 127));
}

TEST_CASE("cost: mistakes end with status 2 and say what was expected") {
  const Scratch scratch;
  const auto wrong = scratch.file("wrong.yaml", "schema: linkcast.prices/1\nswitches: {qm9700: {usd: 36}}\n");
  const auto bare = scratch.file("bare.yaml", "switches: {qm9700: {usd: 36 k USD}}\n");
  const auto expect = [](const std::string& line, const std::string& message) {
    const auto ran = typed(line);
    CAPTURE(line, ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(message) != std::string::npos);
  };
  expect("cost", "no topology is named");
  expect("cost --topology dgx-h100 --prices " + wrong, "wrong.yaml:2:");
  expect("cost --topology dgx-h100 --prices " + bare, "has no 'schema'");
  expect("cost --topology dgx-h100 --prices no-such.yaml", "no-such.yaml");
  expect("cost --topology dgx-h100 --tokens-per-second many", "'many' is no number above 0");
  expect("cost --topology dgx-h100 --csv no-such-folder/bom.csv", "no-such-folder");
  expect("cost --topology dgx-h10", "dgx-h100");
}
