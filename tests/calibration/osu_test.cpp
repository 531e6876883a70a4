// OSU micro-benchmarks' output: units of 1e6 bytes, directions, collectives left to MPI.
#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::read_osu;

TEST_CASE("bandwidth and latency between two processes") {
  const std::string log =
      "# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE "
      "(D)\n"
      "# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n1                       1.06\n4194304             "
      "46000.00\n"
      "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n0                       1.90\n1                      "
      " 1.87\n";
  const auto read = read_osu(log, "osu.out");
  REQUIRE(read.tests.size() == 2);
  CHECK(read.tests[0].id == "osu.out#1");
  CHECK(read.tests[0].tool == "osu_bibw");
  CHECK(read.tests[0].bidirectional);
  CHECK(read.tests[0].memory == calibration::MemoryKind::gpu);
  CHECK(read.tests[0].rows[1].value == Approx(46.0));  // 46000e6 bytes a second
  CHECK(read.tests[1].tool == "osu_latency");
  CHECK(read.tests[1].latency);
  REQUIRE(read.tests[1].rows.size() == 1);  // no byte, no size
  CHECK(read.tests[1].rows[0].value == Approx(1.87));
}

TEST_CASE("a collective of MPI is a note, more columns are fine, pairs are streams") {
  const auto read = read_osu(
      "# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)   Min Latency(us)\n1      13.44    13.0\n"
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.5\n# [ pairs: 4 ] [ window size: 64 ]\n"
      "# Size                  MB/s        Messages/s\n1048576              24000.00       22888.2\n",
      "osu.out");
  REQUIRE(read.tests.size() == 1);
  CHECK(read.tests[0].tool == "osu_mbw_mr");
  CHECK(read.tests[0].qps == 4);
  CHECK(read.tests[0].rows[0].value == Approx(24.0));
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0].find("'OSU MPI Allreduce Latency Test v7.5' is no test between two processes") !=
        std::string::npos);
  CHECK(test::error_of([] {
          read_osu("# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n1\n", "o.out");
        }).find("a row of 1 numbers under 2 columns") != std::string::npos);
}

}  // namespace
