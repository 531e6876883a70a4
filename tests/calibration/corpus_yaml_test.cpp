// The corpus format: what a file says arrives in the series, and the committed corpus reads as a whole.
#include <set>

#include "linkcast/calibration/series.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::read_corpus_yaml;

constexpr std::string_view kHead =
    "id: x\nkind: collective\nsystem: dgx-a100\nnodes: 1\ngpus_per_node: 4\nranks: 4\ncollective: all_gather\n";

calibration::Series one(const std::string& text) {
  auto series = read_corpus_yaml(text, "folder/file.yaml");
  REQUIRE(series.size() == 1);
  return series.front();
}

TEST_CASE("a corpus file becomes one series") {
  const auto s =
      one("id: a100\nsource: https://example.org/log\ntitle: 'four: GPUs'\ndate: '2024-01-02'\nkind: collective\n"
          "system: dgx-a100\nnodes: 1\ngpus_per_node: 4\nranks: 4\nsoftware:\n  nccl: 2.18.5\n  cuda: '12.2'\n"
          "  env:\n    NCCL_ALGO: Ring\n  launch: single_process\n  cuda_graph: true\n  anything: else\n"
          "machine_notes: one line\n  and its continuation\ncollective: all_gather\ndtype: half\nredop: null\n"
          "placement: in_place\nhealth: degraded\ncause: a reason\ntime_derived_from_busbw: true\n"
          "columns: [size_bytes, time_us]\nrows:\n- [8, 10.5]\n- [1048576, 1.2e+03]\n");
  CHECK(s.id == "a100");
  CHECK(s.title == "four: GPUs");
  CHECK(s.system == "dgx-a100");
  CHECK(s.ranks == 4);
  REQUIRE(s.nccl);
  CHECK(*s.nccl == models::nccl::Version{2, 18, 5});
  CHECK(s.cuda == "12.2");
  CHECK(s.env == std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}});
  CHECK(s.launch == models::LaunchMode::single_process);
  CHECK(s.cuda_graph);
  CHECK(s.machine_notes == "one line and its continuation");
  CHECK(s.op == models::nccl::Op::all_gather);
  CHECK(s.dtype == "half");
  CHECK(s.in_place);
  CHECK_FALSE(s.healthy);
  CHECK(s.cause == "a reason");
  CHECK(s.time_derived_from_busbw);
  REQUIRE(s.points.size() == 2);
  CHECK(s.points[0].size == sim::Bytes{8});
  CHECK(s.points[0].time == sim::Time::nanoseconds(10'500));
  CHECK(s.points[1].time == sim::Time::microseconds(1200));
}

TEST_CASE("what a corpus file leaves out stays unknown") {
  const auto s =
      one("system: null\nranks: 16\nnodes: 2\ncollective: sendrecv\nsoftware:\n  launch: unknown\n"
          "columns: [size_bytes, time_us]\nrows: [[8, 10.5]]\n");
  CHECK(s.id == "file");  // the file's name
  CHECK_FALSE(s.system);
  CHECK_FALSE(s.nccl);
  CHECK_FALSE(s.launch);
  CHECK(s.gpus_per_node == 8);  // 16 ranks on 2 nodes
  CHECK(s.healthy);
  CHECK(s.remarks.empty());
}

TEST_CASE("rows may stand in blocks, in one line, after comments, before other keys, with more columns") {
  const std::string columns = "columns: [size_bytes, time_us]\n";
  const auto block = one(std::string(kHead) + columns +
                         "rows:   # size, time\n\n  # first\n  - [8, 10.5]   # small\n"
                         "  - [ 16 , 11 ]\r\nhealth: ok\n");
  const auto flow = one(std::string(kHead) + columns + "rows: [[8, 10.5], [16, 11]]\nhealth: ok\n");
  const auto wide =
      one(std::string(kHead) + "columns: [time_us, busbw, size_bytes]\nrows:\n- [10.5, 1, 8]\n- [11, 2, 16]\n");
  for (const auto* s : {&block, &flow, &wide}) {
    REQUIRE(s->points.size() == 2);
    CHECK(s->points[1].size == sim::Bytes{16});
    CHECK(s->points[1].time == sim::Time::microseconds(11));
  }
}

TEST_CASE("what the source says about software in its own words is a remark, not an error") {
  const auto s = one(std::string(kHead) +
                     "software: {nccl: built from source, launch: torchrun}\n"
                     "columns: [size_bytes, time_us]\nrows:\n- [8, 10.5]\n");
  CHECK_FALSE(s.nccl);
  CHECK_FALSE(s.launch);
  REQUIRE(s.remarks.size() == 2);
  CHECK(s.remarks[0] == "the NCCL version 'built from source' is not understood");
}

TEST_CASE("lines of a problem are those of the file, below the rows too") {
  const auto message = test::error_of([] {
    read_corpus_yaml(std::string(kHead) + "columns: [size_bytes, time_us]\nrows:\n- [8, 1]\n- [16, 2]\nwobble: 1\n",
                     "f.yaml");
  });
  CHECK(message.find("f.yaml:12:1: error: unknown key 'wobble'") != std::string::npos);
}

TEST_CASE("a hundred mistakes are listed, the rest is counted") {
  std::string text = std::string(kHead) + "columns: [size_bytes, time_us]\nrows:\n";
  for (int i = 0; i < 250; ++i) text += "- [8, x]\n";
  try {
    read_corpus_yaml(text, "f.yaml");
    FAIL("no error");
  } catch (const sim::InputError& e) {
    CHECK(e.diagnostics().size() == 101);
    // Each row but the first has two: a time that is none, and a size that stood before. 2 x 250 - 1 - 100 = 399.
    CHECK(std::string(e.what()).find("399 more problems from here on are not listed") != std::string::npos);
  }
}

TEST_CASE("the committed corpus reads: every file, every row, in the order of sizes") {
  const auto reading = calibration::read_measurements(test::repository() / "tests/data/collectives");
  CHECK(reading.series.size() == 112);
  CHECK(reading.notes.empty());
  std::set<std::string> ids;
  std::size_t points = 0, across_nodes = 0, degraded = 0;
  for (const auto& s : reading.series) {
    INFO(s.id);
    ids.insert(s.id);
    points += s.points.size();
    across_nodes += s.nodes > 1 ? 1 : 0;
    degraded += s.healthy ? 0 : 1;
    CHECK(s.remarks.empty());
    CHECK(s.ranks <= s.nodes * s.gpus_per_node);
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      REQUIRE(s.points[i].time > sim::Time{});
      if (i > 0) REQUIRE(s.points[i - 1].size < s.points[i].size);
    }
  }
  // Counted with grep: `^- \[` 13019 rows, `^nodes: 1$` 66 of 112 files, `^health: degraded` 27.
  CHECK(ids.size() == 112);
  CHECK(points == 13019);
  CHECK(across_nodes == 46);
  CHECK(degraded == 27);
}

}  // namespace
