// nccl-tests' printed output and -J file in the shapes that people have: versions, options, launchers, many runs.
#include "linkcast/calibration/series.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::Hints;
using calibration::read_nccl_tests;
using calibration::Series;
using models::nccl::Op;

const std::string kColumns =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
    "#wrong\n";

std::string ranks(int n, bool one_process, const std::string& gpu) {
  std::string out;
  for (int r = 0; r < n; ++r) {
    out += "#  Rank  " + std::to_string(r) + " Group  0 Pid " + std::to_string(one_process ? 7 : 700 + r) +
           " on node0 device  " + std::to_string(r) + " [0000:0" + std::to_string(r) + ":00] " + gpu + "\n";
  }
  return out;
}

std::string header(const std::string& program, int n = 8, bool one_process = false,
                   const std::string& gpu = "NVIDIA H100 80GB HBM3", int graph = 0) {
  return "# nccl-tests version 2.17.1 nccl-headers=22304 nccl-library=22304\n# Collective test starting: " + program +
         "\n# nThread 1 nGpus " + std::to_string(one_process ? n : 1) +
         " minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: " +
         std::to_string(graph) + " unalign: 0\n#\n# Using devices\n" + ranks(n, one_process, gpu) + "#\n";
}

const std::string kRow =
    "     1048576        262144     float     sum      -1    30.00   34.95   61.17       0    29.00   36.16   63.28    "
    "   0\n";

TEST_CASE("a log of today: out-of-place and in-place become two series") {
  const auto path = test::repository() / "tests/data/nccl_tests/h100_4gpu_all_reduce.v2.18.3.txt";
  const auto series = calibration::read_series(path);
  REQUIRE(series.size() == 2);
  const auto& s = series[0];
  CHECK(s.id == "h100_4gpu_all_reduce.v2.18.3.txt");
  CHECK(s.op == Op::all_reduce);
  CHECK(s.system == "dgx-h100");  // 4 of its 8 GPUs
  CHECK(s.ranks == 4);
  CHECK(s.nodes == 1);
  REQUIRE(s.nccl);
  CHECK(s.nccl->str() == "2.29.2");
  CHECK(s.launch == models::LaunchMode::single_process);
  CHECK_FALSE(s.cuda_graph);
  CHECK(s.devices == std::vector<std::string>(4, "NVIDIA H100 80GB HBM3"));
  REQUIRE(s.points.size() == 31);
  CHECK(s.points.front().time == sim::Time::nanoseconds(22'720));
  CHECK(s.points.back().size == sim::gib(8));
  CHECK(s.points.back().time == sim::Time::nanoseconds(35'168'900));
  CHECK(series[1].in_place);
  CHECK(series[1].points.back().time == sim::Time::nanoseconds(35'182'800));
}

TEST_CASE("a log of 2020: no root, 'error' for '#wrong', N/A, no name of the operation, rows without bytes") {
  const auto folder = test::repository() / "tests/data/nccl_tests";
  const auto gather = calibration::read_series(folder / "superbench_nccl_allgather.log");
  REQUIRE(gather.size() == 2);
  CHECK(gather[0].op == Op::all_gather);  // from the file's name
  CHECK(gather[0].system == "dgx-a100");
  CHECK(gather[0].points.size() == 29);  // 34 rows, 5 of them of 0 bytes
  CHECK(gather[0].skipped_lines == 1);   // "Launch mode Parallel"
  CHECK(gather[0].redop.empty());
  // The redop column is there, and empty in every row.
  const auto all_to_all = calibration::read_series(folder / "superbench_nccl_alltoall.log");
  REQUIRE(all_to_all.size() == 2);
  CHECK(all_to_all[0].op == Op::alltoall);
  CHECK(all_to_all[0].points.back().time == sim::Time::microseconds(33'508));
}

TEST_CASE("the -J file holds what the printed log holds") {
  const auto folder = test::repository() / "tests/data/nccl_tests";
  const auto printed = calibration::read_series(folder / "h100_4gpu_all_reduce.v2.18.3.txt");
  const auto json = calibration::read_series(folder / "schema_example_dash_J.json");
  REQUIRE(json.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(json[i].op == printed[i].op);
    CHECK(json[i].ranks == printed[i].ranks);
    CHECK(json[i].system == printed[i].system);
    CHECK(json[i].nccl == printed[i].nccl);
    CHECK(json[i].launch == printed[i].launch);
    CHECK(json[i].in_place == printed[i].in_place);
    REQUIRE(json[i].points.size() == 8);  // the last eight rows
    for (std::size_t k = 0; k < 8; ++k) {
      CHECK(json[i].points[k].size == printed[i].points[23 + k].size);
      CHECK(json[i].points[k].time == printed[i].points[23 + k].time);
    }
  }
}

TEST_CASE("of a -J file's environment only NCCL_* is kept") {
  const auto series = calibration::read_nccl_tests_json(
      R"({"args":["./build/all_reduce_perf"],"env":["API_TOKEN=secret","NCCL_ALGO=Ring"],"nccl_version":2708,
          "config":{"nthreads":1,"ngpus":2,"devices":[{"rank":0,"pid":3,"hostname":"h","device_info":"NVIDIA L40S"}]},
          "results":[{"size":1024,"type":"float","redop":"sum","out_of_place":{"time":9.5},"in_place":null}]})",
      "run.json");
  REQUIRE(series.size() == 1);
  CHECK(series[0].env == std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}});
  CHECK(series[0].nccl == models::nccl::Version{2, 7, 8});
  CHECK(series[0].ranks == 2);  // one device is listed for each process, which drives two
  CHECK(series[0].system == "pcie-l40s");
}

TEST_CASE("how the ranks were launched follows from their processes and the graph option") {
  const auto launch = [](const std::string& head) { return read_nccl_tests(head + kColumns + kRow, "log")[0]; };
  CHECK(launch(header("all_reduce_perf", 8, true)).launch == models::LaunchMode::single_process);
  CHECK(launch(header("all_reduce_perf", 8, false)).launch == models::LaunchMode::multi_process);
  const auto graph = launch(header("all_reduce_perf", 8, false, "NVIDIA H100 80GB HBM3", 20));
  CHECK(graph.cuda_graph);
  CHECK(graph.launch == models::LaunchMode::multi_process);
}

TEST_CASE("ranks on several hosts are nodes") {
  auto head = header("all_gather_perf", 4);
  for (const auto* r : {"Rank  2", "Rank  3"}) {
    const auto at = head.find("node0", head.find(r));
    head.replace(at, 5, "node1");
  }
  const auto s = read_nccl_tests(head + kColumns + kRow, "log")[0];
  CHECK(s.nodes == 2);
  CHECK(s.gpus_per_node == 2);
  CHECK(s.ranks == 4);
}

TEST_CASE("runs in one log are told apart, each with its command's settings") {
  const auto series = read_nccl_tests(
      "$ mpirun -np 8 -x NCCL_ALGO=Tree ./build/all_reduce_perf -b 1M -e 1M\n" + header("all_reduce_perf") + kColumns +
          kRow + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 61.2\n#\n" +
          "$ mpirun -np 8 -x NCCL_PROTO=LL ./build/reduce_scatter_perf -b 1M -e 1M\n" + header("reduce_scatter_perf") +
          "node0:7:7 [0] NCCL INFO NCCL_MIN_NCHANNELS set by environment to 8.\n" + kColumns +
          "node0:7:9 [0] NCCL INFO Connected all rings\n" + kRow + kRow,
      "dir/two.log");
  REQUIRE(series.size() == 4);
  CHECK(series[0].id == "two.log#1");
  CHECK(series[0].op == Op::all_reduce);
  CHECK(series[0].env == std::map<std::string, std::string>{{"NCCL_ALGO", "Tree"}});
  CHECK(series[1].id == "two.log#1:in_place");
  CHECK(series[2].id == "two.log#2");
  CHECK(series[2].op == Op::reduce_scatter);
  CHECK(series[2].env == std::map<std::string, std::string>{{"NCCL_MIN_NCHANNELS", "8"}, {"NCCL_PROTO", "LL"}});
  CHECK(series[2].points.size() == 2);  // run cycles repeat a size; both count
  CHECK(series[2].skipped_lines == 3);  // the command and two lines of NCCL
}

TEST_CASE("an old log takes its operation from the command above it") {
  auto head = header("x");
  head.erase(0, head.find("# nThread"));
  const auto series = read_nccl_tests(
      "+ /opt/nccl-tests/build/broadcast_perf -g 8\n" + head + kColumns + kRow +
          "# Avg bus bandwidth    : 61.2\n+ /opt/nccl-tests/build/all_gather_perf -g 8\n" + head + kColumns + kRow,
      "log");
  REQUIRE(series.size() == 4);
  CHECK(series[0].op == Op::broadcast);
  CHECK(series[2].op == Op::all_gather);
}

TEST_CASE("the NCCL version is taken from NCCL's own line where nccl-tests does not print it") {
  auto head = header("all_reduce_perf");
  head.erase(0, head.find('\n') + 1);
  const auto s = read_nccl_tests("NCCL version 2.12.12+cuda11.7\n" + head + kColumns + kRow, "log")[0];
  REQUIRE(s.nccl);
  CHECK(s.nccl->str() == "2.12.12");
}

TEST_CASE("options of nccl-tests change the columns") {
  const std::string timestamps =
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
      "#wrong   timestamp\n"
      "     1048576        262144     float     sum      -1    30.00   34.95   61.17       0    29.00   36.16   63.28  "
      "     0  2025-11-03 14:02:11\n";
  const auto stamped = read_nccl_tests(header("all_reduce_perf") + timestamps, "log");
  REQUIRE(stamped.size() == 2);
  CHECK(stamped[1].points[0].time == sim::Time::microseconds(29));

  const std::string per_iteration =
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    "
      "i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%\n"
      "     1048576        262144     float     sum      -1    30.00   34.95   61.17       0    28.00    33.00    "
      "33.00     2.10    29.00   36.16   63.28       0    27.00    31.00    31.00     1.10\n";
  const auto iterations = read_nccl_tests(header("all_reduce_perf") + per_iteration, "log");
  REQUIRE(iterations.size() == 2);
  CHECK(iterations[1].points[0].time == sim::Time::microseconds(29));

  auto cpu = kColumns;
  cpu.replace(cpu.find("   time"), 7, "cputime");
  CHECK(read_nccl_tests(header("all_reduce_perf") + cpu + kRow, "log")[0].cpu_time);
}

TEST_CASE("shortened numbers, N/A, and runs of one placement") {
  const auto large = read_nccl_tests(header("all_reduce_perf") + kColumns +
                                         " 17179869184    4294967296     float     sum      -1  1.2e+06   14.32   "
                                         "25.05    N/A  1.3e+06   13.22   23.13    N/A\n",
                                     "log");
  REQUIRE(large.size() == 2);
  CHECK(large[0].points[0].time == sim::Time::microseconds(1'200'000));
  // nccl-tests leaves the out-of-place columns blank in a run that is in place only.
  const auto in_place = read_nccl_tests(header("all_reduce_perf") + kColumns +
                                            "     1048576        262144     float     sum      -1                      "
                                            "              29.00   36.16   63.28       0\n",
                                        "log");
  REQUIRE(in_place.size() == 1);
  CHECK(in_place[0].in_place);
  CHECK(in_place[0].points[0].time == sim::Time::microseconds(29));
}

TEST_CASE("launchers' prefixes are taken off") {
  std::string text;
  const auto log = header("all_reduce_perf") + kColumns + kRow;
  for (std::size_t at = 0; at < log.size();) {
    const auto end = log.find('\n', at);
    text += "[1,0]<stdout>:" + log.substr(at, end - at) + "\n";
    at = end + 1;
  }
  const auto series = read_nccl_tests(text, "log");
  REQUIRE(series.size() == 2);
  CHECK(series[0].ranks == 8);
  CHECK(series[0].points[0].time == sim::Time::microseconds(30));
}

TEST_CASE("data types of one run are series of their own") {
  auto half = kRow;
  half.replace(half.find("float"), 5, " half");
  const auto series = read_nccl_tests(header("all_reduce_perf") + kColumns + kRow + half, "log");
  REQUIRE(series.size() == 4);
  CHECK(series[0].id == "log:float_sum");
  CHECK(series[2].dtype == "half");
}

TEST_CASE("a run whose results are wrong is not healthy") {
  auto wrong = kRow;
  wrong.replace(wrong.find("61.17       0"), 13, "61.17      12");
  CHECK_FALSE(read_nccl_tests(header("all_reduce_perf") + kColumns + wrong, "log")[0].healthy);
  CHECK_FALSE(
      read_nccl_tests(header("all_reduce_perf") + kColumns + kRow + "# Out of bounds values : 4 FAILED\n", "log")[0]
          .healthy);
  CHECK(read_nccl_tests(header("all_reduce_perf") + kColumns + kRow, "log")[0].healthy);
}

TEST_CASE("hints fill what the log leaves out, and nothing else") {
  Hints hints;
  hints.op = Op::reduce_scatter;
  hints.ranks = 16;
  hints.system = "my-machine";
  const auto bare = read_nccl_tests(kRow, "log", hints);
  REQUIRE(bare.size() == 2);
  CHECK(bare[0].op == Op::reduce_scatter);
  CHECK(bare[0].ranks == 16);
  CHECK(bare[0].system == "my-machine");
  const auto named = read_nccl_tests(header("all_reduce_perf") + kColumns + kRow, "log", hints);
  CHECK(named[0].op == Op::all_reduce);
  CHECK(named[0].ranks == 8);
}

TEST_CASE("busbw that cannot be of this operation is remarked") {
  // 61.17 / 34.95 = 1.750 = 2 x 7/8: all_reduce on 8 GPUs; all_gather would give 0.875.
  CHECK(read_nccl_tests(header("all_reduce_perf") + kColumns + kRow, "log")[0].remarks.empty());
  const auto odd = read_nccl_tests(header("all_gather_perf") + kColumns + kRow, "log")[0];
  REQUIRE(odd.remarks.size() == 1);
  CHECK(odd.remarks[0] == "busbw is 1.750 x algbw, where all_gather on 8 GPUs gives 0.875: another operation?");
}

TEST_CASE("GPU names lead to systems where they are unambiguous") {
  const auto system = [](const std::string& gpu, int n) {
    return read_nccl_tests(header("all_reduce_perf", n, false, gpu) + kColumns + kRow, "log")[0].system.value_or("-");
  };
  CHECK(system("NVIDIA H100 80GB HBM3", 8) == "dgx-h100");
  CHECK(system("NVIDIA H100 PCIe", 8) == "-");
  CHECK(system("NVIDIA H100 NVL", 2) == "-");
  CHECK(system("NVIDIA H200", 8) == "dgx-h200");
  CHECK(system("NVIDIA H20", 8) == "hgx-h20");
  CHECK(system("NVIDIA H800", 8) == "hgx-h800");
  CHECK(system("NVIDIA B200", 8) == "hgx-b200");
  CHECK(system("NVIDIA GB200", 4) == "gb200-nvl72");
  CHECK(system("NVIDIA GH200 120GB", 4) == "gh200-x4");
  CHECK(system("NVIDIA A100-SXM4-80GB", 4) == "dgx-a100");
  CHECK(system("A100-SXM4-40GB", 8) == "dgx-a100");
  CHECK(system("NVIDIA A100 80GB PCIe", 2) == "pcie-a100");
  CHECK(system("Tesla V100-SXM2-16GB", 8) == "dgx1-v100");
  CHECK(system("Tesla V100-SXM2-16GB", 4) == "-");  // wired in several ways
  CHECK(system("Tesla V100-SXM3-32GB", 8) == "dgx2-v100");
  CHECK(system("NVIDIA GeForce RTX 4090", 2) == "pcie-rtx4090");
  CHECK(system("NVIDIA GeForce RTX 4090 D", 9) == "-");
  CHECK(system("GeForce RTX 2080 Ti", 2) == "pcie-rtx2080ti");
  CHECK(system("NVIDIA L40S", 4) == "pcie-l40s");
  CHECK(system("NVIDIA L4", 2) == "-");
}

}  // namespace
