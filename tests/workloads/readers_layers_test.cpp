// Workloads of layers as text (ASTRA-sim, SimAI, AICB) and AICB's CSV. Sums of the real files by awk over their
// columns.
#include <catch2/catch.hpp>
#include <map>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/replay_recording.hpp"
#include "read_recording.hpp"
#include "scratch.hpp"

using namespace linkcast;
using namespace linkcast::test;
using models::nccl::Op;
using workloads::open_recording;
using workloads::Recording;
using workloads::RecordingOptions;
using Kind = workloads::Operation::Kind;

namespace {

RecordingOptions world(int n) {
  RecordingOptions o;
  o.world = n;
  return o;
}

const workloads::RecordedCommunicator& group(const Recording& r, const std::string& name) {
  for (const auto& c : r.communicators)
    if (c.name == name) return c;
  FAIL("no communicator " << name);
  return r.communicators[0];
}

/// Calls and bytes by "communicator operation".
std::map<std::string, std::pair<int, std::int64_t>> calls(const Recording& r) {
  std::map<std::string, std::pair<int, std::int64_t>> out;
  for (const auto& o : operations(r))
    if (o.kind == Kind::collective) {
      auto& [count, bytes] = out[r.communicators[o.communicator].name + " " + std::string{models::nccl::name_of(o.op)}];
      ++count;
      bytes += o.bytes.count();
    }
  return out;
}

sim::Time computing(const Recording& r) {
  sim::Time t;
  for (const auto& o : operations(r))
    if (o.kind == Kind::compute && o.work != workloads::Work::gap) t += o.duration;
  return t;
}

using Pair = std::pair<int, std::int64_t>;

}  // namespace

TEST_CASE("Layers: AICB's GPT-13B, tensor 8, with an old header") {
  const auto recording = open_recording({traces("layers/GPT13B_megatron_tp8_pp1_A100.txt.gz")}, world(128));
  CHECK(recording.report->format == "layers");
  CHECK(recording.report->generation == "SimAI");
  CHECK(recording.ranks == std::vector<int>{0});
  CHECK(group(recording, "tp").ranks == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(group(recording, "dp").ranks.size() == 16);
  CHECK(group(recording, "dp").ranks[1] == 8);
  const auto by = calls(recording);
  // Forward: 89 all-reduces of 2,026,397,712 B in all; backward 82 of 3,248,619,520 (layer norms) and 81 x 20,971,520.
  CHECK(by.at("tp all_reduce") == Pair{89 + 82, 2'026'397'712 + 3'248'619'520 + 81 * 20'971'520LL});
  CHECK(by.at("tp all_gather") == Pair{1, 3'248'619'520});
  CHECK(by.at("tp broadcast") == Pair{1, 16'384});
  CHECK(by.at("dp reduce_scatter") == Pair{1, 6'497'239'040});
  // 74,645,010 + 73,471,011 + 60,080,012 ns, and the update of the only layer whose gradients are exchanged, 100 ns.
  CHECK(computing(recording) == sim::Time::nanoseconds(74'645'010 + 73'471'011 + 60'080'012 + 100));
  CHECK(dependencies_come_first(operations(recording)));
}

TEST_CASE("Layers: SimAI's example, whose header has all it needs") {
  const auto recording = open_recording({traces("layers/simai_micro_all_reduce.txt")});
  CHECK(recording.world == 8);
  CHECK(calls(recording).at("tp all_reduce") == Pair{2, 16'777'216 + 67'108'864});
  const auto result = workloads::replay_recording(recording, topologies::load_cluster("dgx-h100"));
  CHECK(result.collectives == 2);
}

TEST_CASE("Layers: MICRO makes its calls one after the other") {
  const auto recording = open_recording({traces("layers/micro_all_to_all.txt")});
  CHECK(recording.world == 8);  // nothing is said: one node, with a note
  CHECK(recording.report->notes[0].find("8 assumed") != std::string::npos);
  const auto all = operations(recording);
  REQUIRE(all.size() == 19);  // 4 KiB to 1 GiB
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].op == Op::alltoall);
    CHECK(all[i].bytes == sim::Bytes{std::int64_t{4096} << i});
    if (i > 0) CHECK(all[i].after == std::vector<std::uint64_t>{all[i - 1].id});
  }
}

TEST_CASE("Layers: data parallel, gradients exchanged beside the backward pass") {
  Scratch folder;
  const auto file = folder.write("data.txt",
                                 "DATA\n2\n"
                                 "a -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 1000 4\n"
                                 "b -1 11 ALLREDUCE 5 21 NONE 0 31 ALLGATHER 100 0\n");
  const auto recording = open_recording({file}, world(4));
  const auto all = operations(recording);
  // forward a, forward b (whose all-reduce data parallelism does not make); b's weights, their all-gather of four
  // parts, b's input; a's weights, their call, their update. a has no layer before it whose input it is.
  REQUIRE(all.size() == 8);
  CHECK(skipped(recording, "does not make") == 1);
  CHECK(all[2].duration == sim::Time::nanoseconds(31));
  CHECK(all[3].op == Op::all_gather);
  CHECK(all[3].bytes == sim::Bytes{400});
  CHECK(all[4].duration == sim::Time::nanoseconds(21));
  CHECK(all[5].duration == sim::Time::nanoseconds(30));
  CHECK(all[5].after == std::vector<std::uint64_t>{all[4].id});
  CHECK(all[6].op == Op::all_reduce);
  CHECK(all[6].stream == all[3].stream);
  CHECK(all[7].duration == sim::Time::nanoseconds(4));
  CHECK(all[7].after == std::vector<std::uint64_t>{all[6].id});
}

TEST_CASE("Layers: groups by expert and pipeline, recomputing, hybrid dimensions") {
  Scratch folder;
  const auto simai =
      folder.write("s.txt",
                   "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 1 ga: 3 "
                   "all_gpus: 16 checkpoints: 1 0 checkpoint_initiates: 1 1 pp_comm: 64\n2\n"
                   "x -1 600 ALLTOALL_EP 8 0 NONE 0 0 ALLGATHER_DP_EP 32 0\n"
                   "y -1 300 NONE 0 0 NONE 0 0 ALLREDUCE 16 0\n");
  const auto recording = open_recording({simai});
  // 16 ranks: tensor 2, data 4 of which expert 2, pipeline 2.
  CHECK(group(recording, "ep").ranks == std::vector<int>{0, 2});
  CHECK(group(recording, "dp_ep").ranks == std::vector<int>{0, 4});
  CHECK(group(recording, "dp").ranks == std::vector<int>{0, 2, 4, 6});
  CHECK(group(recording, "pp").ranks == std::vector<int>{0, 8});
  const auto by = calls(recording);
  CHECK(by.at("ep alltoall") == Pair{2, 16});  // forward, and once more before the backward pass of y
  CHECK(by.at("dp_ep all_gather") == Pair{1, 32});
  CHECK(computing(recording) == sim::Time::nanoseconds(2 * 900));
  std::int64_t sends = 0, receives = 0;
  sim::Time gap;
  for (const auto& o : operations(recording)) {
    sends += o.kind == Kind::send;
    receives += o.kind == Kind::receive;
    if (o.work == workloads::Work::gap) gap += o.duration;
  }
  CHECK(sends == 3);
  CHECK(receives == 3);
  CHECK(gap == sim::Time::nanoseconds(300));  // 900 (2 - 1) / (1 x 3)

  const auto hybrid = folder.write("h.txt", "HYBRID_DATA_MODEL\n1\nx -1 1 ALLREDUCE 8 1 NONE 0 1 ALLREDUCE 16 0\n");
  RecordingOptions options;
  options.beside = {
      folder.write("n.yml", "topology: [Ring, Switch]\nnpus_count: [4, 2]\nbandwidth: [80.0, 50]\nlatency: [1, 1]\n")};
  const auto other = open_recording({hybrid}, options);
  CHECK(other.world == 8);
  CHECK(group(other, "inner").ranks == std::vector<int>{0, 1, 2, 3});
  CHECK(group(other, "outer").ranks == std::vector<int>{0, 4});
}

TEST_CASE("Layers: all mistakes at their places") {
  Scratch folder;
  const auto file = folder.write("bad.txt",
                                 "DATA\n2\n"
                                 "a -1 10 ALLREDUCES 0 20 NONE 0 30 ALLREDUCE x 4\n"
                                 "b -1 11 NONE\n");
  try {
    open_recording({file});
    FAIL("read");
  } catch (const sim::InputError& e) {
    REQUIRE(e.diagnostics().size() == 3);
    CHECK(e.diagnostics()[0].at.line == 3);
    CHECK(e.diagnostics()[0].at.column == 9);
    CHECK(e.diagnostics()[0].problem.find("ALLREDUCES") != std::string::npos);
    CHECK(e.diagnostics()[1].problem.find("'x' is not a size") != std::string::npos);
    CHECK(e.diagnostics()[2].problem.find("4 columns where 12") != std::string::npos);
  }
  const auto few = folder.write("few.txt", "DATA\n3\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 1 4\n");
  CHECK(skipped(open_recording({few}), "line 2 says 3, 1 follow") == 1);
  const auto ranks = folder.write("ranks.txt",
                                  "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 3 all_gpus: 8\n1\n"
                                  "a -1 10 NONE 0 20 NONE 0 30 NONE 0 4\n");
  CHECK_THROWS_WITH(open_recording({ranks}), Catch::Contains("cannot be divided"));
}

TEST_CASE("AICB's CSV: GPT-13B on 128 ranks") {
  const auto recording = open_recording({traces("layers/G13B_physical.csv.gz")});
  CHECK(recording.report->format == "aicb");
  CHECK(recording.world == 128);
  const auto by = calls(recording);
  CHECK(by.at("tp broadcast") == Pair{3, 17'472});
  CHECK(by.at("tp all_reduce").first == 167);
  CHECK(by.at("dp all_reduce") == Pair{5, 36});
  CHECK(by.at("dp all_gather") == Pair{3, 3'211'479'136});
  CHECK(by.at("dp reduce_scatter") == Pair{1, 6'422'958'080});
  CHECK(group(recording, "dp").ranks.size() == 16);
  CHECK(skipped(recording, "end of an epoch") == 2);
}

TEST_CASE("AICB's CSV: shapes of a product, quoted cells, messages of the first stage") {
  Scratch folder;
  const auto file = folder.write(
      "x.csv",
      "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n"
      "CommType.computation,None,None,\"((2, 3), (3, 5))\",forward.mlp,None,None,,None,None,None,2\n"
      "CommType.isend,CommGroup.pp_group,2,64,forward_step,None,None,send_next,None,None,None,1\n"
      "CommType.irecv,CommGroup.pp_group,2,64,forward_step,None,None,recv_prev,None,None,None,1\n"
      "CommType.magic,CommGroup.tp_group,4,64,x,None,None,,None,None,None,1\n");
  const auto recording = open_recording({file});
  CHECK(recording.world == 8);  // tensor 4 x pipeline 2
  const auto all = operations(recording);
  REQUIRE(all.size() == 3);
  CHECK(all[0].flops == 2 * 2 * 3 * 5);
  CHECK(all[0].touched == 2 * (2 * 3 + 3 * 5 + 2 * 5));
  CHECK(all[2].kind == Kind::send);
  CHECK(recording.communicators[all[2].communicator].ranks == std::vector<int>{0, 4});
  CHECK(skipped(recording, "rank 0 is of the first") == 1);
  CHECK(skipped(recording, "unknown type 'magic'") == 1);
}
