// Chakra traces. Expected numbers of the real files were counted by another decoder (a hundred lines of Python).
#include <algorithm>
#include <catch2/catch.hpp>

#include "chakra_writer.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/replay_recording.hpp"
#include "recorded_ranks.hpp"
#include "scratch.hpp"

using namespace linkcast;
using namespace linkcast::test;
using namespace linkcast::test::ranks;
using models::nccl::Op;
using workloads::open_recording;
using Kind = workloads::Operation::Kind;

namespace {

std::string problem(const std::vector<std::string>& paths) {
  try {
    const auto r = open_recording(paths);
    operations(r);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Chakra: four ranks, one all-reduce of 1 MiB each") {
  std::vector<std::string> files;
  for (int r = 3; r >= 0; --r) files.push_back(traces("chakra/all_reduce_4npus_1MB." + std::to_string(r) + ".et"));
  const auto recording = open_recording(files);
  CHECK(recording.report->format == "chakra");
  CHECK(recording.report->generation == "0.0.4");
  CHECK(recording.world == 4);
  CHECK(recording.ranks == std::vector<int>{0, 1, 2, 3});
  for (std::size_t r = 0; r < 4; ++r) {
    const auto all = operations(recording, r);
    REQUIRE(all.size() == 1);
    CHECK(all[0].kind == Kind::collective);
    CHECK(all[0].op == Op::all_reduce);
    CHECK(all[0].bytes == sim::mib(1));
    CHECK((*recording.names)[all[0].name] == "all_reduce_4npus_1MB");
  }
  CHECK(recording.report->used == 4);
  const auto result = workloads::replay_recording(recording, topologies::load_cluster("dgx-h100"));
  CHECK(result.collectives == 1);
}

TEST_CASE("Chakra: a ring of sends and receives, compressed, does not wait for itself") {
  // 1 MiB over 8 ranks: 2 (8 - 1) = 14 messages of 131,072 B to rank 1, as many from rank 7; after the first seven a
  // sum.
  const auto recording = open_recording({traces("chakra/custom_ring_allreduce_8npus_1MB.0.et.gz")});
  CHECK(recording.world == 8);
  CHECK(recording.report->generation == "1.0.2-chakra.0.0.4");
  const auto all = operations(recording);
  CHECK(all.size() == 35);
  std::int64_t sent = 0, received = 0;
  for (const auto& o : all) {
    if (o.kind == Kind::compute) CHECK(o.duration == sim::Time::microseconds(7));
    if (o.kind == Kind::compute) continue;
    CHECK(o.bytes == sim::Bytes{131'072});
    (o.kind == Kind::send ? sent : received)++;
    CHECK(o.peer == (o.kind == Kind::send ? 1 : 7));
  }
  CHECK(sent == 14);
  CHECK(received == 14);
  CHECK(dependencies_come_first(all));
  // Node 1, a receive, depends on node 0, a send, which waits for nothing. Node 2 sums what node 1 brought.
  CHECK(all[1].after.empty());
  CHECK(all[2].after == std::vector<std::uint64_t>{all[1].id});
}

TEST_CASE("Chakra: a PyTorch trace of schema 1.0.1 with calls on the CPU and nodes that were cut out") {
  const auto recording = open_recording({traces("chakra/resnet_ddp_pytorch_v1.0.1.trim.0.et.gz")});
  const auto all = operations(recording);
  CHECK(recording.report->generation == "1.0.1");
  CHECK(all.size() == 94);
  CHECK(recording.report->records == 94);
  CHECK(recording.report->used == 80);
  CHECK(skipped(recording, "without comm_type and comm_size: the call on the CPU") == 14);
  CHECK(skipped(recording, "not in the file") == 395);
  CHECK(dependencies_come_first(all));
  std::vector<std::int64_t> bytes;
  sim::Time measured;
  for (const auto& o : all)
    if (o.kind == Kind::collective) {
      CHECK(o.op == (bytes.size() < 2 ? Op::broadcast : Op::all_reduce));
      bytes.push_back(o.bytes.count());
      measured += o.measured;
    }
  CHECK(bytes == std::vector<std::int64_t>{212'480, 424, 8'196'000, 31'502'336, 26'255'360, 26'550'272, 9'724'160});
  CHECK(measured == sim::Time::microseconds(36'715));
}

TEST_CASE("Chakra: the JSON form") {
  // Seven nodes; three collectives without sizes; 3 five times, 429 and 434 are not among them. "ngpus": 8.
  const auto recording = open_recording({traces("chakra/small_chakra.0.json")});
  const auto all = operations(recording);
  CHECK(recording.world == 8);
  CHECK(all.size() == 6);  // the kernel without a size is nothing but its dependencies
  CHECK(skipped(recording, "without comm_type and comm_size: the call on the CPU") == 2);
  CHECK(skipped(recording, "not in the file") == 7);
  const auto kernel = std::ranges::find(all, 431u, &workloads::Operation::id);  // node 430
  REQUIRE(kernel != all.end());
  CHECK(kernel->duration == sim::Time::microseconds(4));
  CHECK(kernel->work != workloads::Work::gap);
}

TEST_CASE("Chakra: process groups, sizes of what a rank puts in, flops") {
  Scratch folder;
  const auto groups = chakra::framed(
      chakra::number(1, 1) + chakra::text(2, "## process_group:init ##") + chakra::number(3, 1) +
      chakra::text(8, chakra::text(1, R"(['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 8}, )"
                                      R"({"pg_name": "3", "pg_desc": "TP", "ranks": [0, 2, 4, 6]}]'])")));
  const auto file = folder.write(
      "t.0.et",
      chakra::metadata("1.1.1") + groups + chakra::collective(2, 2, 1'000, {}, chakra::attribute("pg_name", "3")) +
          chakra::collective(3, 7, 1'000, {2}, chakra::attribute("pg_name", "0")) + chakra::collective(4, 9, 8, {3}) +
          chakra::collective(5, 0, 8, {}, chakra::attribute("pg_name", "9")) +
          chakra::node(6, "gemm", 4, {}, 0,
                       chakra::attribute("num_ops", 5'000'000'000) + chakra::attribute("tensor_size", 4096, 13)));
  const auto recording = open_recording({file}, {.format = "", .world = 8, .beside = {}});
  REQUIRE(recording.communicators.size() == 3);
  CHECK(recording.communicators[2].description == "TP");
  CHECK(recording.communicators[2].ranks == std::vector<int>{0, 2, 4, 6});
  const auto all = operations(recording);
  REQUIRE(all.size() == 4);
  CHECK(all[0].bytes == sim::Bytes{4'000});  // all-gather: four ranks put 1,000 B in
  CHECK(all[0].communicator == 2);
  CHECK(all[1].bytes == sim::Bytes{1'000});
  CHECK(recording.communicators[all[1].communicator].ranks.size() == 8);
  CHECK(all[2].bytes == sim::Bytes{});  // a barrier
  CHECK(all[3].flops == 5e9);
  CHECK(all[3].touched == 4096);
  CHECK(all[3].work == workloads::Work::gemm);
  CHECK(skipped(recording, "a group that nothing describes") == 1);
  CHECK(recording.report->skipped.back().first.ends_with("node 5: group '9'"));

  const auto beside = folder.write("groups.json", R"({"9": [0, 1]})");
  const auto again = open_recording({file}, {.format = "", .world = 8, .beside = {beside}});
  CHECK(operations(again)[3].bytes == sim::Bytes{8});
  CHECK(skipped(again, "a group that nothing describes") == 0);
}

TEST_CASE("Chakra: later nodes that earlier ones wait for are put first; circles are named") {
  Scratch folder;
  const auto file = folder.write("t.0.et", chakra::metadata() + chakra::node(0, "last", 4, {2}, 1) +
                                               chakra::node(1, "free", 4, {}, 1) + chakra::node(2, "first", 4, {1}, 1));
  const auto recording = open_recording({file});
  const auto all = operations(recording);
  REQUIRE(all.size() == 3);
  CHECK((*recording.names)[all[0].name] == "free");
  CHECK((*recording.names)[all[1].name] == "first");
  CHECK((*recording.names)[all[2].name] == "last");
  CHECK(dependencies_come_first(all));

  const auto circle = folder.write("c.0.et", chakra::metadata() + chakra::node(1, "a", 4, {3}, 1) +
                                                 chakra::node(2, "b", 4, {1}, 1) + chakra::node(3, "c", 4, {2}, 1));
  const auto what = problem({circle});
  CHECK(what.find("circle") != std::string::npos);
  for (const auto* name : {"1 'a'", "2 'b'", "3 'c'"}) CHECK(what.find(name) != std::string::npos);
}

TEST_CASE("Chakra: control dependencies that close a circle are dropped") {
  using namespace chakra;
  Scratch folder;
  // 1 waits for itself; 2 is said to come after 3, which takes what 2 makes.
  const auto file = folder.write(
      "t.0.et", metadata() + framed(number(1, 1) + text(2, "a") + number(3, 4) + number(4, 1)) +
                    framed(number(1, 2) + text(2, "b") + number(3, 4) + number(4, 3)) + node(3, "c", 4, {2}, 1));
  const auto recording = open_recording({file});
  const auto all = operations(recording);
  REQUIRE(all.size() == 3);
  CHECK(all[2].after == std::vector<std::uint64_t>{all[1].id});
  CHECK((*recording.names)[all[2].name] == "c");
  CHECK(skipped(recording, "closes a circle") == 2);
}

TEST_CASE("Chakra: schema 0.0.1 has other numbers") {
  // eg_def.proto: types from 0 without metadata (3 compute, 6 collective), parents 4, run time 7, comm_type 13 (3 is an
  // all-gather), comm_size 18; there is no metadata.
  using namespace chakra;
  Scratch folder;
  const auto file = folder.write("t.0.eg", framed(number(1, 1) + text(2, "c") + number(3, 3) + number(7, 12)) +
                                               framed(number(1, 2) + text(2, "g") + number(3, 6) + number(4, 1) +
                                                      number(13, 3) + number(18, 100)));
  const auto recording = open_recording({file}, {.format = "chakra", .world = 4, .beside = {}});
  CHECK(recording.report->generation == "0.0.1");
  const auto all = operations(recording);
  REQUIRE(all.size() == 2);
  CHECK(all[0].duration == sim::Time::microseconds(12));
  CHECK(all[1].op == Op::all_gather);
  CHECK(all[1].bytes == sim::Bytes{400});
  CHECK(all[1].after == std::vector<std::uint64_t>{all[0].id});
}

TEST_CASE("Chakra: of a file that was cut off the rest is counted") {
  Scratch folder;
  auto text = chakra::metadata() + chakra::collective(0, 0, 64) + chakra::collective(1, 0, 64, {0});
  text.resize(text.size() - 3);
  const auto recording = open_recording({folder.write("t.0.et", text)});
  CHECK(operations(recording).size() == 1);
  CHECK(skipped(recording, "damaged") == 1);
  CHECK(recording.report->skipped[0].first.find("byte ") != std::string::npos);

  const auto all = traces("chakra/all_reduce_4npus_1MB.0.et");
  CHECK(problem({all, all}).find("rank 0 twice") != std::string::npos);
}

TEST_CASE("Files of simulators that hold no workload are told what they are") {
  Scratch folder;
  const auto says = [&](const char* text, const char* what) {
    return problem({folder.write("x", text)}).find(what) != std::string::npos;
  };
  CHECK(says("topology: [ Switch, Ring ]\nnpus_count: [ 8, 4 ]\nbandwidth: [400, 50]\nlatency: [ 936.25, 1000 ]\n",
             "Switch 8 at 400 GB/s and 936.25 ns, Ring 4 at 50 GB/s and 1000 ns"));
  CHECK(says("{\"scheduling-policy\": \"LIFO\"}", "system file"));
  CHECK(says("{\"memory-type\": \"NO_MEMORY_EXPANSION\"}", "remote-memory"));
  CHECK(says("{\"logical-dims\": [\"8\", \"2\"]}", "logical topology"));
  CHECK(says("{\"1\": [0, 1]}", "beside the Chakra trace"));
  CHECK(says("Nodes 8\nTiers 3\nPodsize 4\n", "htsim"));
  CHECK(says("30 8 2 12 64 A100\n16 17\n0 16 2400Gbps 0.000025ms 0\n", "list of links"));
  CHECK(says("test\nTP:\nallreduce,: 300\nDP:\nallreduce,: null\n", "busbw.yaml"));
  CHECK(says("Size,1 Node(NVLinkx),2Node-16GPU(NIC )\n16777216,0.45,0.32\n", "ratios"));
  CHECK(says("PACKET_PAYLOAD_SIZE 9000\nCC_MODE 1\n", "packet simulator"));
  CHECK(says("<algo name=\"a\" nchannels=\"1\">\n", "--algorithm-file"));
  CHECK(says("collective,size_bytes,algorithm\nallreduce,8,ring\n", "--tuner"));
  CHECK(says("id\tName\tParameter_size\tHidden_size\n1\tLLaMA_7B\t7B\t4096\n", "model cards"));
}

TEST_CASE("Chakra: process groups nested as deep as no trace is, and names that are no names") {
  Scratch folder;
  const auto file = [&](const std::string& list) {
    return folder.write("t.0.et",
                        chakra::metadata("1.1.1") +
                            chakra::framed(chakra::number(1, 1) + chakra::text(2, "## process_group:init ##") +
                                           chakra::number(3, 1) + chakra::text(8, chakra::text(1, list))) +
                            chakra::collective(2, 0, 8));
  };
  // The brackets in the text do not make up for those outside of it.
  const std::string deep(100'000, '['), shut(100'000, ']');
  const auto bottomless = open_recording(
      {file(R"(['[{"pg_desc": ")" + shut + R"(", "pg_name": )" + deep + "1" + shut + R"(, "ranks": [0]}]'])")});
  CHECK(skipped(bottomless, "process groups that cannot be read") == 1);
  CHECK(operations(bottomless).size() == 1);
  const auto list = open_recording({file(R"(['[{"pg_name": [1]}, {"pg_name": 7, "ranks": [0, 1]}]'])")});
  CHECK(skipped(list, "neither text nor a number") == 1);
  REQUIRE(list.communicators.size() == 2);
  CHECK(list.communicators[1].name == "7");
}

TEST_CASE("Chakra: many groups of the whole of a large world are refused") {
  // A message with rank 2^22 - 1 makes a world of 2^22; with it, eight groups of all have 9 * 2^22 > 2^25 members.
  Scratch folder;
  std::string list;
  for (int g = 0; g < 8; ++g) list += (g > 0 ? ", " : "") + (R"({"pg_name": "g)" + std::to_string(g) + R"("})");
  const auto file = folder.write(
      "t.0.et", chakra::metadata("1.1.1") +
                    chakra::framed(chakra::number(1, 1) + chakra::text(2, "## process_group:init ##") +
                                   chakra::number(3, 1) + chakra::text(8, chakra::text(1, "['[" + list + "]']"))) +
                    chakra::collective(2, 0, 8));
  CHECK_THROWS_AS(open_recording({file}, {.format = "", .world = 1 << 22, .beside = {}}), sim::InputError);
  CHECK(open_recording({file}, {.format = "", .world = 1 << 10, .beside = {}}).communicators.size() == 9);
}
