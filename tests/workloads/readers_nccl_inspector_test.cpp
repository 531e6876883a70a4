// The NCCL inspector's records: four lossy files of one run, the README's, and what is missing.
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reader_files.hpp"

using namespace linkcast;
using namespace linkcast::test;
using workloads::open_recording;
using workloads::Operation;

namespace {

std::string record(int rank, int number, const std::string& coll, long bytes, double us, double algbw,
                   const std::string& id = "0x1", int ranks = 2) {
  return R"({"header":{"id":")" + id + R"(","rank":)" + std::to_string(rank) + R"(,"n_ranks":)" +
         std::to_string(ranks) +
         R"(,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.2","dump_timestamp_us":)" +
         std::to_string(1000 + number) + R"(,"hostname":"h","pid":)" + std::to_string(100 + rank) +
         R"(},"coll_perf":{"coll":")" + coll + R"(","coll_sn":)" + std::to_string(number) +
         R"(,"coll_msg_size_bytes":)" + std::to_string(bytes) + R"(,"coll_exec_time_us":)" + std::to_string(us) +
         R"(,"coll_algobw_gbs":)" + std::to_string(algbw) + "}}\n";
}

}  // namespace

TEST_CASE("NCCL inspector: four ranks of which each lost calls") {
  const auto recording = open_recording(
      {data("nccl_inspector/allreduce_4x4090_rank0.jsonl"), data("nccl_inspector/allreduce_4x4090_rank1.jsonl"),
       data("nccl_inspector/allreduce_4x4090_rank2.jsonl"), data("nccl_inspector/allreduce_4x4090_rank3.jsonl")});
  CHECK(recording.report->format == "nccl-inspector");
  CHECK(recording.report->generation == "v4.0");
  CHECK(recording.world == 4);
  const auto all = operations(recording);
  // By a script over the files: coll_sn of the ranks are 8-76, 2-89, 1-69 and 0-78; between 8 and 69 some rank recorded
  // 22 calls, of which the ranks lost 17, 16, 11 and 16; 20 of 48 records lie outside; 0 to 89 are 90 numbers, 38 seen.
  for (const auto& rank : all) CHECK(rank.size() == 22);
  const std::vector<std::int64_t> lost{17, 16, 11, 16};
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(noted(recording, std::to_string(lost[r]) + " calls of rank " + std::to_string(r) + " were not recorded"));
    CHECK(std::ranges::count_if(all[r], [](const Operation& o) { return o.measured == sim::Time{}; }) == lost[r]);
  }
  CHECK(skipped(recording, "a call at the") == 20);
  CHECK(skipped(recording, "holes in coll_sn") == 52);
  CHECK(recording.report->records == 48);
  CHECK(recording.report->used == 28);
  // Rank 0's first: coll_sn 8, 4096 bytes, 12 us.
  CHECK(all[0][0].bytes == sim::Bytes{4096});
  CHECK(all[0][0].measured == sim::Time::from_us(12));
}

TEST_CASE("NCCL inspector: the records of its README") {
  const auto recording = open_recording({data("nccl_inspector/readme_two_records.jsonl")});
  CHECK(recording.world == 8);
  CHECK(recording.ranks == std::vector<int>{2, 4});
  const auto all = operations(recording);
  CHECK(all[0].at(0).bytes == sim::Bytes{17'179'869'184});
  CHECK(all[0].at(0).measured == sim::Time::from_us(61'974));
  // ReduceScatter says what one rank gets: 2 GiB x 8, as its algbw of 418.4 GB/s in 41,057 us is of 17.2 GB.
  CHECK(all[1].at(0).op == models::nccl::Op::reduce_scatter);
  CHECK(all[1].at(0).bytes == sim::Bytes{17'179'869'184});
}

TEST_CASE("NCCL inspector: lines that are cut, records twice, and Prometheus metrics") {
  const Folder folder;
  const auto good = record(0, 1, "AllGather", 1000, 10, 0.2) + record(0, 1, "AllGather", 1000, 10, 0.2) +
                    record(0, 2, "AllGather", 2000, 10, 0.2) + record(0, 3, "Tickle", 1, 1, 1);
  const auto path = folder.write("h-pid100.log", good + record(0, 4, "AllReduce", 1, 1, 1).substr(0, 100));
  const auto recording = open_recording({path});
  const auto all = operations(recording);
  REQUIRE(all[0].size() == 2);
  CHECK(all[0][0].bytes == sim::Bytes{2000});  // 2 ranks; 0.2 GB/s x 10 us = 2000
  CHECK(all[0][1].bytes == sim::Bytes{2000});  // the algbw says that the size is whole already
  CHECK(skipped(recording, "recorded before") == 1);
  CHECK(skipped(recording, "no model for it") == 1);
  CHECK(skipped(recording, "is cut") == 1);
  const auto metrics = folder.write("m.prom", "nccl_bus_bandwidth_gbs{version=\"v5.1\",nranks=\"8\"} 1.5\n");
  try {
    open_recording({metrics});
    FAIL("averages are no workload");
  } catch (const sim::InputError& e) {
    CHECK_THAT(e.what(), ContainsText("averages"));
  }
}
