// The corpus's kinds beside `collective`: matrices, tests between hosts, single points.
#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::Figure;
using calibration::MemoryKind;
using calibration::read_corpus_matrices;
using calibration::read_corpus_pair_test;
using calibration::read_corpus_points;

calibration::Measurements committed(const std::string& name) {
  const auto path = test::repository() / "tests/data" / name;
  return calibration::read_any(test::text_of(path), path.string());
}

TEST_CASE("matrices keep their titles' meaning") {
  const auto read = committed("p2p/p2p-x6-pcie-slowp2p.yaml");
  REQUIRE(read.matrices.size() == 3);
  CHECK(read.matrices[0].id == "p2p-x6-pcie-slowp2p#1");
  CHECK(read.matrices[0].peer_access == false);
  CHECK_FALSE(read.matrices[0].healthy);
  CHECK_FALSE(read.matrices[0].system.has_value());
  CHECK(read.matrices[1].cells[3][0] == 10.23);  // row 3 writes to column 0
  CHECK(read.matrices[2].cells[3][0] == 10.22);  // row 0 reads from column 3
  const auto host = committed("p2p/c2c-gb300station-mleng.yaml");
  REQUIRE(host.matrices.size() == 2);
  CHECK(host.matrices[0].from_host);
  CHECK(host.matrices[0].cells[0][0] == 359.05);
  CHECK(host.matrices[1].to_host);
  REQUIRE(host.notes.size() == 2);
  CHECK(host.notes[0].find("both directions are busy and one is counted") != std::string::npos);
}

TEST_CASE("a zero on the diagonal is not measured, a ragged row is an error") {
  const auto read = committed("p2p/nvbandwidth-readme-x8.yaml");
  CHECK_FALSE(read.matrices.at(0).cells[0][0].has_value());
  CHECK(read.matrices.at(0).cells[0][1] == 276.07);
  const auto message = test::error_of([] {
    read_corpus_matrices(
        "kind: p2p_matrix\nmatrices:\n- name: Unidirectional\n  unit: GB/s\n  matrix:\n  - [1, 2]\n  - [3]\n",
        "m.yaml");
  });
  CHECK(message.find("m.yaml:7:5: error: a row of 1 numbers after one of 2") != std::string::npos);
}

TEST_CASE("tests between hosts come in GB/s and us, whatever their unit") {
  // 0.045526 Gb/s are 0.00569075 GB/s.
  const auto gb = committed("perftest/perftest-ib-hdr200-write-bw-01.yaml");
  REQUIRE(gb.tests.size() == 1);
  CHECK(gb.tests[0].tool == "ib_write_bw");
  CHECK(gb.tests[0].qps == 1);
  CHECK(gb.tests[0].nic_gbps == 200);
  CHECK(gb.tests[0].fabric == "ib");
  CHECK(gb.tests[0].memory == MemoryKind::host);
  CHECK(gb.tests[0].rows[0].value == Approx(0.00569075));
  const auto mib = committed("perftest/perftest-ib-hdr200-send-bw-01.yaml");
  CHECK(mib.tests.at(0).rows[0].value == Approx(9.29 * 1.048576e-3));
  const auto mb = committed("perftest/osu-slingshot-hook-bw-degraded-01.yaml");
  CHECK(mb.tests.at(0).rows[0].value == Approx(0.22e-3));
  CHECK_FALSE(mb.tests.at(0).healthy);
  const auto both = committed("perftest/perftest-roce-pollara400-write-bw-bidir-gdr-01.yaml");
  CHECK(both.tests.at(0).bidirectional);
  CHECK(both.tests.at(0).memory == MemoryKind::gpu);
  CHECK(committed("perftest/osu-slingshot-kestrel-mbw-mr-cpu-01.yaml").tests.at(0).qps == 104);
  const auto mpi = committed("perftest/osu-slingshot-openmpi-alltoall-gpu-01.yaml");
  CHECK(mpi.tests.empty());
  CHECK(mpi.notes.size() == 1);
}

TEST_CASE("an unknown unit, a rate of a latency test, values that were never measured") {
  const auto message_of = [](const std::string& unit, const std::string& rows) {
    return test::error_of([&] {
      read_corpus_pair_test("kind: perftest\ntest: ib_write_bw\nunit: " + unit + "\nrows:\n" + rows, "t.yaml");
    });
  };
  CHECK(message_of("furlongs/s", "- [2, 1.0]\n").find("t.yaml:3:7: error: the unit 'furlongs/s' is not known") !=
        std::string::npos);
  CHECK(message_of("us", "- [2, 1.0]\n").find("error: ib_write_bw in 'us'") != std::string::npos);
  const auto values = message_of("Gb/s", "- [2, -1.0]\n- [4, .nan]\n- [8, nan]\n- [0, 3]\n- [16]\n");
  CHECK(values.find("5:7: error: -1.0 is no measured value") != std::string::npos);
  CHECK(values.find("6:7: error: '.nan' is not a number") != std::string::npos);
  CHECK(values.find("7:7: error: nan is no measured value") != std::string::npos);
  CHECK(values.find("8:4: error: size 0 is not positive") != std::string::npos);
  CHECK(values.find("9:3: error: a row of 1 numbers, expected 2") != std::string::npos);
}

TEST_CASE("points are a series for each operation and environment") {
  const auto read = committed("other/h100x4-allreduce-algo-proto-points.yaml");
  REQUIRE(read.series.size() == 6);  // Ring, Tree, NVLS; Simple, LL, LL128
  const auto& tree = read.series[1];
  CHECK(tree.id == "h100x4-allreduce-algo-proto-points#2");
  CHECK(tree.env == std::map<std::string, std::string>{{"NCCL_ALGO", "Tree"}});
  CHECK(tree.system == "dgx-h100");
  CHECK(tree.ranks == 4);
  REQUIRE(tree.nccl.has_value());
  CHECK(tree.nccl->str() == "2.29.2");
  REQUIRE(tree.points.size() == 3);
  CHECK(tree.points[2].time == sim::Time::from_us(49674.6));
  const auto stats = committed("other/rtx4090x4-allgather-inspector-times.yaml");
  REQUIRE(stats.series.size() == 1);
  CHECK(stats.series[0].points.at(0).time == sim::Time::from_us(16.5));
  CHECK_FALSE(stats.series[0].healthy);
  const auto other_library = committed("other/h100x8-mscclpp-points.yaml");
  CHECK(other_library.empty());
  CHECK(other_library.notes.at(0).find("not measured with NCCL") != std::string::npos);
}

TEST_CASE("sentences with a number") {
  const auto read = committed("other/slingshot-polaris-plugin-matrix.yaml");
  const auto find = [&](const std::string& what) {
    for (const auto& s : read.series) {
      if (s.title.find(what) != std::string::npos) return s;
    }
    return calibration::Series{};
  };
  // busbw 3.46 GB/s of 64 MiB on 8 ranks: algbw 3.46 / (2 x 7 / 8), and 67108864 B / 1.97714 GB/s = 33942 us.
  const auto tcp = find("TCP sockets");
  CHECK(tcp.ranks == 8);
  CHECK(tcp.nodes == 2);
  CHECK(tcp.env == std::map<std::string, std::string>{{"NCCL_NET", "Socket"}});
  CHECK(tcp.time_derived_from_busbw);
  REQUIRE(tcp.points.size() == 1);
  CHECK(tcp.points[0].time.us() == Approx(33942).epsilon(1e-4));
  const auto times = find("all_reduce time");
  REQUIRE(times.points.size() == 3);
  CHECK(times.points[0].size == sim::Bytes{8});
  CHECK(times.points[0].time == sim::Time::from_us(142.18));
  CHECK(times.points[2].size == sim::gib(4));
  // A peak without a size is a figure.
  REQUIRE(read.figures.size() == 1);
  CHECK(read.figures[0].op == models::nccl::Op::reduce_scatter);
  CHECK(read.figures[0].metric == Figure::Metric::busbw);
  CHECK(read.figures[0].ranks == 16);
  CHECK(read.figures[0].GBps == 22.94);

  const auto nics = committed("other/b200-ndr400-pairwise-perftest.yaml");
  REQUIRE(nics.tests.size() == 16);
  CHECK(nics.tests[0].rows[0].value == Approx(369.2 / 8));
  CHECK(nics.tests[15].latency);
  CHECK(nics.tests[15].rows[0].size == sim::Bytes{2});
  CHECK(committed("other/deepep-v1-normal-h800-ib400.yaml").notes.at(0).find("8 points are no measurement") !=
        std::string::npos);
}

TEST_CASE("rows that are wrong are all named") {
  const auto message = test::error_of([] {
    read_corpus_points(
        "kind: points\nmachine: {gpus: 4}\ncollective: all_reduce\nrow_fields: size_bytes, time_us\nrows:\n"
        "- [8, 0]\n- [-8, 10]\n- [16]\n- 5\nwobble: 1\n",
        "p.yaml");
  });
  CHECK(message.find("p.yaml:6:7: error: time 0 us is not positive") != std::string::npos);
  CHECK(message.find("p.yaml:7:4: error: size -8 is not positive") != std::string::npos);
  CHECK(message.find("p.yaml:8:3: error: a row of 1 values under 2 fields") != std::string::npos);
  CHECK(message.find("p.yaml:9:3: error: not a row") != std::string::npos);
  CHECK(message.find("p.yaml:10:1: error: unknown key 'wobble'") != std::string::npos);
}

}  // namespace
