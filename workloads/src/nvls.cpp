// NVLS (NCCL transport/nvls.cc, device/all_reduce.h): the switch reduces and multicasts. Every rank copies its data
// into the multicast buffers (scatter), every head lets the switch reduce its slice and multicasts the result (reduce),
// every rank copies the results out (gather). all_gather only multicasts, reduce_scatter only reduces. The heads of a
// channel load the ports of all ranks alike and so work in step: one agent stands for them.
//
// On the wire, per GPU and direction, for a vector of S bytes and H heads: all_reduce S out for the reads of the heads
// and S/H for the own multicast, and the mirror image in; all_gather S/n out, S in; reduce_scatter S out, S/n in.
// In-switch traffic reaches a lower rate than plain stores (GpuModel::nvls_efficiency): a byte is charged as more.
#include <algorithm>
#include <map>

#include "jitter.hpp"
#include "pieces.hpp"
#include "ports.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Op;
using sim::Bytes;
using sim::Time;

struct Shape {
  std::vector<int> heads;
  double out_all = 0, in_all = 0;    // bytes out of / into every rank for each byte that a head processes
  double out_head = 0, in_head = 0;  // the head's own, on top
};

Shape shape_of(const Context& c, Op op) {
  Shape s;
  s.heads = c.comm.nvls_heads();
  if (op != Op::all_gather) s.out_all = 1, s.in_head = 1;      // the reads: every rank answers, the sum comes in
  if (op != Op::reduce_scatter) s.out_head = 1, s.in_all = 1;  // the store: once out, to everybody
  return s;
}

/// What one byte of the vector puts on the links: every head does its part of it.
std::vector<sim::Usage> usages_of(const Context& c, const Shape& s) {
  UsageSum sum{c.resources};
  const double part = 1.0 / static_cast<double>(s.heads.size());
  for (int r = 0; r < c.comm.ranks(); ++r) {
    const double own = part * static_cast<double>(std::count(s.heads.begin(), s.heads.end(), r));
    sum.add(port(c.fabric, c.gpu, r, true, PortTraffic::in_switch), s.out_all + own * s.out_head);
    sum.add(port(c.fabric, c.gpu, r, false, PortTraffic::in_switch), s.in_all + own * s.in_head);
  }
  return sum.take();
}

/// What one channel of a rank can move. Data that is not registered goes through the multicast buffers, and a block
/// copies all of it in, or out, on its own GPU; the switch alone would let one block feed eighteen links.
sim::Rate block_rate(const Context& c, const models::nccl::Call& call) {
  return call.registered ? sim::Rate::unlimited() : c.gpu.simple.local;
}

std::shared_ptr<const sim::ChunkProgram> chunk_program(const Context& c, const Shape& s, const models::nccl::Plan& plan,
                                                       sim::Rate block, const std::vector<sim::Usage>& usages) {
  auto program = std::make_shared<sim::ChunkProgram>();
  enum : std::uint16_t { copying = 0, reducing = 1 };
  program->kinds = {{Time{}, sim::Rate::unlimited(), sim::Cause::sm, false},
                    {c.gpu.nvls_overhead, block, sim::Cause::sm, false}};
  const auto ranks = static_cast<std::uint32_t>(c.comm.ranks());
  const Bytes chunk = plan.chunk * static_cast<std::int64_t>(s.heads.size());
  std::map<std::int64_t, std::uint32_t> sizes;
  for (int channel = 0; channel < plan.channels; ++channel) {
    const Bytes bytes = plan.channel_bytes[static_cast<std::size_t>(channel)];
    const auto size = sizes.emplace(bytes.count(), static_cast<std::uint32_t>(sizes.size())).first->second;
    const Pieces loops = pieces_of(bytes, chunk);
    const auto first = static_cast<std::uint32_t>(program->agents.size());
    const sim::AgentId heads{first + 2 * ranks};
    const auto connect = [&](sim::AgentId a, sim::AgentId b) {
      sim::Connection k;
      k.from = a;
      k.to = b;
      k.slots = plan.slots;
      program->connections.push_back(std::move(k));
      return sim::ConnectionId{static_cast<std::uint32_t>(program->connections.size() - 1)};
    };
    std::vector<sim::ConnectionId> scattered, gathered;
    for (std::uint32_t r = 0; r < ranks; ++r) scattered.push_back(connect(sim::AgentId{first + r}, heads));
    for (std::uint32_t r = 0; r < ranks; ++r) gathered.push_back(connect(heads, sim::AgentId{first + ranks + r}));
    const auto copier = [&](std::uint32_t which, std::vector<sim::ConnectionId> from,
                            std::vector<sim::ConnectionId> to) {
      sim::Agent a;
      a.units = loops.count;
      a.pattern = 3 * size + which;
      a.at = [from = std::move(from), to = std::move(to)](std::int64_t, sim::Unit& u) {
        u.kind = copying;
        u.receive = from;
        u.send = to;
      };
      return a;
    };
    for (std::uint32_t r = 0; r < ranks; ++r) program->agents.push_back(copier(0, {}, {scattered[r]}));
    for (std::uint32_t r = 0; r < ranks; ++r) program->agents.push_back(copier(1, {gathered[r]}, {}));
    sim::Agent head;
    head.units = loops.count;
    head.pattern = 3 * size + 2;
    head.local = usages;
    head.at = [=](std::int64_t k, sim::Unit& u) {
      u.kind = reducing;
      u.bytes = loops.at(k);
      u.receive = scattered;
      u.send = gathered;
    };
    program->agents.push_back(std::move(head));
  }
  program->fixed.add(sim::Cause::latency, c.gpu.nvls_latency);
  return program;
}

}  // namespace

Schedule build_nvls(const Context& c, const models::nccl::Call& call, const models::nccl::Plan& plan, Fidelity f) {
  Schedule s;
  s.channels = plan.channels;
  const Shape shape = shape_of(c, call.op);
  const auto heads = static_cast<std::int64_t>(shape.heads.size());
  auto usages = usages_of(c, shape);
  const sim::Rate rate = rate_alone(c.resources, usages, sim::Rate::unlimited());
  const Time moving = transfer_time(call.bytes, rate);
  s.jitter.add(sim::Cause::wait, bounded_jitter(c.gpu.nvls_jitter, moving, c.gpu.nvls_jitter_bound));
  if (f != Fidelity::flow) {
    s.program = chunk_program(c, shape, plan, block_rate(c, call), usages);
    return s;
  }
  const Bytes largest = *std::max_element(plan.channel_bytes.begin(), plan.channel_bytes.end());
  const auto loops = pieces_of(Bytes{ceil_div(largest.count(), heads)}, plan.chunk).count;
  sim::PipelinedFlow flow;
  flow.bytes = call.bytes;
  flow.usages = std::move(usages);
  if (const auto block = block_rate(c, call); !block.is_unlimited())
    flow.cap = block * (static_cast<double>(call.bytes.count()) / static_cast<double>(largest.count()));
  flow.fixed.add(sim::Cause::latency, c.gpu.nvls_latency + loops * c.gpu.nvls_overhead);
  s.flows.push_back(std::move(flow));
  return s;
}

}  // namespace linkcast::workloads
