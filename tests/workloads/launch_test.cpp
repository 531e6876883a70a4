// What the host needs between two calls, by operation and mode. Host of the test: 3 us for each GPU of one process,
// 8 us with a process for each GPU, 10 us for a graph, 2 us more for a group of messages; 0.074 us for each message.
#include "../../workloads/src/launch.hpp"

#include "catch.hpp"

using namespace linkcast;
using models::LaunchMode;
using models::nccl::Op;

namespace {

double floor_us(LaunchMode mode, int gpus, Op op, int ranks) {
  models::HostModel host;
  host.launch_single_process_per_gpu = sim::Time::microseconds(3);
  host.launch_multi_process = sim::Time::microseconds(8);
  host.launch_graph = sim::Time::microseconds(10);
  host.launch_p2p = sim::Time::microseconds(2);
  return workloads::launch_floor(host, mode, gpus, op, ranks).us();
}

}  // namespace

TEST_CASE("one process launches for its GPUs in turn", "[workloads][launch]") {
  CHECK(floor_us(LaunchMode::single_process, 8, Op::all_reduce, 8) == Approx(24));
  CHECK(floor_us(LaunchMode::single_process, 2, Op::all_reduce, 2) == Approx(8));  // never below one process's 8 us
}

TEST_CASE("sends and receives cost by GPU and by message", "[workloads][launch]") {
  // 24 + 8 x 2 + 16 x 0.074; alltoall 128 messages; gather 8 of the root and one of each rank.
  CHECK(floor_us(LaunchMode::single_process, 8, Op::sendrecv, 8) == Approx(24 + 16 + 16 * 0.074));
  CHECK(floor_us(LaunchMode::single_process, 8, Op::alltoall, 8) == Approx(24 + 16 + 128 * 0.074));
  CHECK(floor_us(LaunchMode::single_process, 8, Op::gather, 8) == Approx(24 + 16 + 16 * 0.074));
  // One rank of 16 in each process: 32 messages of an alltoall.
  CHECK(floor_us(LaunchMode::multi_process, 8, Op::alltoall, 16) == Approx(8 + 2 + 32 * 0.074));
}

TEST_CASE("a graph has the host behind it", "[workloads][launch]") {
  CHECK(floor_us(LaunchMode::graph, 8, Op::alltoall, 8) == Approx(10));
}
