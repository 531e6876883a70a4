// The NCCL inspector's records: one call in the files of four ranks, what was lost, and sizes as nccl-tests counts.
#include <array>

#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::InspectorFile;
using calibration::Measurements;
using calibration::read_nccl_inspector;

Measurements read_one(const std::string& text) {
  const InspectorFile file{text, "host-pid1.log"};
  return read_nccl_inspector({&file, 1});
}

TEST_CASE("a call is the slowest rank's time; a size is the median of its calls") {
  std::array<std::string, 4> texts;
  std::vector<InspectorFile> files;
  for (std::size_t r = 0; r < 4; ++r) {
    const auto name = "inspector_4x4090_rank" + std::to_string(r) + ".jsonl";
    texts[r] = test::text_of(test::repository() / "tests/data/tools" / name);
    files.push_back({texts[r], name});
  }
  const auto read = read_nccl_inspector(files);
  REQUIRE(read.series.size() == 1);
  const auto& s = read.series[0];
  CHECK(s.id == "inspector_4x4090_rank0.jsonl:all_reducex4");
  CHECK(s.op == models::nccl::Op::all_reduce);
  CHECK(s.ranks == 4);
  CHECK(s.nodes == 1);
  CHECK(s.gpus_per_node == 4);
  REQUIRE(s.points.size() == 3);
  CHECK(s.points[0].time == sim::Time::microseconds(22));  // call 35, of which two ranks tell: 17 and 22
  // Calls 86 (350, 354, 356, 352) and 87 (145, 140, 140, 145); call 80 has three ranks only and does not count.
  CHECK(s.points[1].size == sim::mib(1));
  CHECK(s.points[1].time == sim::Time::nanoseconds(250'500));
  CHECK(s.points[2].time == sim::Time::microseconds(523));  // of 537, 520, 523
  REQUIRE(s.remarks.size() == 3);
  CHECK(s.remarks[1] == "the inspector is lossy: 7 calls, 5 of them recorded by all 4 ranks (4 files)");
  CHECK(s.remarks[2].find("1 of 3 sizes have no call that all ranks recorded") == 0);
}

TEST_CASE("reduce_scatter counts the whole buffer, as nccl-tests does") {
  const auto read = read_one(test::text_of(test::repository() / "tests/data/tools/readme_two_records.jsonl"));
  REQUIRE(read.series.size() == 2);
  CHECK(read.series[0].op == models::nccl::Op::all_reduce);
  CHECK(read.series[0].points.at(0).size == sim::gib(16));
  // 2 GiB of each of 8 ranks in 41057 us: 418.4 GB/s, which is the algbw that the record has.
  CHECK(read.series[1].op == models::nccl::Op::reduce_scatter);
  CHECK(read.series[1].points.at(0).size == sim::gib(16));
}

constexpr const char* kRecord =
    R"({"header":{"id":"0x1","rank":0,"n_ranks":2,"nnodes":2},"metadata":{"hostname":"secret-host"},)"
    R"("coll_perf":{"coll":"AllGather","coll_sn":1,"coll_msg_size_bytes":1048576,"coll_exec_time_us":50}})";

TEST_CASE("sends and receives, a cut last record, and lines that are none") {
  const std::string p2p =
      R"({"header":{"id":"0x1","rank":0,"n_ranks":8,"nnodes":2},"p2p_perf":{"p2p":"Send","p2p_sn":3,"p2p_peer":1,)"
      R"("p2p_msg_size_bytes":4096,"p2p_exec_time_us":12}})";
  const auto read = read_one(std::string(kRecord) + "\n" + p2p + "\n" + p2p.substr(0, 60));
  REQUIRE(read.series.size() == 2);
  CHECK(read.series[0].nodes == 2);
  CHECK(read.series[1].op == models::nccl::Op::sendrecv);
  CHECK(read.series[1].ranks == 2);
  CHECK(read.series[1].points.at(0).time == sim::Time::microseconds(12));
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0] == "host-pid1.log:3: the last record is cut and left out");

  const auto message = test::error_of([&] { read_one("noise\n" + std::string(kRecord) + "\n{}\n"); });
  CHECK(message.find("host-pid1.log:1:1: error: not a record of the NCCL inspector") != std::string::npos);
  CHECK(message.find("host-pid1.log:3:1: error: not a record") != std::string::npos);
  auto zero = std::string(kRecord);
  zero.replace(zero.find(":50}"), 3, ":0");
  CHECK(test::error_of([&] { read_one(zero); }).find("'coll_exec_time_us' is not a time above zero") !=
        std::string::npos);
}

}  // namespace
