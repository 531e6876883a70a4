// NCCL_DEBUG logs: a real one of two builds of NCCL whose lines run into each other, and each dialect by itself.
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reader_files.hpp"

using namespace linkcast;
using namespace linkcast::test;
using workloads::open_recording;
using workloads::Operation;

namespace {

std::string init(const std::string& head, const std::string& comm, int rank, int ranks, const std::string& id) {
  return head + "NCCL INFO ncclCommInitRank comm " + comm + " rank " + std::to_string(rank) + " nranks " +
         std::to_string(ranks) + " cudaDev 0 nvmlDev 0 busId 1a000" + (id.empty() ? "" : " commId " + id) +
         " - Init COMPLETE\n";
}

std::string call(const std::string& head, const std::string& verb, const std::string& op_count, int count, int type,
                 int root, const std::string& comm, int ranks, const std::string& more = "") {
  return head + "NCCL INFO " + verb + ": opCount " + op_count + " sendbuff 0x7f10 recvbuff 0x7f20 count " +
         std::to_string(count) + " datatype " + std::to_string(type) + " op 0 root " + std::to_string(root) + " comm " +
         comm + " [nranks=" + std::to_string(ranks) + "] stream 0x55" + more + "\n";
}

}  // namespace

TEST_CASE("NCCL log: a run of four ranks on two nodes, of a private and a stock build") {
  const auto recording = open_recording({data("nccl_log/allgather_2node_4gpu.log")});
  CHECK(recording.report->format == "nccl-log");
  CHECK(recording.world == 4);
  CHECK(recording.ranks == std::vector<int>{0, 1, 2, 3});
  REQUIRE(recording.communicators.size() == 1);
  CHECK(recording.communicators[0].name == "0x6697036b18d088cb");
  // Counted with grep: each of four processes has 5 calls of 67,108,864 floats of its own, x 4 bytes x 4 ranks.
  for (const auto& rank : operations(recording)) {
    REQUIRE(rank.size() == 5);
    for (const auto& o : rank) {
      CHECK(o.op == models::nccl::Op::all_gather);
      CHECK(o.bytes == sim::Bytes{1'073'741'824});
    }
  }
  // 26 + 21 + 6 + 6 of whole lines and one behind nccl-tests' output without an end of line.
  CHECK(skipped(recording, "no elements") == 60);
  CHECK(recording.report->records == 80);
  CHECK(recording.report->used == 20);
  CHECK(noted(recording, "AllGather RING/SIMPLE"));
}

TEST_CASE("NCCL log: five dialects say the same") {
  const auto one = [](const std::string& a, const std::string& b, const std::string& id, const std::string& more) {
    const Folder folder;
    std::string text;
    for (const auto& [head, comm, rank] : {std::tuple{a, "0x10", 0}, std::tuple{b, "0x20", 1}})
      text += init(head, comm, rank, 2, id) + call(head, "ReduceScatter", "a", 100, 9, 0, comm, 2, more);
    const auto recording = open_recording({folder.write("job.log", text)});
    CHECK(recording.world == 2);
    const auto all = operations(recording);
    REQUIRE(all.size() == 2);
    for (const auto& rank : all) {
      REQUIRE(rank.size() == 1);
      CHECK(rank[0].op == models::nccl::Op::reduce_scatter);
      CHECK(rank[0].bytes == sim::Bytes{400});  // 100 of 2 bytes, two ranks
    }
    CHECK(recording.report->skipped.empty());
  };
  one("h1:10:11 [0] ", "h1:20:21 [1] ", "0xabc", "");
  one("h1:10:11 [0] ", "h1:20:21 [1] ", "", "");  // before NCCL 2.17: no commId
  one("h1:10:11 [0] ", "h1:20:21 [1] ", "0xabc", " task 3 globalrank 1");
  one("h1:10:11 [0] enqueueCheck, 2306 ", "h1:20:21 [1] enqueueCheck, 2306 ", "0xabc", "");
  one("[2026-01-02 03:04:05] h1:10:11 [0] ", "[1,1]<stdout>: h1:20:21 [1] ", "0xabc", "");
}

TEST_CASE("NCCL log: two messages on one line, and one that is torn") {
  const Folder folder;
  const std::string a = "h:1:1 [0] ", b = "h:2:2 [1] ";
  auto glued = call(a, "AllReduce", "0", 8, 7, 0, "0x10", 2);
  glued.pop_back();
  const auto recording = open_recording({folder.write(
      "x.log", init(a, "0x10", 0, 2, "0x1") + init(b, "0x20", 1, 2, "0x1") + glued +
                   call(b, "AllReduce", "0", 8, 7, 0, "0x20", 2) + call(a, "AllReduce", "1", 16, 7, 0, "0x10", 2) +
                   "h:2:2 [1] NCCL INFO AllReduce: opCount 1 sendbuff 0x7f10 recvb\n" +
                   call(a, "AllReduce", "2", 8, 7, 0, "0x10", 2) + call(b, "AllReduce", "2", 8, 7, 0, "0x20", 2))});
  const auto all = operations(recording);
  // Rank 1's call 1 is torn: it made it, as rank 0 says.
  REQUIRE(all[0].size() == 3);
  REQUIRE(all[1].size() == 3);
  CHECK(all[1][1].bytes == sim::Bytes{64});
  CHECK(skipped(recording, "cut or mixed") == 1);
  CHECK(recording.report->skipped[0].first == folder.path() + "/x.log:5");
  CHECK(noted(recording, "1 calls of rank 1 were not recorded"));
}

TEST_CASE("NCCL log: communicators of one file each, split from the world's, and groups of messages") {
  const Folder folder;
  std::vector<std::string> files;
  for (int r = 0; r < 4; ++r) {
    const auto head =
        "n" + std::to_string(r / 2) + ":" + std::to_string(100 + r) + ":7 [" + std::to_string(r % 2) + "] ";
    // Ranks 0 and 2, 1 and 3; the pointers are the same in every process.
    const auto split = head + "NCCL INFO ncclCommSplit comm 0xb rank " + std::to_string(r / 2) +
                       " nranks 2 cudaDev 0 nvmlDev 0 busId 1 parent 0xa color " + std::to_string(r % 2) +
                       " key 0 commId 0x" + std::to_string(50 + r % 2) + " - Init COMPLETE\n";
    const auto peer = std::to_string(1 - r / 2);
    files.push_back(folder.write("log." + std::to_string(r), init(head, "0xa", r, 4, "0x99") + split +
                                                                 call(head, "Send", "0", 10, 0, 1 - r / 2, "0xb", 2) +
                                                                 call(head, "Recv", "0", 10, 0, 1 - r / 2, "0xb", 2) +
                                                                 call(head, "Send", "1", 20, 0, 1 - r / 2, "0xb", 2) +
                                                                 call(head, "AlltoAll", "2", 5, 7, 0, "0xb", 2)));
  }
  const auto recording = open_recording(files);
  CHECK(recording.world == 4);
  REQUIRE(recording.communicators.size() == 3);
  CHECK(recording.communicators[1].ranks == std::vector<int>{0, 2});
  CHECK(recording.communicators[2].ranks == std::vector<int>{1, 3});
  CHECK(recording.communicators[1].description == "split of 0x99, color 0");
  const auto all = operations(recording);
  REQUIRE(all[3].size() == 4);
  CHECK(all[3][0].kind == Operation::Kind::send);
  CHECK(all[3][0].peer == 0);
  CHECK(all[3][0].batch == all[3][1].batch);  // one opCount: one group
  CHECK(all[3][2].batch != all[3][1].batch);
  CHECK(all[3][3].bytes == sim::Bytes{40});  // 5 floats for each of 2
}

TEST_CASE("NCCL log: of one rank alone, members are guessed and said") {
  const Folder folder;
  const std::string h = "h:1:1 [1] ";
  const auto recording = open_recording({folder.write(
      "x", init(h, "0x1", 5, 8, "0x1") + init(h, "0x2", 1, 4, "0x2") + init(h, "0x3", 1, 2, "0x3") +
               call(h, "AllReduce", "0", 1, 7, 0, "0x2", 4) + call(h, "AllReduce", "0", 1, 7, 0, "0x3", 2))});
  CHECK(recording.world == 8);
  CHECK(recording.ranks == std::vector<int>{5});
  // Rank 1 of 4 in a world of 8 is rank 5: neighbours from 4. Rank 1 of 2 is 5: with 4 as its neighbour, as 4 is even.
  CHECK(recording.communicators[1].ranks == std::vector<int>{4, 5, 6, 7});
  CHECK(recording.communicators[2].ranks == std::vector<int>{4, 5});
  CHECK(noted(recording, "2 communicators have members that were not recorded"));
}

TEST_CASE("NCCL log: COLL without INIT, and logs without a call") {
  const Folder folder;
  const auto recording =
      open_recording({folder.write("x", call("b:1:1 [0] ", "AllReduce", "0", 4, 7, 0, "0x2", 2) +
                                            call("a:1:1 [0] ", "AllReduce", "0", 4, 7, 0, "0x2", 2))});
  CHECK(recording.world == 2);
  CHECK(noted(recording, "no INIT lines"));
  CHECK(operations(recording)[1].size() == 1);
  CHECK_THROWS_AS(open_recording({folder.write("y", init("a:1:1 [0] ", "0x1", 0, 1, "0x1"))}), sim::InputError);
  const auto ended = open_recording(
      {folder.write("z", init("a:1:1 [0] ", "0x1", 0, 2, "0x1") + init("a:2:1 [1] ", "0x1", 1, 2, "0x1") +
                             call("a:1:1 [0] ", "AllReduce", "0", 4, 7, 0, "0x1", 2) +
                             call("a:2:1 [1] ", "AllReduce", "0", 4, 7, 0, "0x1", 2) +
                             call("a:1:1 [0] ", "AllReduce", "1", 4, 7, 0, "0x1", 2))});
  CHECK(skipped(ended, "a call at the end") == 1);  // the job ended in it
}
