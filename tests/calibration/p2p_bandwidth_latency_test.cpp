// p2pBandwidthLatencyTest: every matrix of a run, reads turned, the CPU's times left out.
#include <algorithm>

#include "linkcast/calibration/readers.hpp"
#include "support.hpp"

namespace {

using namespace linkcast;
using calibration::read_p2p_bandwidth_latency;

// The layout of the CUDA sample; numbers of tests/data/p2p/p2p-x6-pcie-slowp2p.yaml (GPUs 0 and 3) where it has them.
const std::string kLog =
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    "Device: 0, NVIDIA A100-SXM4-80GB, pciBusID: 7, pciDeviceID: 0, pciDomainID:0\n"
    "Device: 1, NVIDIA A100-SXM4-80GB, pciBusID: f, pciDeviceID: 0, pciDomainID:0\n"
    "Device=0 CAN Access Peer Device=1\nDevice=1 CAN Access Peer Device=0\n\n"
    "***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal memcopy procedure.\n"
    "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     1\n     1\t     1     1\n"
    "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 911.08  22.14 \n"
    "     1  22.24 922.37 \n"
    "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1 \n     0 912.68   9.90 \n"
    "     1  10.23 921.83 \n"
    "Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)\n   D\\D     0      1 \n     0 911.08  10.22 \n"
    "     1   9.95 920.20 \n"
    "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 911.00  19.00 \n"
    "     1  19.10 921.00 \n"
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1 \n     0   2.90   2.67 \n     1   2.62   3.02 "
    "\n\n"
    "   CPU     0      1 \n     0   3.13   2.44 \n     1   2.70   3.07 \n\n"
    "NOTE: The CUDA Samples are not meant for performance measurements.\n";

TEST_CASE("every matrix of a run, with what its title says") {
  const auto read = read_p2p_bandwidth_latency(kLog, "p2p.txt");
  REQUIRE(read.matrices.size() == 5);
  const auto& off = read.matrices[0];
  CHECK(off.id == "p2p.txt#1");
  CHECK(off.gpu == "NVIDIA A100-SXM4-80GB");
  CHECK(off.peer_access == false);
  CHECK(off.engine == calibration::Engine::copy_engine);
  CHECK(off.cells[0][0] == 911.08);
  CHECK(off.cells[0][1] == 22.14);
  const auto& writes = read.matrices[1];
  CHECK(writes.peer_access == true);
  CHECK_FALSE(writes.read);
  CHECK(writes.cells[1][0] == 10.23);
  // In both tables it is GPU 1 that sends faster: with reads the row's GPU pulls, so that the table is turned.
  const auto& reads = read.matrices[2];
  CHECK(reads.read);
  CHECK(reads.cells[1][0] == 10.22);
  CHECK(reads.cells[0][1] == 9.95);
  CHECK(read.matrices[3].bidirectional);
  CHECK(read.matrices[4].latency);
  CHECK(read.matrices[4].cells[0][1] == 2.67);
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0].find("1 tables are left out: the CPU's time to start a copy") != std::string::npos);
}

TEST_CASE("two runs in one file, and a machine without peer access") {
  auto second = kLog;
  second.replace(second.find("     0\t     1     1"), 19, "     0\t     1     0");
  second.replace(second.find("     1\t     1     1"), 19, "     1\t     0     1");
  const auto read = read_p2p_bandwidth_latency(kLog + second, "p2p.txt");
  CHECK(read.matrices.size() == 10);
  CHECK(read.matrices[9].id == "p2p.txt#10");
  const auto said = [&](const char* what) {
    return std::count_if(read.notes.begin(), read.notes.end(),
                         [&](const std::string& n) { return n.find(what) != std::string::npos; });
  };
  CHECK(said("no GPU can access another's memory") == 1);
}

TEST_CASE("a log that ends inside a table") {
  const auto cut = kLog.substr(0, kLog.find("     1   9.95"));
  const auto message = test::error_of([&] { read_p2p_bandwidth_latency(cut, "cut.txt"); });
  CHECK(message.find("error: the table has 1 of 2 rows") != std::string::npos);
  CHECK(test::error_of([&] {
          read_p2p_bandwidth_latency(kLog.substr(0, kLog.find(" 911.08  10.22")), "cut.txt");
        }).find("a row of 0 numbers under 2 columns") != std::string::npos);
}

}  // namespace
