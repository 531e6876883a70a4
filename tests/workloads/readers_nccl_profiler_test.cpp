// The example profiler plugin's trace: the README's, which is no JSON, and one as current versions print it.
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reader_files.hpp"

using namespace linkcast;
using namespace linkcast::test;
using workloads::open_recording;
using workloads::Operation;
using workloads::Work;

namespace {

std::string event(const std::string& name, const std::string& kind, const std::string& phase, int pid,
                  const std::string& args = "") {
  return "{\"name\": \"" + name + "\", \"cat\": \"" + kind + "\", \"ph\": \"" + phase +
         "\", \"id\": 0, \"pid\": " + std::to_string(pid) + ", \"tid\": 1, \"ts\": 1.0" +
         (args.empty() ? "" : ", \"args\": {" + args + "}") + "},\n";
}

std::string collective(const std::string& name, int pid, int rank, int count, long from, long to) {
  return event(name, "COLL", "b", pid,
               "\"SeqNum\": 0, \"CommHash\": 77, \"Rank\": " + std::to_string(rank) + ", \"Count\": " +
                   std::to_string(count) + ", \"Datatype\": \"ncclBfloat16\", \"Algorithm\": \"RING\"") +
         event("KernelCh", "GPU", "b", pid,
               "\"Channel\": 0, \"StartGpuClk\": " + std::to_string(from) + ", \"StopGpuClk\": " + std::to_string(to)) +
         event("KernelCh", "GPU", "e", pid) + event(name, "COLL", "e", pid);
}

}  // namespace

TEST_CASE("NCCL profiler: the README's trace, with bare names, a typographic quote and a cut") {
  const auto recording = open_recording({data("nccl_profiler/readme_allreduce_2gpu.json.txt")});
  CHECK(recording.report->format == "nccl-profiler");
  CHECK(recording.world == 2);  // rank 0 and peer 1
  const auto all = operations(recording);
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].size() == 1);
  CHECK(all[0][0].op == models::nccl::Op::all_reduce);
  CHECK(all[0][0].bytes == sim::Bytes{1'048'576});  // 262,144 float
  // StopGpuClk - StartGpuClk: 1756135989732831232 - 1756135989724672000 ns
  CHECK(all[0][0].measured == sim::Time::picoseconds(8'159'232'000));
  CHECK(skipped(recording, "no event") == 1);
  CHECK(noted(recording, "2 by the highest rank or peer"));
}

TEST_CASE("NCCL profiler: gaps by the GPU's clock, and messages") {
  const Folder folder;
  for (int r = 0; r < 2; ++r)
    folder.write(
        "trace_" + std::to_string(r) + ".json",
        "[\n" + collective("AllGather", 10 + r, r, 512, 1'000'000, 1'020'000) +
            event("Group API", "GROUP_API", "b", 10 + r, "\"groupApiId\": 1") +
            event(r == 0 ? "Send" : "Recv", "P2P", "b", 10 + r,
                  "\"CommHash\": 77, \"Rank\": " + std::to_string(r) + ", \"Peer\": " + std::to_string(1 - r) +
                      ", \"Count\": 3, \"Datatype\": \"ncclFloat64\"") +
            event("KernelCh", "GPU", "b", 10 + r, "\"Channel\": 0, \"StartGpuClk\": 1050000, \"StopGpuClk\": 1051000") +
            event("Send", "P2P", "e", 10 + r) + "{}]\n");
  const auto recording = open_recording({folder.path()});
  CHECK(recording.ranks == std::vector<int>{0, 1});
  const auto all = operations(recording);
  REQUIRE(all[1].size() == 3);
  CHECK(all[1][0].bytes == sim::Bytes{2048});  // 512 of 2 bytes, 2 ranks
  CHECK(all[1][0].measured == sim::Time::from_us(20));
  CHECK(all[1][1].work == Work::gap);
  CHECK(all[1][1].duration == sim::Time::from_us(30));
  CHECK(all[1][2].kind == Operation::Kind::receive);
  CHECK(all[1][2].peer == 0);
  CHECK(all[1][2].bytes == sim::Bytes{24});
  CHECK(all[1][2].batch != 0);
  CHECK(recording.report->skipped.empty());
}

TEST_CASE("NCCL profiler: --world says how many ranks there are, and numbers that cannot be are left out") {
  const Folder folder;
  workloads::RecordingOptions options;
  options.world = 8;
  const auto path =
      folder.write("t.json", "[\n" + event("Group API", "GROUP_API", "b", 1) + collective("AllGather", 1, 0, 16, 5, 9) +
                                 collective("AllGather", 1, 0, -16, 15, 19) + "{\"name\": \"AllGather\", \"cat\"\n");
  const auto recording = open_recording({path}, options);
  CHECK(recording.world == 8);
  CHECK(recording.communicators[0].ranks.size() == 8);
  CHECK(operations(recording)[0].at(0).bytes == sim::Bytes{256});  // 16 x 2 x 8
  CHECK(skipped(recording, "numbers that cannot be") == 1);
  CHECK(skipped(recording, "is cut") == 1);
  CHECK_THROWS_AS(open_recording({folder.write("e.json", "[\n" + event("Group API", "GROUP_API", "b", 1) + "{}]")}),
                  sim::InputError);
}
