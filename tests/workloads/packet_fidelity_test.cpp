// Fidelity packet against fidelity chunk: the same programs, moved as packets. Where nothing is contended the times
// agree; whatever happens the account adds up, every byte arrives, and the same question has the same answer.
#include <cmath>
#include <string>

#include "catch.hpp"
#include "linkcast/workloads/collective.hpp"

using namespace linkcast;
using models::nccl::Call;
using models::nccl::Op;
using workloads::CollectiveModel;
using workloads::CollectiveRow;
using workloads::Fidelity;

namespace {

CollectiveRow run(const std::string& system, int nodes, Op op, sim::Bytes size, Fidelity fidelity) {
  topologies::ClusterOptions options;
  options.nodes = nodes;
  workloads::CommunicatorOptions library;
  library.nccl = models::nccl::Version::parse("2.27.3");
  library.fidelity = fidelity;
  Call call;
  call.op = op;
  call.bytes = size;
  return CollectiveModel{topologies::load_cluster(system, options), library}.run(call);
}

double deviation(const std::string& system, int nodes, Op op, sim::Bytes size) {
  const auto chunk = run(system, nodes, op, size, Fidelity::chunk);
  const auto packet = run(system, nodes, op, size, Fidelity::packet);
  INFO(system << " " << nodes << " nodes, " << size.count() << " B: chunk " << chunk.time.us() << " us, packet "
              << packet.time.us() << " us");
  CHECK(packet.account.total() == packet.time);
  CHECK(packet.account[sim::Cause::congestion] == sim::Time{});  // it has causes of its own
  CHECK(packet.algorithm == chunk.algorithm);
  return packet.time.us() / chunk.time.us() - 1;
}

double sum(const std::vector<double>& v) {
  double s = 0;
  for (const auto x : v) s += x;
  return s;
}

}  // namespace

TEST_CASE("collectives as packets take the time that they take as chunks", "[workloads][packet]") {
  // Rings over lanes of NVLink and over NICs, where no unit is wider than one link at its bottleneck.
  CHECK(std::abs(deviation("dgx-h100", 2, Op::all_gather, sim::mib(16))) < 0.03);
  CHECK(std::abs(deviation("dgx-a100", 2, Op::all_reduce, sim::mib(16))) < 0.03);
  CHECK(std::abs(deviation("aws-p4d", 2, Op::all_reduce, sim::mib(16))) < 0.03);
  CHECK(std::abs(deviation("gcp-a3-mega", 2, Op::all_reduce, sim::mib(16))) < 0.03);
  CHECK(std::abs(deviation("dgx-h100", 1, Op::all_reduce, sim::mib(4))) < 0.03);  // NVLS: links on their own
}

TEST_CASE("packets carry what the program sends", "[workloads][packet]") {
  const auto chunk = run("dgx-a100", 2, Op::all_gather, sim::mib(4), Fidelity::chunk);
  const auto packet = run("dgx-a100", 2, Op::all_gather, sim::mib(4), Fidelity::packet);
  REQUIRE(packet.carried.size() == chunk.carried.size());
  // Each message is cut at whole bytes, and the fluid network's weights are rounded down to 2^-40.
  for (std::size_t r = 0; r < chunk.carried.size(); ++r) {
    INFO("resource " << r);
    CHECK(packet.carried[r] == Approx(chunk.carried[r]).epsilon(1e-3).margin(16));
  }
  CHECK(sum(packet.carried) == Approx(sum(chunk.carried)).epsilon(1e-5));
}

TEST_CASE("the same question has the same answer as packets", "[workloads][packet]") {
  const auto a = run("dgx-h100", 2, Op::all_reduce, sim::mib(8), Fidelity::packet);
  const auto b = run("dgx-h100", 2, Op::all_reduce, sim::mib(8), Fidelity::packet);
  CHECK(a.time == b.time);
  CHECK(a.account == b.account);
  CHECK(a.carried == b.carried);
}

TEST_CASE("every multi-node system as packets", "[.][long][packet]") {
  for (const std::string system :
       {"aws-p4d",     "aws-p4de",    "aws-p5",       "aws-p5e",          "aws-p5en",        "aws-p6-b200",
        "azure-ndv4",  "azure-ndv5",  "dgx-a100",     "dgx-h100",         "dgx-h200",        "dgx1-v100",
        "gcp-a3-high", "gcp-a3-mega", "gcp-a3-ultra", "gcp-a4",           "hgx-b200",        "hgx-b300",
        "hgx-h20",     "hgx-h800",    "hpn-host",     "meta-grand-teton", "oci-bm-gpu-a100", "oci-bm-gpu-h100"}) {
    for (const auto op : {Op::all_gather, Op::all_reduce})
      for (const std::int64_t size : {16, 64, 256}) CHECK(std::abs(deviation(system, 2, op, sim::mib(size))) < 0.1);
  }
}
