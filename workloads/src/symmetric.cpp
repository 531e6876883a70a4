// Kernels on symmetric memory (NCCL sym_kernels.cc): no FIFOs and no rings; every block loads from or stores to its
// peers directly, or lets the switch reduce and multicast. One barrier before, one after.
//
// Bytes on the wire per GPU and direction for n ranks and B bytes of the API count: LL kernels 2 n B (one shot, flags
// with the data); AllReduce by loads and stores 2B(n-1)/n; with multicast B + B/n; AllGather and ReduceScatter (n-1)B,
// with multicast B out and n B in, or the reverse.
#include <algorithm>

#include "ports.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using sim::Bytes;
using sim::Time;

struct Traffic {
  double out = 0, in = 0;  // wire bytes per GPU for each byte of the call's size
  PortTraffic through = PortTraffic::stores;
};

Traffic traffic_of(Op op, const std::string& kernel, int n) {
  const bool multicast = kernel.find("MC") != std::string::npos;
  const bool ll = kernel.find("LL") != std::string::npos;
  const double ranks = n;
  // all_gather and reduce_scatter: nccl-tests' size is n times the API count B.
  if (op == Op::all_reduce) {
    if (ll)
      return multicast ? Traffic{2.0, 2.0 * ranks, PortTraffic::in_switch}
                       : Traffic{2.0 * (ranks - 1), 2.0 * (ranks - 1), PortTraffic::stores};
    return multicast ? Traffic{1 + 1 / ranks, 1 + 1 / ranks, PortTraffic::in_switch}
                     : Traffic{2 * (ranks - 1) / ranks, 2 * (ranks - 1) / ranks, PortTraffic::stores};
  }
  const double flags = ll ? 2.0 : 1.0;
  const double share = (ranks - 1) / ranks;
  if (!multicast) return {flags * share, flags * share, PortTraffic::stores};
  if (op == Op::all_gather) return {flags / ranks, flags, PortTraffic::in_switch};
  return {flags, flags / ranks, PortTraffic::in_switch};
}

}  // namespace

Schedule build_symmetric(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  Schedule s;
  s.channels = plan.channels;
  const int n = c.comm.ranks();
  const std::string& kernel = plan.choice.kernel;
  const Traffic traffic = traffic_of(call.op, kernel, n);
  const bool ll = plan.choice.protocol == models::nccl::Protocol::ll;
  const auto& p = ll ? c.gpu.ll : c.gpu.simple;
  // Blocks that load from and store to their peers directly move several times what a block with a FIFO does: NCCL
  // takes 44 to 65 GiB/s for each (queryModel_lsa of NCCL's sym_kernels.cc), and so few of them that this rate decides
  // below NVLink's.
  const sim::Rate cap = plan.block_rate;
  // Barrier in, barrier out, one exchange of data: each a hand-over over the switch.
  const Time fixed = 3 * (p.overhead + p.hop + c.edges.lane(0, 0, 1).latency);
  if (f == Fidelity::flow) {
    sim::PipelinedFlow flow;
    flow.bytes = call.bytes;
    for (int r = 0; r < n; ++r) {
      add_usages(flow.usages, port(c.fabric, c.gpu, r, true, traffic.through), traffic.out);
      add_usages(flow.usages, port(c.fabric, c.gpu, r, false, traffic.through), traffic.in);
    }
    flow.cap = cap;
    flow.fixed.add(sim::Cause::latency, fixed);
    s.flows.push_back(std::move(flow));
    return s;
  }
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = {{Time{}, cap, sim::Cause::sm, false}};
  program->fixed.add(sim::Cause::latency, fixed);
  for (int r = 0; r < n; ++r) {
    sim::Agent a;
    a.units = 1;
    a.pipelined = false;
    const Bytes bytes = call.bytes;
    a.at = [bytes](std::int64_t, sim::Unit& u) {
      u.kind = 0;
      u.bytes = bytes;
      u.receive.clear();
      u.send.clear();
    };
    add_usages(a.local, port(c.fabric, c.gpu, r, true, traffic.through), traffic.out);
    add_usages(a.local, port(c.fabric, c.gpu, r, false, traffic.through), traffic.in);
    program->agents.push_back(std::move(a));
  }
  s.program = std::move(program);
  return s;
}

}  // namespace linkcast::workloads
