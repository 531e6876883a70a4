// The two fidelities agree: within 2 % from 1 MiB and 5 % below, on every system and every collective of the catalog.
#include <cmath>
#include <string>

#include "catch.hpp"
#include "linkcast/workloads/collective.hpp"

using namespace linkcast;
using models::nccl::Op;

namespace {

workloads::CollectiveModel model(const topologies::Fabric& fabric, workloads::Fidelity f) {
  workloads::CommunicatorOptions o;
  o.fidelity = f;
  o.launch_floor = sim::Time{};  // the host would hide a difference
  return {fabric, o};
}

models::nccl::Call call(Op op, std::int64_t bytes) {
  models::nccl::Call c;
  c.op = op;
  c.bytes = sim::Bytes{bytes};
  return c;
}

}  // namespace

TEST_CASE("flow and chunk agree on every system and collective", "[workloads][property]") {
  for (const auto& name : topologies::catalog_names()) {
    const auto fabric = topologies::load(name);
    if (fabric.gpus().size() < 2) continue;
    const auto flow = model(fabric, workloads::Fidelity::flow);
    const auto chunk = model(fabric, workloads::Fidelity::chunk);
    for (const Op op : {Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::broadcast, Op::reduce, Op::alltoall,
                        Op::sendrecv, Op::gather, Op::scatter})
      for (std::int64_t bytes = 1024; bytes <= std::int64_t{1} << 30; bytes *= 8) {
        const auto f = flow.run(call(op, bytes));
        const auto c = chunk.run(call(op, bytes));
        CAPTURE(name, name_of(op), bytes, f.algorithm, f.protocol, f.channels, f.time.us(), c.time.us());
        const double difference = std::abs(f.time.us() / c.time.us() - 1);
        CHECK(difference <= (bytes >= 1 << 20 ? 0.02 : 0.05));
      }
  }
}
