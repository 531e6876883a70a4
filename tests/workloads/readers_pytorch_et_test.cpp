// PyTorch execution traces of three schemas, alone and beside a Kineto trace, and PARAM's lists of calls. Sizes of the
// recorded files are worked out from their nodes by hand.
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reader_files.hpp"

using namespace linkcast;
using namespace linkcast::test;
using models::nccl::Op;
using workloads::open_recording;
using workloads::Operation;
using workloads::Work;
using namespace linkcast::sim::literals;

TEST_CASE("execution trace 1.1.0: a ResNet on two GPUs, rank 1") {
  const auto recording = open_recording({data("pytorch_et/resnet_ddp_2gpu_rank1.schema1.1.0.trim.json.gz")});
  CHECK(recording.report->format == "pytorch-et");
  CHECK(recording.report->generation == "schema 1.1.0-chakra.0.0.4");
  CHECK(recording.world == 2);
  CHECK(recording.ranks == std::vector<int>{1});
  CHECK(recording.steps == 3);
  REQUIRE(recording.communicators.size() == 1);
  CHECK(recording.communicators[0].description == "default_pg");
  CHECK(recording.communicators[0].ranks == std::vector<int>{0, 1});  // "ranks": [] is all
  std::int64_t reduces = 0, broadcasts = 0;
  sim::Bytes bytes;
  for (const auto& o : operations(recording)[0]) {
    reduces += o.kind == Operation::Kind::collective && o.op == Op::all_reduce;
    broadcasts += o.kind == Operation::Kind::collective && o.op == Op::broadcast;
    bytes += o.bytes;
  }
  CHECK(reduces == 15);
  CHECK(broadcasts == 6);
  CHECK(bytes == sim::Bytes{307'323'096});  // as the Kineto trace of rank 0 of the same run
}

TEST_CASE("execution trace 1.0.1: DLRM on eight GPUs; the size of the group is in the splits") {
  const auto recording = open_recording({data("pytorch_et/dlrm_8gpu_rank0.schema1.0.1.trim.json.gz")});
  CHECK(recording.world == 8);
  const auto all = operations(recording)[0];
  std::vector<std::pair<Op, std::int64_t>> calls;
  for (const auto& o : all)
    if (o.kind == Operation::Kind::collective) calls.emplace_back(o.op, o.bytes.count());
  const std::vector<std::pair<Op, std::int64_t>> expected{
      {Op::alltoall, 6144 * 4},     {Op::alltoall, 24 * 8},   {Op::alltoall, 384 * 4},   {Op::alltoall, 3392 * 4},
      {Op::all_reduce, 394241 * 4}, {Op::alltoall, 6144 * 4}, {Op::all_reduce, 112 * 4}, {Op::all_reduce, 226960 * 4}};
  CHECK(calls == expected);
}

TEST_CASE("execution trace 1.1.1: computing by its shapes") {
  const auto recording = open_recording({data("pytorch_et/pt2_et.json.gz")});
  const auto all = operations(recording)[0];
  REQUIRE(all.size() == 4);  // twice a product of 4 x 4 and a Triton kernel
  CHECK(all[0].work == Work::gemm);
  CHECK(all[0].flops == 128.0);    // 2 x 4 x 4 x 4
  CHECK(all[0].touched == 192.0);  // three of 16 x 4 bytes, the result being an input as well
  CHECK(all[1].work == Work::elementwise);
  CHECK(all[1].touched == 256.0);
}

TEST_CASE("execution trace: a wait makes what follows wait") {
  const Folder folder;
  const auto node = [](int id, const std::string& inputs, const std::string& name = "record_param_comms") {
    return R"({"id":)" + std::to_string(id) + R"(,"name":")" + name + R"(","ctrl_deps":1,"inputs":{"values":)" + inputs +
           R"x(,"shapes":[[4,4],[4,4]],"types":["Tensor(float)"]},"outputs":{"values":[]},"attrs":[{"name":"rf_id","value":)x" +
           std::to_string(id) + "}]}";
  };
  const std::string tensor = R"([9,1,0,16,4,"cuda:0"])", other = R"([8,2,0,16,4,"cuda:0"])";
  const auto path = folder.write(
      "et_rank0.json",
      R"({"schema":"1.1.0","nodes":[)" + node(4, "[" + tensor + R"(,33,["0","d"],0,"allreduce",[],[],0,1,2])") + "," +
          node(5, "[" + tensor + "," + other + "]", "aten::mm") + "," +
          node(6, R"([33,["",""],0,"wait",[],[],-1,-1,1])") + "," +
          node(7, "[" + tensor + "," + other + "]", "aten::mm") + "]}");
  const auto recording = open_recording({path});
  const auto all = operations(recording)[0];
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind == Operation::Kind::collective);
  CHECK(all[0].bytes == 64_B);
  CHECK(all[0].stream != all[1].stream);
  CHECK(all[1].after == std::vector<std::uint64_t>{});
  CHECK(all[2].after == std::vector<std::uint64_t>{all[1].id, all[0].id});
  CHECK(recording.world == 2);
}

TEST_CASE("execution trace beside a Kineto trace says what that one's calls are") {
  const Folder folder;
  // The Kineto trace has a kernel and a call without arguments (generation A, shapes not recorded); the execution trace
  // has the same call: record function id 71.
  const auto kineto = folder.write(
      "trace_rank0.json", R"({"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":2},"traceEvents":[)"
                          R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":9,"ts":1,"dur":5,)"
                          R"("args":{"External id":7,"Record function id":71}},)"
                          R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllGather_RING_LL","ts":20,"dur":9.5,)"
                          R"("args":{"External id":7,"stream":20,"correlation":3}}]})");
  const auto et = folder.write(
      "et_rank0.json",
      R"({"schema":"1.1.0","nodes":[{"id":4,"name":"record_param_comms","ctrl_deps":1,"inputs":{"values":[]},)"
      R"("outputs":{"values":[]},"attrs":[{"name":"rf_id","value":71},{"name":"collective_name","value":"_allgather_base"},)"
      R"({"name":"dtype","value":"Half"},{"name":"in_msg_nelems","value":50},{"name":"out_msg_nelems","value":100},)"
      R"({"name":"pg_name","value":"0"},{"name":"global_rank_start","value":0},{"name":"global_rank_stride","value":1},)"
      R"({"name":"pg_size","value":2}]}]})");
  workloads::RecordingOptions beside;
  SECTION("the trace first") {
    beside.beside = {et};
    const auto all = operations(open_recording({kineto}, beside))[0];
    REQUIRE(all.size() == 1);
    CHECK(all[0].op == Op::all_gather);
    CHECK(all[0].bytes == 200_B);
    CHECK(all[0].measured == sim::Time::nanoseconds(9500));
  }
  SECTION("the execution trace first") {
    beside.beside = {kineto};
    const auto recording = open_recording({et}, beside);
    CHECK(noted(recording, "1 of 1 calls joined"));
    CHECK(operations(recording)[0].at(0).bytes == 200_B);
  }
  SECTION("alone, the call cannot be sized and the kernel's time is kept") {
    const auto recording = open_recording({kineto});
    CHECK(operations(recording)[0].at(0).kind == Operation::Kind::compute);
    CHECK(skipped(recording, "without a call that says its size") == 1);
  }
}

TEST_CASE("execution trace: damaged") {
  const Folder folder;
  const std::string head = R"({"schema":"1.1.0","nodes":[{"id":2,"name":"[pytorch|profiler|execution_trace|thread]"})";
  CHECK_THROWS_AS(open_recording({folder.write("a.json", head)}), sim::InputError);
  CHECK_THROWS_AS(open_recording({folder.write("b.json", head + "]}")}), sim::InputError);
}

TEST_CASE("PARAM: a list of calls and computing") {
  const auto recording = open_recording({data("param_comms/basic.json")});
  CHECK(recording.report->format == "param-comms");
  CHECK(recording.world == 4);
  REQUIRE(recording.communicators.size() == 1);
  CHECK(recording.communicators[0].ranks == std::vector<int>{0, 1, 2, 3});
  const auto all = operations(recording)[0];
  REQUIRE(all.size() == 3);
  CHECK(all[0].op == Op::all_reduce);
  CHECK(all[0].bytes == sim::Bytes{1'048'576 * 4});
  CHECK(all[1].op == Op::alltoall);
  CHECK(all[1].bytes == sim::Bytes{4096 * 2});
  CHECK(all[2].work == Work::gemm);
  CHECK(all[2].flops == 4.0 * 2 * 1024 * 1024 * 1024);
  CHECK(recording.report->records == 5);
  CHECK(recording.report->used == 5);
}
