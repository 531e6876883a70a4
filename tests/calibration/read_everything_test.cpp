// Any mix of files: the committed facts read as a whole, formats are found by what stands in them, and what a file may
// do wrong without being refused.
#include <algorithm>
#include <map>

#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
namespace fs = std::filesystem;
using calibration::Measurements;
using calibration::read_any;
using calibration::read_everything;

Measurements everything(const std::vector<fs::path>& paths) { return read_everything(paths); }

void require_sane(const Measurements& read) {
  const auto series = [](const calibration::Series& s) {
    REQUIRE(s.ranks >= 1);
    REQUIRE_FALSE(s.points.empty());
    for (const auto& p : s.points) REQUIRE((p.size > sim::Bytes{} && p.time > sim::Time{}));
  };
  const auto matrix = [](const calibration::PairMatrix& m) {
    REQUIRE_FALSE(m.cells.empty());
    const bool host = m.to_host || m.from_host;
    for (const auto& row : m.cells) {
      REQUIRE((host || row.size() == m.cells.size()));
      for (const auto& cell : row) REQUIRE((!cell || *cell > 0));
    }
  };
  const auto test = [](const calibration::PairTest& t) {
    REQUIRE_FALSE(t.rows.empty());
    for (const auto& r : t.rows) REQUIRE(r.value > 0);
  };
  for (const auto& s : read.series) series(s);
  for (const auto& m : read.matrices) matrix(m);
  for (const auto& t : read.tests) test(t);
  for (const auto& f : read.figures) REQUIRE(f.GBps > 0);
  for (const auto& c : read.cases) {
    for (const auto& s : c.series) series(s);
    for (const auto& m : c.matrices) matrix(m);
    for (const auto& t : c.tests) test(t);
    for (const auto& f : c.figures) REQUIRE(f.GBps > 0);
  }
}

TEST_CASE("every committed fact reads") {
  const auto data = test::repository() / "tests/data";
  const auto p2p = everything({data / "p2p"});
  require_sane(p2p);
  CHECK(p2p.matrices.size() == 89);  // 112 tables less 20 of the CPU's launch times and 3 of one busy direction
  const auto tests = everything({data / "perftest"});
  require_sane(tests);
  CHECK(tests.tests.size() == 34);  // 40 files less 6 of MPI's collectives
  const auto other = everything({data / "other"});
  require_sane(other);
  CHECK(other.tests.size() == 16);
  CHECK(other.figures.size() == 1);
  const auto cases = everything({data / "diagnosis"});
  require_sane(cases);
  CHECK(cases.cases.size() == 30);
  CHECK(std::all_of(cases.cases.begin(), cases.cases.end(), [](const auto& c) {
    return c.answer && (c.answer->verdict == "normal" || c.answer->verdict == "degraded");
  }));
  const auto tools = everything({data / "tools"});
  require_sane(tools);
  CHECK(tools.matrices.size() == 5);
  CHECK(tools.tests.size() == 1);
  // Files of several paths are one set: four ranks of one run and two other records.
  CHECK(tools.series.size() == 3);
  const auto all = everything({data / "collectives", data / "nccl_tests"});
  require_sane(all);
  CHECK(all.series.size() > 112);
}

TEST_CASE("colours, Windows line ends and a byte order mark change nothing") {
  const auto folder = fs::temp_directory_path() / "linkcast-everything-test";
  fs::create_directories(folder);
  const auto plain = test::text_of(test::repository() / "tests/data/tools/superbench_ib_loopback_all_sizes.log");
  std::string dressed = "\xef\xbb\xbf";
  for (const char c : plain) dressed += c == '\n' ? std::string("\x1b[0m\r\n\x1b[32m") : std::string(1, c);
  std::ofstream(folder / "plain.log", std::ios::binary) << plain;
  std::ofstream(folder / "dressed.log", std::ios::binary) << dressed;
  const auto a = everything({folder / "plain.log"});
  const auto b = everything({folder / "dressed.log"});
  REQUIRE(b.tests.size() == 1);
  REQUIRE(b.tests[0].rows.size() == a.tests.at(0).rows.size());
  CHECK(b.tests[0].rows[5].value == a.tests[0].rows[5].value);
  CHECK(b.tests[0].fabric == "ib");
  fs::remove_all(folder);
}

TEST_CASE("what is odd in a series is remarked, not refused") {
  const auto folder = fs::temp_directory_path() / "linkcast-everything-odd";
  fs::create_directories(folder);
  std::ofstream(folder / "odd.yaml")
      << "kind: collective\ncollective: all_reduce\nranks: 8\ncolumns: [size_bytes, time_us]\n"
         "rows:\n- [1024, 20]\n- [2048, 90]\n- [4096, 30]\n";
  std::ofstream(folder / "notes.txt") << "nothing measured\n";
  std::ofstream(folder / "steps.yaml") << "kind: training_step\n";
  const auto read = everything({folder});
  REQUIRE(read.series.size() == 1);
  REQUIRE(read.series[0].remarks.size() == 1);
  CHECK(read.series[0].remarks[0] == "the time falls from 90.0 to 30.0 us between 2048 and 4096 bytes");
  REQUIRE(read.notes.size() == 2);
  CHECK(read.notes[0].find("notes.txt: no measurement of a known format") != std::string::npos);
  CHECK(read.notes[1].find("steps.yaml: of kind 'training_step', not read") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("what cannot be read is said for every path at once") {
  const auto folder = fs::temp_directory_path() / "linkcast-everything-bad";
  fs::create_directories(folder / "empty");
  std::ofstream(folder / "a.log") << "hello\n";
  std::ofstream(folder / "b.json") << "{\"test_info\": {";
  std::ofstream(folder / "c.bin", std::ios::binary) << std::string(
      "\x7f"
      "ELF\x02\x01",
      6);
  const auto message = test::error_of([&] {
    everything({folder / "a.log", folder / "b.json", folder / "c.bin", folder / "not-there.txt"});
  });
  CHECK(message.find("a.log: error: no measurement of a known format") != std::string::npos);
  CHECK(message.find("b.json:1:") != std::string::npos);
  CHECK(message.find("c.bin:1:5: error: not a text file: byte 0x02") != std::string::npos);
  CHECK(message.find("not-there.txt: error: no such file or folder") != std::string::npos);
  CHECK(test::error_of([&] { everything({folder / "empty"}); }).find("error: no measurement here") !=
        std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("of an environment in JSON only NCCL's variables are kept") {
  auto json = test::text_of(test::repository() / "tests/data/nccl_tests/schema_example_dash_J.json");
  const auto env = json.find("\"env\": [");
  REQUIRE(env != std::string::npos);
  json.insert(env + 8, "\"AWS_SECRET_ACCESS_KEY=hunter2\", \"NCCL_ALGO=Ring\", ");
  const auto read = read_any(json, "run.json");
  REQUIRE_FALSE(read.series.empty());
  for (const auto& s : read.series) {
    CHECK(s.env.count("NCCL_ALGO") == 1);
    CHECK(s.env.count("AWS_SECRET_ACCESS_KEY") == 0);
    std::string all = s.notes + s.title + s.source;
    for (const auto& r : s.remarks) all += r;
    for (const auto& [name, value] : s.env) all += value;
    CHECK(all.find("hunter2") == std::string::npos);
  }
}

}  // namespace
