// Cases: what a diagnosis is given, what it must not see, and what half a sentence says about a number.
#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::Case;
using calibration::Figure;
using Metric = calibration::Figure::Metric;
using Env = std::map<std::string, std::string>;
using models::nccl::Op;

Case committed(const std::string& name) {
  const auto path = test::repository() / "tests/data/diagnosis" / (name + ".yaml");
  auto read = calibration::read_any(test::text_of(path), path.string());
  REQUIRE(read.cases.size() == 1);
  return read.cases[0];
}

constexpr const char* kHead =
    "hardware:\n  gpu: H100 SXM\n  gpus_per_node: 8\n  nodes: 2\n  notes: the fault\nmeasurements:\n";

/// The one figure of a case with this sentence.
Figure figure(const std::string& what, const std::string& more = {}) {
  const auto read = calibration::read_corpus_case(
      std::string(kHead) + "- kind: figure\n  value: 100\n  unit: GB/s\n  what: " + what + "\n" + more, "case.yaml");
  REQUIRE(read.cases.at(0).figures.size() == 1);
  return read.cases[0].figures[0];
}

TEST_CASE("a case of figures and tests") {
  const auto c = committed("03-h100-baremetal-acs-on");
  CHECK(c.id == "03-h100-baremetal-acs-on");
  CHECK(c.hardware.gpu == "H100 SXM");
  CHECK(c.hardware.gpus_per_node == 8);
  CHECK(c.hardware.nodes == 2);
  CHECK(c.hardware.nic_gbps == 400);
  CHECK_FALSE(c.nccl.has_value());
  REQUIRE(c.figures.size() == 2);
  CHECK(c.figures[0].op == Op::all_reduce);
  CHECK(c.figures[0].metric == Metric::busbw);
  CHECK(c.figures[0].size == sim::gib(8));
  CHECK(c.figures[0].ranks == 16);
  CHECK(c.figures[0].GBps == 186);
  CHECK(c.figures[1].ranks == 8);
  REQUIRE(c.tests.size() == 2);
  CHECK(c.tests[0].tool == "ib_write_bw");
  CHECK(c.tests[0].nics == 1);
  CHECK(c.tests[0].qps == 4);
  CHECK(c.tests[0].rows[0].size == sim::mib(1));
  CHECK(c.tests[0].rows[0].value == Approx(395.08 / 8));
  CHECK(c.tests[1].nics == 8);
  REQUIRE(c.answer.has_value());
  CHECK(c.answer->verdict == "degraded");
}

TEST_CASE("nothing but the answer tells what was found") {
  const auto read = calibration::read_corpus_case(
      "id: x\nhardware:\n  gpu: B300\n  nodes: 1\n  notes: SECRET\nsoftware:\n  nccl: <= 2.22.3\n  env: SECRET\n"
      "symptom: SECRET\nmeasurements:\n- kind: figure\n  value: 695\n  unit: GB/s\n  what: busbw\n  note: SECRET\n"
      "- kind: nccl_tests\n  collective: all_reduce\n  placement: 8 ranks\n  rows: [[8, 10]]\n"
      "after_fix: [{what: SECRET}]\nverdict: degraded\ncause: SECRET\nestablished_by: SECRET\nconfidence: SECRET\n",
      "case.yaml");
  const auto& c = read.cases.at(0);
  CHECK(c.nccl->str() == "2.22.3");
  CHECK(c.answer->cause == "SECRET");
  std::string all = c.hardware.gpu + c.hardware.fabric + c.hardware.cpu;
  for (const auto& f : c.figures) all += f.what;
  for (const auto& s : c.series) all += s.cause + s.notes + s.machine_notes + s.title;
  for (const auto& n : read.notes) all += n;
  CHECK(all.find("SECRET") == std::string::npos);
  CHECK(c.series.at(0).healthy);
  CHECK(c.figures.at(0).env.empty());
}

TEST_CASE("what half a sentence says") {
  CHECK(figure("all_reduce busbw, NVLS off").env == Env{{"NCCL_NVLS_ENABLE", "0"}});
  CHECK(figure("all_reduce busbw, NVLS on").env.empty());
  CHECK(figure("NVLS, 5 GPUs").env == Env{{"NCCL_ALGO", "NVLS"}});
  CHECK(figure("NVLS, 5 GPUs").ranks == 5);
  CHECK(figure("busbw, ring, 2 to 8 GPUs, upper end").env == Env{{"NCCL_ALGO", "Ring"}});
  CHECK_FALSE(figure("busbw, ring, 2 to 8 GPUs, upper end").ranks.has_value());
  CHECK(figure("12 ranks, ring (default)").env.empty());
  CHECK(figure("peak with NCCL_PROTO=Simple, 4 nodes").env == Env{{"NCCL_PROTO", "Simple"}});
  CHECK(figure("peak with NCCL_PROTO=Simple, 4 nodes").ranks == 32);  // of 8 GPUs each
  CHECK(figure("all_reduce busbw, 4 GPUs and 2 NICs per node").ranks == 8);
  CHECK(figure("single node").ranks == 8);
  CHECK_FALSE(figure("all_reduce max, NCCL 2.7.8, -g 8").ranks.has_value());

  CHECK(figure("all_reduce algbw at 256M, about (busbw 437.5 by the factor 1.75)").metric == Metric::algbw);
  CHECK(figure("all_reduce algbw at 256M, about").size == sim::mib(256));
  CHECK(figure("all_reduce avg busbw 4M-1024M").metric == Metric::average_busbw);
  CHECK_FALSE(figure("all_reduce avg busbw 4M-1024M").size.has_value());
  CHECK(figure("average over 1K-8G", "  collective: all_reduce\n").metric == Metric::average_busbw);
  CHECK(figure("sendrecv avg busbw, 512M, 8 nodes").metric == Metric::busbw);
  CHECK(figure("any variant", "  collective: all_reduce\n").metric == Metric::unknown);
  CHECK(figure("NVLink, one direction, measured").metric == Metric::p2p);
  CHECK(figure("p2p bidirectional").metric == Metric::p2p_bidirectional);
  CHECK(figure("EP16 dispatch/combine, RDMA figure").metric == Metric::unknown);
  CHECK(figure("8 x 200G NICs, A100 80GB").size == std::nullopt);
  CHECK(figure("ReduceScatter bus bandwidth").op == Op::reduce_scatter);
  // Keys that say it outright win over the sentence.
  const auto told = figure("16 GPUs, 8 GB", "  size_bytes: 1024\n  ranks: 4\n  collective: broadcast\n");
  CHECK(told.size == sim::kib(1));
  CHECK(told.ranks == 4);
  CHECK(told.op == Op::broadcast);
}

TEST_CASE("units of a figure") {
  CHECK(committed("13-gb10-single-hca").figures.at(0).GBps == Approx(98.0 / 8));
  const auto path = test::repository() / "tests/data/diagnosis/83-gb300-roce-ecmp.yaml";
  const auto read = calibration::read_any(test::text_of(path), path.string());
  // Half of what four NICs of 800 Gb/s carry: 4 * 800 / 8 * 50 %.
  REQUIRE(read.cases.at(0).figures.size() == 1);
  CHECK(read.cases.at(0).figures[0].GBps == Approx(200));
}

TEST_CASE("a series without times has those of its bandwidth") {
  const auto c = committed("33-gb200-nvl4-ring-default");
  REQUIRE(c.series.size() == 2);
  CHECK(c.series[0].ranks == 12);
  CHECK(c.series[0].nodes == 3);
  CHECK(c.series[0].gpus_per_node == 4);
  CHECK(c.series[0].env.empty());
  CHECK(c.series[0].time_derived_from_busbw);
  // 16 GiB at 107.3 GB/s: 17179869184 / 107300 = 160110.6 us
  CHECK(c.series[0].points.at(0).time.us() == Approx(160110.6).epsilon(1e-6));
  CHECK(c.series[1].gpus_per_node == 8);
  const auto either = committed("25-mpirun-core-binding");
  CHECK(either.series.at(0).op == Op::all_gather);
  CHECK(either.series.at(0).remarks.at(0) == "'all_gather or reduce_scatter' is taken as all_gather");
  CHECK(either.series.at(0).points.size() == 12);
  CHECK(committed("65-h100-1gpu-4nic-tree").series.at(0).ranks == 2);
}

TEST_CASE("matrices of a case") {
  const auto c = committed("53-h100-p2p-matrix");
  REQUIRE(c.matrices.size() == 3);
  CHECK(c.matrices[0].bidirectional);
  CHECK(c.matrices[0].peer_access == true);
  // The first row only: the others were not measured.
  CHECK(c.matrices[2].cells.size() == 8);
  CHECK(c.matrices[2].cells[0][7] == 375.6);
  CHECK_FALSE(c.matrices[2].cells[1][0].has_value());
  const auto nv = committed("58-a6000-nvbandwidth");
  CHECK(nv.matrices.at(0).read);
  CHECK(nv.matrices.at(0).cells[3][0] == 21.95);  // row 0 read from GPU 3
}

TEST_CASE("mistakes in a case are named where they stand; what is merely unknown is left out") {
  const auto message = test::error_of([] {
    calibration::read_corpus_case(
        "hardware:\n  nodes: some\nmeasurments: []\nmeasurements:\n- 5\n- kind: figure\n  value: -1\n  unit: GB/s\n"
        "- kind: p2p_matrix\n  title: x\n  unit: parsec\n  matrix: [[1, 2], [3]]\n",
        "case.yaml");
  });
  CHECK(message.find("case.yaml:2:10: error: 'some' is not a value for 'nodes'") != std::string::npos);
  CHECK(message.find("case.yaml:3:1: error: unknown key 'measurments'") != std::string::npos);
  CHECK(message.find("did you mean 'measurements'?") != std::string::npos);
  CHECK(message.find("case.yaml:5:3: error: not a measurement") != std::string::npos);
  CHECK(message.find("case.yaml:7:10: error: no 'value' above zero") != std::string::npos);
  CHECK(message.find("case.yaml:11:9: error: the unit 'parsec' is not known") != std::string::npos);
  CHECK(message.find("case.yaml:12:20: error: a row of 1 numbers after one of 2") != std::string::npos);
  const auto read =
      calibration::read_corpus_case(std::string(kHead) + "- kind: horoscope\n  colour: red\n", "case.yaml");
  REQUIRE(read.notes.size() == 2);
  CHECK(read.notes[0] == "case.yaml:8: 'colour' of a measurement is not read");
  CHECK(read.notes[1] == "case.yaml:7: a measurement of kind 'horoscope' is not read");
}

}  // namespace
