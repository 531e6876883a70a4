// PyTorch profiler traces in three generations, what is inferred from them, and what is wrong with them.
// Figures of the recorded files are from a Python script over the JSON (json.load, Decimal): of events with cat
// "kernel", names that begin with "nccl" apart: number, sum of "dur", sum of "In msg nelems" x the size of "dtype".
#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "reader_files.hpp"

using namespace linkcast;
using namespace linkcast::test;
using workloads::open_recording;
using workloads::Operation;
using workloads::Work;
using namespace linkcast::sim::literals;

namespace {

struct Sum {
  std::int64_t computes = 0, collectives = 0, messages = 0, gaps = 0;
  sim::Time computing, idle, measured;
  sim::Bytes bytes;
};
Sum sum_of(const std::vector<Operation>& all) {
  Sum s;
  for (const auto& o : all) {
    if (o.kind == Operation::Kind::compute) {
      (o.work == Work::gap ? s.gaps : s.computes) += 1;
      (o.work == Work::gap ? s.idle : s.computing) += o.duration;
      continue;
    }
    (o.kind == Operation::Kind::collective ? s.collectives : s.messages) += 1;
    s.measured += o.measured;
    s.bytes += o.bytes;
  }
  return s;
}

std::string kernel(const std::string& name, int stream, double ts, double dur, int correlation,
                   const std::string& more = "") {
  return R"({"ph":"X","cat":"kernel","name":")" + name + R"(","pid":0,"tid":)" + std::to_string(stream) + R"(,"ts":)" +
         std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) + R"(,"args":{"device":0,"stream":)" +
         std::to_string(stream) + R"(,"correlation":)" + std::to_string(correlation) + more + "}}";
}
std::string call(const std::string& name, int elements, const std::string& more = "") {
  const auto n = std::to_string(elements);
  return R"(,"Collective name":")" + name + R"(","In msg nelems":)" + n + R"(,"Out msg nelems":)" + n +
         R"(,"dtype":"BFloat16","Group size":2,"Process Group Name":"0","Process Group Ranks":"[0, 1]")" + more;
}
std::string host(double ts, int external, const std::string& args) {
  return R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":9,"ts":)" + std::to_string(ts) +
         R"(,"dur":5,"args":{"External id":)" + std::to_string(external) + args + "}}";
}
std::string launch(double ts, int correlation) {
  return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":9,"ts":)" + std::to_string(ts) +
         R"(,"dur":1,"args":{"correlation":)" + std::to_string(correlation) + "}}";
}
std::string trace(const std::string& events, const std::string& info = R"("rank":0,"world_size":2)") {
  return R"({"schemaVersion":1,"distributedInfo":{)" + info + R"(},"traceEvents":[)" + events + "]}";
}
const std::string reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("kineto: generation C, a ResNet on two A100") {
  const auto recording = open_recording({data("kineto/resnet_ddp_2gpu_rank0.trim.json.gz")});
  CHECK(recording.report->format == "kineto");
  CHECK(recording.report->generation.front() == 'C');
  CHECK(recording.world == 2);
  CHECK(recording.ranks == std::vector<int>{0});
  CHECK(recording.steps == 3);
  REQUIRE(recording.communicators.size() == 1);
  CHECK(recording.communicators[0].description == "default_pg");
  CHECK(recording.communicators[0].ranks == std::vector<int>{0, 1});
  const auto all = operations(recording)[0];
  const auto s = sum_of(all);
  CHECK(s.computes == 60);
  CHECK(s.computing == sim::Time::nanoseconds(1'788'073));
  CHECK(s.collectives == 21);  // 15 all-reduces, 6 broadcasts
  CHECK(s.bytes == sim::Bytes{306'684'384 + 638'712});
  CHECK(s.measured == sim::Time::nanoseconds(46'876'493));
  // Everything is on two streams that never work at once but for gaps: what is inferred to be idle on the main stream,
  // with what it computes and waits for, makes the three steps: 667,225.958 us from the first to the last.
  CHECK(s.idle < sim::Time::nanoseconds(2 * 667'225'958));
  // An event is counted once: 81 kernels used of 254.
  CHECK(recording.report->records == 254);
  CHECK(recording.report->used == 81);
  // Computing by class, the script's count of names: 12 of gemm.
  std::int64_t gemms = 0;
  for (const auto& o : all) gemms += o.work == Work::gemm;
  CHECK(gemms > 0);
}

TEST_CASE("kineto: generation B, calls of one rank without kernels") {
  const auto recording = open_recording({data("kineto/pgid_1gpu_rank0.trim.json.gz")});
  CHECK(recording.report->generation.front() == 'B');
  CHECK(recording.world == 1);
  CHECK(recording.steps == 5);
  const auto s = sum_of(operations(recording)[0]);
  CHECK(s.computes == 20);
  CHECK(s.collectives == 35);  // 25 all-reduces and 10 broadcasts; 10 waits are none
  CHECK(s.bytes == sim::Bytes{512'205'160});
  CHECK(s.measured == sim::Time{});
  CHECK(noted(recording, "35 calls stand where the host made them"));
}

TEST_CASE("kineto: generation A, sizes by the inputs of calls, the operation by the kernel") {
  const Folder folder;
  const auto path = folder.write(
      "rank0.json",
      trace(host(10, 7, R"(,"Input Dims":[[1000],[],[]],"Input type":["c10::BFloat16","Int","Int"])") + "," +
            launch(12, 70) + "," +
            kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 20, 20, 9, 70, R"(,"External id":7)")));
  const auto recording = open_recording({path});
  CHECK(recording.report->generation.front() == 'A');
  const auto all = operations(recording)[0];
  REQUIRE(all.size() == 1);
  CHECK(all[0].op == models::nccl::Op::all_reduce);
  CHECK(all[0].bytes == 2000_B);  // 1000 of two bytes
  CHECK(all[0].measured == 9_us);
  CHECK(noted(recording, "taken as of the whole world"));
}

TEST_CASE("kineto: what waits for what, and idle time that is kept") {
  const Folder folder;
  // Launched 1 2 3 4 5. The all-reduce was launched behind kernel a, so that it waits for a; c begins 2 us after the
  // all-reduce on a stream that was idle, so that it waited for it; 2 us are too little to be kept, the 40 before d
  // with them are 42. The all-reduce began 10 us after what it waits for.
  const auto path =
      folder.write("rank0.json",
                   trace(kernel("b_gemm", 7, 100, 30, 3) + "," +
                         kernel(reduce, 20, 110, 50, 2, call("allreduce", 512)) + "," + kernel("a_gemm", 7, 0, 100, 1) +
                         "," + kernel("c_gemm", 7, 162, 38, 4) + "," + kernel("d_gemm", 7, 240, 10, 5)));
  const auto recording = open_recording({path});
  const auto all = operations(recording)[0];
  REQUIRE(all.size() == 7);
  CHECK(all[0].id == 1);
  CHECK(all[0].duration == 100_us);
  CHECK(all[1].after == Ids{});
  CHECK(all[2].work == Work::gap);
  CHECK(all[2].duration == 10_us);
  CHECK(all[2].stream == all[3].stream);
  CHECK(all[2].after == Ids{1});
  CHECK(all[3].kind == Operation::Kind::collective);
  CHECK(all[3].after == Ids{1});
  CHECK(all[3].bytes == 1024_B);
  CHECK(all[4].after == Ids{all[3].id});
  CHECK(all[4].duration == 38_us);
  CHECK(all[5].work == Work::gap);
  CHECK(all[5].duration == 42_us);
  CHECK(all[5].stream == 0);
  CHECK(all[6].duration == 10_us);
}

TEST_CASE("kineto: the file says what streams wait for") {
  const Folder folder;
  // Stream 7 waits, from launch 5 on, for what stream 20 had been given when event 4 was recorded: kernel 3. Of times
  // one would infer nothing: it starts 500 us later.
  const std::string wait =
      R"({"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","ts":5,"dur":0,"args":{"stream":7,"correlation":5,)"
      R"("wait_on_stream":20,"wait_on_cuda_event_record_corr_id":4}})";
  const auto path = folder.write(
      "rank0.json", trace(kernel("a", 7, 0, 100, 1) + "," + kernel(reduce, 20, 110, 50, 3, call("allreduce", 512)) +
                          "," + kernel("b", 7, 660, 30, 6) + "," + wait));
  const auto all = operations(open_recording({path}))[0];
  REQUIRE(all.size() == 5);
  CHECK(all[2].kind == Operation::Kind::collective);
  CHECK(all[2].after == Ids{});
  CHECK(all[3].duration == 500_us);  // from 160 to 660
  CHECK(all[4].after == Ids{all[2].id});
}

TEST_CASE("kineto: profiler steps bound the recording") {
  const Folder folder;
  const std::string step =
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":9,"ts":100,"dur":400})";
  const auto path =
      folder.write("rank0.json", trace(kernel("early", 7, 0, 50, 1) + "," + step + "," + kernel("a", 7, 120, 80, 2)));
  const auto recording = open_recording({path});
  const auto all = operations(recording)[0];
  REQUIRE(all.size() == 3);
  CHECK(all[0].duration == 20_us);  // from the step's begin to the kernel
  CHECK(all[1].duration == 80_us);
  CHECK(all[2].duration == 300_us);  // to the step's end at 500
  CHECK(skipped(recording, "before the first profiler step") == 1);
}

TEST_CASE("kineto: sizes are those of nccl-tests") {
  const Folder folder;
  const auto of = [&](const std::string& kernel_name, const std::string& args) {
    const auto path = folder.write("rank0.json", trace(kernel(kernel_name, 20, 0, 5, 1, args)));
    return operations(open_recording({path}))[0].front();
  };
  const std::string group = R"(,"Group size":2,"Process Group Name":"0","Process Group Ranks":"[0, 1]","dtype":"Half")";
  const auto gather = of("ncclDevKernel_AllGather_RING_LL",
                         R"(,"Collective name":"_allgather_base","In msg nelems":100,"Out msg nelems":200)" + group);
  CHECK(gather.op == models::nccl::Op::all_gather);
  CHECK(gather.bytes == 400_B);  // all that is gathered: 200 of two bytes
  const auto scatter =
      of("ncclDevKernel_ReduceScatter_Sum_f16_RING_LL",
         R"(,"Collective name":"_reduce_scatter_base","In msg nelems":300,"Out msg nelems":150)" + group);
  CHECK(scatter.op == models::nccl::Op::reduce_scatter);
  CHECK(scatter.bytes == 600_B);
  const auto send = of("ncclDevKernel_SendRecv",
                       R"(,"Collective name":"send","In msg nelems":7,"Out msg nelems":7,"Dst Rank":1)" + group);
  CHECK(send.kind == Operation::Kind::send);
  CHECK(send.peer == 1);
  CHECK(send.bytes == 14_B);
  const auto broadcast = of("ncclDevKernel_Broadcast_RING_LL", call("broadcast", 4, R"(,"Rank":1)"));
  CHECK(broadcast.root == 1);
}

TEST_CASE("kineto: a group of messages is one kernel without metadata") {
  const Folder folder;
  const std::string group =
      R"(,"Group size":2,"Process Group Name":"3","Process Group Ranks":"[0, 1]","dtype":"Float")";
  const auto message = [&](const std::string& name, const std::string& peer) {
    return R"(,"Collective name":")" + name + R"(","In msg nelems":8,"Out msg nelems":8,)" + peer + group;
  };
  const auto path =
      folder.write("rank0.json", trace(host(10, 1, message("send", R"("Dst Rank":1)")) + "," +
                                       host(16, 2, message("recv", R"("Src Rank":1)")) + "," + launch(25, 5) + "," +
                                       kernel("ncclDevKernel_SendRecv", 20, 30, 9, 5)));
  const auto all = operations(open_recording({path}))[0];
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind == Operation::Kind::send);
  CHECK(all[1].kind == Operation::Kind::receive);
  CHECK(all[0].batch != 0);
  CHECK(all[0].batch == all[1].batch);
  CHECK(all[0].bytes == 32_B);
}

TEST_CASE("kineto: lists of ranks that are cut") {
  const Folder folder;
  const std::string cut = R"(,"Collective name":"allreduce","In msg nelems":4,"dtype":"Float","Group size":64,)"
                          R"("Process Group Name":"5","Process Group Ranks":"[0, 2, 4, ..., ...]")";
  std::vector<int> even, four;
  for (int i = 0; i < 64; ++i) even.push_back(2 * i), four.push_back(i * 4);
  SECTION("by the group's configuration") {
    std::string ranks;
    for (const int r : four) ranks += (r == 0 ? "" : ",") + std::to_string(r);
    const auto path = folder.write(
        "rank0.json",
        trace(kernel(reduce, 20, 0, 5, 1, cut),
              R"("rank":0,"world_size":256,"pg_config":[{"pg_name":"5","pg_size":64,"ranks":[)" + ranks + "]}]"));
    CHECK(open_recording({path}).communicators.at(0).ranks == four);
  }
  SECTION("by the first rank and the stride") {
    const auto path = folder.write(
        "rank0.json", trace(kernel(reduce, 20, 0, 5, 1, cut + R"(,"Global rank start":0,"Global rank stride":4)"),
                            R"("rank":0,"world_size":256)"));
    CHECK(open_recording({path}).communicators.at(0).ranks == four);
  }
  SECTION("continued, and said so") {
    const auto path =
        folder.write("rank0.json", trace(kernel(reduce, 20, 0, 5, 1, cut), R"("rank":0,"world_size":256)"));
    const auto recording = open_recording({path});
    CHECK(recording.communicators.at(0).ranks == even);
    CHECK(noted(recording, "continued by the stride"));
  }
}

TEST_CASE("kineto: what producers write that is no JSON") {
  const Folder folder;
  const auto good = kernel(reduce, 20, 0, 5, 1, call("allreduce", 4, R"(,"Process Group Description": ,"x":NaN)"));
  const auto path = folder.write(
      "rank0.json", trace(good + ",\n" + kernel("a\tb\x01\\\"c", 7, 10, 5, 2) + ",," + kernel("late", 7, 1e3, 5, 3)));
  const auto s = sum_of(operations(open_recording({path}))[0]);
  CHECK(s.collectives == 1);
  CHECK(s.computes == 2);
}

TEST_CASE("kineto: damaged files give what was whole") {
  const Folder folder;
  SECTION("one that ends in the middle") {
    const auto whole = trace(kernel("a", 7, 0, 5, 1) + "," + kernel("b", 7, 10, 5, 2) + "," + kernel("c", 7, 20, 5, 3));
    const auto recording = open_recording({folder.write("rank0.json", whole.substr(0, whole.size() - 30))});
    CHECK(sum_of(operations(recording)[0]).computes == 2);
    CHECK(skipped(recording, "without an end") == 1);
  }
  SECTION("an event without its closing brace") {
    auto broken = kernel("b", 7, 10, 5, 2);
    broken.pop_back();
    const auto recording = open_recording(
        {folder.write("rank0.json", trace(kernel("a", 7, 0, 5, 1) + "," + broken + "," + kernel("c", 7, 20, 5, 3)))});
    CHECK(sum_of(operations(recording)[0]).computes == 2);  // a and c
    CHECK(skipped(recording, "without an end") == 1);
  }
  SECTION("times that are none") {
    const std::string none = R"({"ph":"X","cat":"kernel","name":"k","ts":"soon","dur":1,"args":{"stream":7}})";
    const auto recording = open_recording({folder.write("rank0.json", trace(none + "," + kernel("a", 7, 0, 5, 1)))});
    CHECK(skipped(recording, "without a time") == 1);
  }
  SECTION("nothing that could be replayed") {
    const auto path = folder.write("rank0.json", trace(""));
    CHECK_THROWS_AS(open_recording({path}), sim::InputError);
  }
  SECTION("nothing says how many ranks there are") {
    const auto path = folder.write(
        "rank0.json",
        R"({"schemaVersion":1,"deviceProperties":[],"traceEvents":[)" +
            kernel(reduce, 20, 0, 5, 1, R"(,"Collective name":"allreduce","In msg nelems":4,"dtype":"Float")") + "]}");
    CHECK_THROWS_AS(open_recording({path}), sim::InputError);
    workloads::RecordingOptions options;
    options.world = 4;
    CHECK(open_recording({path}, options).communicators.at(0).ranks.size() == 4);
  }
  SECTION("two files of one rank") {
    const auto a = folder.write("a.json", trace(kernel("a", 7, 0, 5, 1)));
    const auto b = folder.write("b.json", trace(kernel("a", 7, 0, 5, 1)));
    CHECK_THROWS_AS(open_recording({a, b}), sim::InputError);
  }
}

TEST_CASE("kineto: two ranks share their communicators") {
  const Folder folder;
  const auto file = [&](int rank) {
    return folder.write("r" + std::to_string(rank) + ".json",
                        trace(kernel(reduce, 20, 0, 5.0 + rank, 1, call("allreduce", 4)),
                              R"("world_size":2,"rank":)" + std::to_string(rank)));
  };
  const auto recording = open_recording({file(1), file(0)});
  CHECK(recording.ranks == std::vector<int>{0, 1});
  CHECK(recording.communicators.size() == 1);
  const auto all = operations(recording);
  CHECK(all[0][0].measured == 5_us);
  CHECK(all[1][0].measured == 6_us);
}
