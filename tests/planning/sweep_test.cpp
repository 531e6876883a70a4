// Sweeps: every variant once, the same on any number of threads, and a file that keeps what is finished.
#include "linkcast/planning/sweep.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"

using namespace linkcast;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario =
    "schema: linkcast.scenario/1\ntitle: small\ntopology: dgx-h100\n"
    "workload: {collective: {op: all_reduce, size: 1 MiB}}\n"
    "variants: {workload.collective.op: [all_reduce, all_gather], workload.collective.size: 1M:8M:x2, "
    "gpus: [4, 8]}\n";

planning::Study study(const std::string& text = scenario) {
  return planning::Study{workloads::open_scenario_text(text, "study.yaml"), {nullptr, "1"}};
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("linkcast-sweep-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

std::string read(const std::string& path) {
  std::ifstream in{path};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) { std::ofstream{path} << text; }

std::string refusal(const std::string& text) {
  try {
    study(text);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every variant is one row; threads change nothing", "[sweep]") {
  const auto s = study();
  planning::SweepOptions options;
  options.threads = 1;
  const auto one = planning::sweep(s, options);
  options.threads = 4;
  const auto four = planning::sweep(s, options);
  REQUIRE(one.rows.size() == 16);
  CHECK(one.rows == four.rows);
  std::set<std::string> keys;
  for (const auto& row : one.rows) keys.insert(row.front());
  CHECK(keys.size() == 16);
}

TEST_CASE("a row says what `collective` says", "[sweep]") {
  const auto s = study();
  planning::Evaluator evaluator;
  const auto row = s.row(15, evaluator);  // all_gather, 8 MiB, 8 GPUs
  workloads::CollectiveModel model{topologies::load_cluster("dgx-h100"), {}};
  models::nccl::Call call;
  call.op = models::nccl::Op::all_gather;
  call.bytes = sim::mib(8);
  CHECK(std::stod(row[s.column("time_us")]) == Approx(model.run(call).time.us()).epsilon(1e-9));
  CHECK(row[s.column("algorithm")] == model.run(call).algorithm);
}

TEST_CASE("what was finished is not computed again, whatever was cut off", "[sweep]") {
  const Folder folder;
  const auto s = study();
  planning::SweepOptions options;
  options.out = folder.file("r.csv");
  const auto first = planning::sweep(s, options);
  CHECK(first.computed == 16);
  const auto whole = read(options.out);

  // Cut anywhere: at the start, in the header, within a row, before the last line end.
  for (const std::size_t length : {std::size_t{0}, std::size_t{5}, whole.size() / 2, whole.size() - 1, whole.size()}) {
    CAPTURE(length);
    write(options.out, whole.substr(0, length));
    const auto again = planning::sweep(s, options);
    CHECK(again.computed + again.resumed == 16);
    CHECK(again.rows == first.rows);
    CHECK(read(options.out) == whole);
    if (length == whole.size()) CHECK(again.computed == 0);
    if (length == whole.size() - 1) CHECK(again.computed == 1);
  }
}

TEST_CASE("the key of a row is of all that it depends on", "[sweep]") {
  const Folder folder;
  write(folder.file("m.yaml"), "schema: linkcast.topology/1\nextends: dgx-h100\n");
  const auto text = std::string{"topology: m.yaml\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\n"};
  const auto key = [&](const std::string& more, const std::string& version = "1") {
    return planning::Study{workloads::open_scenario_text(text + more, folder.file("s.yaml")), {nullptr, version}}.key(
        0);
  };
  const auto plain = key("");
  CHECK(key("title: another name\n") == plain);
  CHECK(key("", "2") != plain);
  CHECK(key("env: {NCCL_ALGO: Ring}\n") != plain);
  CHECK(key("goals: [\"step_time <= 1 s\"]\n") != plain);
  write(folder.file("m.yaml"), "schema: linkcast.topology/1\nextends: dgx-h100\ntitle: changed\n");
  CHECK(key("") != plain);
}

TEST_CASE("somebody else's file is left alone", "[sweep]") {
  const Folder folder;
  const auto path = folder.file("notes.csv");
  for (const auto* text : {"my notes\n", "key,name\n1,2\n", "half a line"}) {
    write(path, text);
    CHECK_THROWS_AS(planning::sweep(study(), {path, 0, 1, {}, {}}), sim::InputError);
    CHECK(read(path) == text);
  }
  CHECK_THROWS_AS(planning::sweep(study(), {folder.file("no/such/folder.csv"), 0, 1, {}, {}}), sim::InputError);
}

TEST_CASE("two sweeps do not write one file", "[sweep]") {
  const Folder folder;
  const auto s = study();
  const planning::ResultFile held{folder.file("r.csv"), s};
  CHECK_THROWS_WITH(planning::sweep(s, {folder.file("r.csv"), 0, 1, {}, {}}),
                    Catch::Matchers::Contains("another sweep is writing it"));
}

TEST_CASE("what varies keeps its column beside the fact of the same name", "[sweep]") {
  const auto s =
      study("topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\nvariants: {nodes: [1, 2]}\n");
  std::set<std::string> names;
  for (const auto& c : s.columns()) CHECK(names.insert(c.name).second);
  const auto rows = planning::sweep(s, {}).rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[1][s.column("variant.nodes")] == "2");
  CHECK(rows[1][s.column("nodes")] == "2");
  CHECK(rows[1][s.column("gpus")] == "16");
}

TEST_CASE("variants that share a machine are neighbours", "[sweep]") {
  // As the grid counts: 4, 8, 4, 8 … GPUs. In turn: all with 4, then all with 8, each in the grid's order.
  const auto s = study();
  const auto all = planning::chosen_variants(s, 0, 1);
  REQUIRE(all.size() == 16);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) places.push_back(i);
  const auto sorted = planning::by_machine(s, all, places);
  std::size_t changes = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const bool same = s.machine_key(all[sorted[i]]) == s.machine_key(all[sorted[i - 1]]);
    changes += same ? 0 : 1;
    if (same) CHECK(sorted[i - 1] < sorted[i]);
  }
  CHECK(changes == 1);
  CHECK(planning::chosen_variants(s, 4, 1) == std::vector<std::int64_t>{0, 4, 8, 12});
}

TEST_CASE("fields with commas, quotes and line ends come back", "[sweep]") {
  const planning::Row row{"a", "b,c", "d\"e\"", "f\ng", ""};
  std::size_t complete = 0;
  const auto text = planning::csv_line(row);
  CHECK(planning::read_csv(text + "cut \"off", &complete) == std::vector<planning::Row>{row});
  CHECK(complete == text.size());
}

TEST_CASE("a grid of a thousand million says how many and how long, and takes a limit", "[sweep]") {
  std::string text = "topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\nvariants: {";
  text += "workload.collective.size: 1M:1000M:+1M, gpus: [2, 4, 8], nccl: [\"2.18\", \"2.27\"], ";
  text += "seed: 1:200000:1}\n";
  const auto s = study(text);
  CHECK(s.variants().count() == 1'200'000'000);
  try {
    planning::sweep(s, {});
    FAIL("a grid of 10^9 was run");
  } catch (const sim::InputError& e) {
    const std::string what = e.what();
    CHECK(what.find("1200000000 variants: about ") != what.npos);
    CHECK(what.find("--limit N") != what.npos);
  }
  planning::SweepOptions options;
  options.limit = 5;
  CHECK(planning::sweep(s, options).rows.size() == 5);
}

TEST_CASE("keys that do not exist are said before anything runs", "[sweep]") {
  const std::string base = "topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\n";
  const auto text = refusal(base + "variants: {nodez: [1, 2]}\n");
  CHECK(text.find("unknown key 'nodez'") != text.npos);
  CHECK(text.find("did you mean 'nodes'?") != text.npos);
  CHECK(text.find("study.yaml:3:") != text.npos);
  CHECK(refusal(base + "variants: {workload.collective.sise: [1 MiB]}\n").find("sise") != std::string::npos);
  CHECK(refusal(base + "variants: {params.wring: [a]}\n").find("wring") != std::string::npos);
  CHECK(refusal(base + "options: {a: {}, b: {topologi: dgx-a100}, c: {}}\n").find("topologi") != std::string::npos);
}

TEST_CASE("a variant that cannot be is a row that says why", "[sweep]") {
  const auto s = study(
      "topology: dgx-h100\nworkload: {collective: {op: all_reduce, size: 1 MiB}}\n"
      "variants: {gpus: [4, 999, 8]}\n");
  const auto result = planning::sweep(s, {});
  REQUIRE(result.rows.size() == 3);
  CHECK(result.rows[0][s.column("status")] == "done");
  CHECK(result.rows[1][s.column("status")] == "error");
  CHECK_FALSE(result.rows[1][s.column("error")].empty());
  CHECK(result.rows[2][s.column("status")] == "done");
}

TEST_CASE("goals are judged, also those of another collective than the workload's", "[sweep]") {
  const auto s = study(
      "topology: dgx-h100\nworkload: {collective: {op: all_gather, size: 1 MiB}}\n"
      "goals: [\"busbw(all_reduce, 1 GiB) >= 400 GB/s\", \"step_time <= 1 us\", \"mfu >= 40 %\"]\n"
      "variants: {env.NCCL_ALGO: [~, Ring]}\n");
  const auto result = planning::sweep(s, {});
  const auto free = planning::judged(s, result.rows[0]);
  CHECK(free[0].met);  // NVLS: 464 GB/s (README)
  CHECK_FALSE(free[1].met);
  CHECK_FALSE(free[2].known);
  CHECK_FALSE(planning::judged(s, result.rows[1])[0].met);  // a ring: 366
  const auto json = nlohmann::json::parse(planning::json_table(s, result.rows, "test"));
  CHECK(json["schema"] == "linkcast.sweep/1");
  CHECK(json["rows"].size() == 2);
  CHECK(json["rows"][0]["goals"][0]["met"] == true);
  CHECK(json["rows"][1]["vs_baseline_percent"].is_number());
}

TEST_CASE("the table compares costs of as many GPUs, and says once what all rows cost", "[sweep]") {
  const auto table = [](const std::string& variants) {
    const auto s = study(
        "schema: linkcast.scenario/1\ntitle: t\ntopology: dgx-h100\n"
        "workload: {collective: {op: all_reduce, size: 1 MiB}}\nvariants: {" +
        variants + "}\n");
    return planning::text_table(s, planning::sweep(s, {}).rows);
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  // The shipped price of a DGX H100 with its NICs: 310 k USD, 10.2 kW (docs/cost.md).
  const auto same = table("workload.collective.size: [1 MiB, 2 MiB]");
  CHECK(has(same, "cost of each: 310 k USD, 10.2 kW"));
  CHECK_FALSE(has(same, "capex"));
  CHECK(has(table("topology: [dgx-h100, hgx-b200]"), "capex"));
  const auto sizes = table("nodes: [1, 2]");
  CHECK_FALSE(has(sizes, "capex"));
  CHECK_FALSE(has(sizes, "cost of each"));
  CHECK(has(table("env.NCCL_ALGO: [~, Ring]"), "\ndefault"));
}
