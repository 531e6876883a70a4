// perftest's output, printed and JSON: units from the header, what a banner says, both sides of a test in one log,
// two tests in one log, and damage.
#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::read_perftest;
using calibration::read_perftest_json;

TEST_CASE("server and client in one log are one test, in MB of 2^20 bytes") {
  const auto file = test::repository() / "tests/data/tools/superbench_ib_loopback_all_sizes.log";
  const auto read = read_perftest(test::text_of(file), file.filename().string());
  REQUIRE(read.tests.size() == 1);
  const auto& t = read.tests[0];
  CHECK(t.tool == "ib_write_bw");
  CHECK(t.qps == 1);
  CHECK(t.fabric == "ib");
  CHECK(t.title == "device ib0");
  CHECK_FALSE(t.latency);
  CHECK_FALSE(t.bidirectional);
  REQUIRE(t.rows.size() == 23);
  // 2778732 messages of 2 bytes a second are 5.557e6 B/s = 5.30 x 2^20: what the row prints.
  CHECK(t.rows[0].size == sim::Bytes{2});
  CHECK(t.rows[0].value == Approx(5.30 * 1048576 / 1e9));
  CHECK(t.rows[22].size == sim::Bytes{8388608});
  CHECK(t.rows[22].value == Approx(24.3696).epsilon(1e-4));  // 23240.68 x 1.048576e-3
  // The other side printed the last row again.
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0].find("1 sizes stand twice") != std::string::npos);
}

constexpr const char* kBanner =
    "initializing CUDA\nPicking device No. 0\n"
    "---------------------------------------------------------------------------------------\n"
    "                    RDMA_Write Bidirectional BW Test\n"
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    " Number of qps   : 4\t\tTransport type : IB\n"
    " Connection type : RC\t\tUsing SRQ      : OFF\n"
    " Mtu             : 4096[B]\n"
    " Link type       : Ethernet\n"
    "---------------------------------------------------------------------------------------\n";

TEST_CASE("Gb/sec are 1e9 bits; memory, direction, queue pairs and fabric come from the banner") {
  const std::string log = std::string(kBanner) +
                          " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
                          " 65536      5000             398.10             392.00               0.747681\n"
                          " 4          5000             0.00               0.00                 0.0001\n"
                          "---------------------------------------------------------------------------\n";
  const auto read = read_perftest(log, "pair.log");
  REQUIRE(read.tests.size() == 1);
  const auto& t = read.tests[0];
  CHECK(t.id == "pair.log");
  CHECK(t.tool == "ib_write_bw");
  CHECK(t.bidirectional);
  CHECK(t.memory == calibration::MemoryKind::gpu);
  CHECK(t.qps == 4);
  CHECK(t.fabric == "roce");
  REQUIRE(t.rows.size() == 1);
  CHECK(t.rows[0].value == Approx(49.0));  // 392 / 8
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0].find("1 rows of 0.00 are left out") != std::string::npos);
}

TEST_CASE("latency is the typical time, and two tests in one log are two") {
  const std::string log =
      "                    Send Latency Test\n Number of qps   : 1\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
      "percentile[usec]   99.9% percentile[usec] \n"
      " 2       1000          1.55           5.40         1.60               1.62           0.10            1.9  2.5\n"
      "                    RDMA_Read BW Test\r\n"
      " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\r\n"
      " 1048576    1000             1000.00            1000.00              0.001000\r\n";
  const auto read = read_perftest(log, "two.log");
  REQUIRE(read.tests.size() == 2);
  CHECK(read.tests[0].id == "two.log#1");
  CHECK(read.tests[0].tool == "ib_send_lat");
  CHECK(read.tests[0].latency);
  CHECK(read.tests[0].rows[0].value == Approx(1.60));
  CHECK(read.tests[1].id == "two.log#2");
  CHECK(read.tests[1].tool == "ib_read_bw");
  CHECK(read.tests[1].qps == 0);  // not that of the first test
  CHECK(read.tests[1].rows[0].value == Approx(1.048576));
}

TEST_CASE("the unit of --out_json follows from the message rate") {
  const auto json = [](const char* size, const char* average, const char* rate) {
    return std::string(R"({ "test_info": { "test": "RDMA_Write_BW_Test", "Device": "mlx5_0", "Number_of_qps": 2,
      "Link_type": "IB", "cuda_device": 0 }, "results": { "MsgSize": )") +
           size + R"(, "n_iterations": 5000, "BW_peak": 0.00, "BW_average": )" + average + R"(, "MsgRate": )" + rate +
           "}}\n";
  };
  // 0.176566e6 x 65536 B/s = 11.57e9 B/s = 92.57e9 bit/s = 11035 x 2^20 B/s
  const auto gb = read_perftest_json(json("65536", "92.57", "0.176566"), "a.json");
  REQUIRE(gb.tests.size() == 1);
  CHECK(gb.tests[0].rows[0].value == Approx(92.57 / 8));
  CHECK(gb.tests[0].qps == 2);
  CHECK(gb.tests[0].fabric == "ib");
  CHECK(gb.tests[0].memory == calibration::MemoryKind::gpu);
  const auto mib = read_perftest_json(json("65536", "11035.37", "0.176566"), "a.json");
  CHECK(mib.tests.at(0).rows.at(0).value == Approx(11.5714).epsilon(1e-4));
  // A run over all sizes writes one object for each.
  const auto all =
      read_perftest_json(json("65536", "92.57", "0.176566") + json("131072", "93.00", "0.088692"), "a.json");
  REQUIRE(all.tests.size() == 1);
  CHECK(all.tests[0].rows.size() == 2);

  CHECK(test::error_of([&] {
          read_perftest_json(json("65536", "92.57", "3.0"), "a.json");
        }).find("the unit of 'BW_average' cannot be told") != std::string::npos);
  CHECK(test::error_of([&] {
          read_perftest_json(json("65536", "92.57", "0.17").substr(0, 180), "a.json");
        }).find("the file ends in the middle") != std::string::npos);
}

}  // namespace
