// Copy-engine collectives (NCCL ce_coll.cc): all_gather, alltoall, scatter, gather without any SM. A barrier of memory
// operations, then each GPU pushes to rank+1, rank+2, … one copy after the other, then a barrier.
#include <algorithm>
#include <map>

#include "messages.hpp"
#include "rates.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {

Schedule build_copy_engine(const Context& c, const models::nccl::Call& call, Fidelity f) {
  const int n = c.comm.ranks();
  std::vector<Message> messages;
  if (call.op == models::nccl::Op::all_gather) {
    const sim::Bytes part{std::max<std::int64_t>(1, call.bytes.count() / n)};
    for (int d = 1; d < n; ++d)
      for (int r = 0; r < n; ++r) messages.push_back({r, (r + d) % n, part});
  } else {
    messages = messages_of(call, n);
  }
  Schedule s;
  s.channels = 0;
  const sim::Time barrier = 2 * (c.gpu.copy_engine_start + c.gpu.simple.hop);
  if (f == Fidelity::flow) {
    // One flow per sender: its copies follow each other, so it loads one lane at a time, each for its share of the
    // time.
    std::map<int, std::vector<Message>> by_sender;
    for (const auto& m : messages) by_sender[m.from].push_back(m);
    for (const auto& [from, list] : by_sender) {
      sim::PipelinedFlow flow;
      for (const auto& m : list) flow.bytes += m.bytes;
      for (const auto& m : list)
        add_usages(flow.usages, c.edges.lane(0, m.from, m.to).usages,
                   static_cast<double>(m.bytes.count()) / static_cast<double>(flow.bytes.count()));
      flow.cap = c.gpu.copy_engine;
      flow.fixed.add(sim::Cause::latency, barrier + static_cast<std::int64_t>(list.size()) * c.gpu.copy_engine_start);
      s.flows.push_back(std::move(flow));
    }
    return s;
  }
  auto program = std::make_shared<sim::ChunkProgram>();
  program->kinds = {{c.gpu.copy_engine_start, c.gpu.copy_engine, sim::Cause::sm, false}, {}};
  program->fixed.add(sim::Cause::latency, barrier);
  std::map<std::pair<int, int>, sim::ConnectionId> wires;
  std::vector<std::vector<std::pair<sim::ConnectionId, sim::Bytes>>> out(static_cast<std::size_t>(n));
  std::vector<std::vector<sim::ConnectionId>> in(static_cast<std::size_t>(n));
  for (const auto& m : messages) {
    sim::Connection k;
    k.from = sim::AgentId{static_cast<std::uint32_t>(m.from)};
    k.to = sim::AgentId{static_cast<std::uint32_t>(n + m.to)};
    k.usages = c.edges.lane(0, m.from, m.to).usages;
    const sim::ConnectionId id{static_cast<std::uint32_t>(program->connections.size())};
    program->connections.push_back(std::move(k));
    Edges::travel(*program, id, c.edges.lane_parts(0, m.from, m.to, 1));
    out[static_cast<std::size_t>(m.from)].push_back({id, m.bytes});
    in[static_cast<std::size_t>(m.to)].push_back(id);
  }
  std::map<std::vector<std::int64_t>, std::uint32_t> patterns;
  const auto pattern = [&](std::vector<std::int64_t> key) {
    return patterns.emplace(std::move(key), static_cast<std::uint32_t>(patterns.size())).first->second;
  };
  for (int r = 0; r < n; ++r) {
    const auto mine = out[static_cast<std::size_t>(r)];
    sim::Agent a;
    a.units = static_cast<std::int64_t>(mine.size());
    std::vector<std::int64_t> key{0};
    for (const auto& [_, bytes] : mine) key.push_back(bytes.count());
    a.pattern = pattern(key);
    a.pipelined = false;
    a.at = [mine](std::int64_t k, sim::Unit& u) {
      u.kind = 0;
      u.bytes = mine[static_cast<std::size_t>(k)].second;
      u.receive.clear();
      u.send.assign(1, mine[static_cast<std::size_t>(k)].first);
    };
    program->agents.push_back(std::move(a));
  }
  for (int r = 0; r < n; ++r) {
    const auto mine = in[static_cast<std::size_t>(r)];
    sim::Agent a;
    a.units = static_cast<std::int64_t>(mine.size());
    a.pattern = pattern({1, a.units});
    a.pipelined = false;
    a.at = [mine](std::int64_t k, sim::Unit& u) {
      u.kind = 1;
      u.bytes = sim::Bytes{};
      u.receive.assign(1, mine[static_cast<std::size_t>(k)]);
      u.send.clear();
    };
    program->agents.push_back(std::move(a));
  }
  s.program = std::move(program);
  return s;
}

}  // namespace linkcast::workloads
