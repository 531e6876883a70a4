// nvbandwidth, printed and JSON: which way the data went, what has no place, and N/A.
#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::Engine;
using calibration::read_nvbandwidth;
using calibration::read_nvbandwidth_json;

constexpr const char* kLog =
    "nvbandwidth Version: v0.8\n\nDevice 0: NVIDIA RTX A6000 (00000000:01:00)\n"
    "Device 1: NVIDIA RTX A6000 (00000000:02:00)\n\n"
    "Running device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0       N/A     26.34\n 1     21.80       N/A\n\nSUM device_to_device_memcpy_read_ce "
    "48.14\n\n"
    "Running device_to_device_memcpy_write_sm.\n"
    "memcpy SM GPU(row) <- GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0       N/A     25.00\n 1     20.00       N/A\n\n"
    "Running device_to_device_latency_sm.\n"
    "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)\n"
    "           0         1\n 0       N/A    772.58\n 1    800.00       N/A\n";

TEST_CASE("a read copies from the column's GPU to the row's, a write the other way") {
  const auto read = read_nvbandwidth(kLog, "a6000.log");
  REQUIRE(read.matrices.size() == 3);
  const auto& r = read.matrices[0];
  CHECK(r.id == "a6000.log:device_to_device_memcpy_read_ce");
  CHECK(r.gpu == "NVIDIA RTX A6000");
  CHECK(r.read);
  CHECK(r.peer_access == true);
  CHECK(r.engine == Engine::copy_engine);
  // Row 0 reads from GPU 1: 26.34 GB/s left GPU 1 for GPU 0.
  CHECK(r.cells[1][0] == 26.34);
  CHECK(r.cells[0][1] == 21.80);
  CHECK_FALSE(r.cells[0][0].has_value());
  const auto& w = read.matrices[1];
  CHECK_FALSE(w.read);
  CHECK(w.engine == Engine::sm);
  CHECK(w.cells[0][1] == 25.0);
  const auto& l = read.matrices[2];
  CHECK(l.latency);
  CHECK(l.cells[1][0].value() == Approx(0.77258));  // ns to us
}

TEST_CASE("host copies are one row; what a matrix cannot hold is said") {
  const auto file = test::repository() / "tests/data/tools/superbench_nvbandwidth_results.log";
  const auto read = read_nvbandwidth(test::text_of(file), "gh200.log");
  // host_to_device and device_to_host by copy engine and by SM, and the pointer chase.
  REQUIRE(read.matrices.size() == 5);
  CHECK(read.matrices[0].from_host);
  CHECK(read.matrices[0].cells[0] == std::vector<std::optional<double>>{369.36, 269.33, 412.11});
  CHECK(read.matrices[1].to_host);
  CHECK(read.matrices[1].cells[0][1] == 312.11);
  CHECK(read.matrices[4].latency);
  CHECK(read.matrices[4].cells[0][0].value() == Approx(0.77258));
  REQUIRE(read.notes.size() == 2);
  CHECK(read.notes[0].find("all GPUs copy at once") != std::string::npos);
  CHECK(read.notes[1].find("2 tables are left out: both directions are busy and one is counted") != std::string::npos);
}

TEST_CASE("the JSON stands among lines of a log, its numbers are strings") {
  const std::string json =
      "Loading drivers…\n{\n\"nvbandwidth\" : {\"CUDA Runtime Version\" : 12040,\n\"GPU Device list\" : [\"0: NVIDIA "
      "A100-SXM4-80GB (00000000:07:00)\", \"1: NVIDIA A100-SXM4-80GB (00000000:0f:00)\"],\n\"testcases\" : [\n"
      "{\"name\" : \"device_to_device_bidirectional_memcpy_write_ce\", \"status\" : \"Passed\", "
      "\"bandwidth_description\""
      " : \"memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)\", \"bandwidth_matrix\" : [[\"N/A\", \"420.5\"],"
      "[\"421.5\", \"N/A\"]]},\n{\"name\" : \"host_to_all_memcpy_ce\", \"status\" : \"Waived\"}]}}\ndone\n";
  const auto read = read_nvbandwidth_json(json, "nv.log");
  REQUIRE(read.matrices.size() == 1);
  CHECK(read.matrices[0].bidirectional);
  CHECK(read.matrices[0].cells[0][1] == 420.5);
  CHECK(read.matrices[0].gpu == "NVIDIA A100-SXM4-80GB");
  CHECK(test::error_of([&] { read_nvbandwidth_json(json.substr(0, 300), "nv.log"); }).find("nv.log:") == 0);
}

}  // namespace
