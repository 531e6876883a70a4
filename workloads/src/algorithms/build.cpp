// A written algorithm as work for the engine: one agent for each thread block. At both fidelities the steps themselves
// run, chunk by chunk: that steps wait for each other as they are written is what such an algorithm is, and no single
// rate tells it.
//
// MSCCL's interpreter (microsoft/msccl, msccl_interpreter.h) runs all steps on as much of every chunk as fits into a
// slot of the connection, then once more on what is next; small chunks of one step travel together. Simple hands each
// over in two slices, as NCCL's rings do. MSCCL++ moves each chunk at once.
#include <algorithm>
#include <array>
#include <map>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/algorithm_plan.hpp"
#include "pieces.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Protocol;
using sim::Bytes;
using sim::ConnectionId;
using Plan = AlgorithmPlan;

/// What one slot takes of a chunk. NCCL's buffers: 4 MiB (Simple, two chunks), 512 KiB half of which is flags (LL, 8
/// slots), 4,915,200 B of which 15 of 16 are data (LL128, 8 slots).
Bytes slot_bytes(const models::nccl::Environment& env, Protocol p) {
  const auto of = [&](const char* name, long long otherwise) { return env.integer(name).value_or(otherwise); };
  switch (p) {
    case Protocol::ll:
      return Bytes{std::max(1LL, of("NCCL_LL_BUFFSIZE", 512 << 10) / 8 / 2)};
    case Protocol::ll128:
      return Bytes{std::max(1LL, of("NCCL_LL128_BUFFSIZE", 4'915'200) / 8 / 16 * 15)};
    default:
      return Bytes{std::max(2LL, of("NCCL_BUFFSIZE", 4 << 20) / 2)};
  }
}

struct Template {  // a unit, with its block's connections by number
  std::uint16_t kind = kind_local;
  Bytes bytes;
  std::vector<std::uint32_t> receive, send;
};
using Units = std::vector<Template>;

/// A block's steps on `bytes` of each chunk; queues and lanes become the block's own numbers.
class Unroller {
 public:
  Unroller(const Plan& plan, Bytes slot, Bytes least_slice) : plan_{plan}, slot_{slot}, least_{least_slice} {}

  Units unroll(const Plan::Block& block, Bytes bytes) const {
    Units units;
    std::vector<std::uint32_t> under_way;  // lanes that the block itself has to see through
    for (const auto& s : block.steps) {
      const std::int64_t together = plan_.loops ? std::max<std::int64_t>(1, slot_.count() / bytes.count()) : s.count;
      for (std::int64_t done = 0, last = 0; !last; done += together) {
        const Bytes group = bytes * std::min(together, s.count - done);
        last = done + together >= s.count;
        const int slices =
            plan_.loops && plan_.protocol == Protocol::simple && group >= least_ * 2 && s.count > 0 ? 2 : 1;
        for (int i = 0; i < slices; ++i) {
          auto& u = units.emplace_back();
          const auto full = ceil_div(group.count(), slices);
          u.bytes = Bytes{std::min(full, group.count() - full * i)};
          u.receive = std::move(under_way);
          under_way.clear();
          const bool first_unit = done == 0 && i == 0, last_unit = last && i + 1 == slices;
          for (const int q : s.take)
            if (fifo(q) || first_unit) u.receive.push_back(static_cast<std::uint32_t>(q));
          for (const int q : s.give) {
            if (fifo(q) || last_unit) u.send.push_back(static_cast<std::uint32_t>(q));
            if (fifo(q)) u.kind = kind_send;
          }
          for (const auto& l : s.lanes) {
            u.kind = kind_send;
            const auto lane = number_of(block, l);
            u.send.push_back(lane);
            under_way.push_back(lane);
          }
        }
      }
    }
    if (!under_way.empty()) units.emplace_back().receive = std::move(under_way);
    return units;
  }

  /// Lanes are numbered after the queues.
  std::uint32_t number_of(const Plan::Block& block, const Plan::Lane& lane) const {
    const auto key = std::tuple{&block, lane.from, lane.to, lane.fetched};
    return lanes_.emplace(key, static_cast<std::uint32_t>(plan_.queues.size() + lanes_.size())).first->second;
  }
  using Lanes = std::map<std::tuple<const Plan::Block*, int, int, bool>, std::uint32_t>;
  const Lanes& lanes() const { return lanes_; }

 private:
  bool fifo(int q) const { return plan_.queues[static_cast<std::size_t>(q)].fifo; }

  const Plan& plan_;
  Bytes slot_, least_;
  mutable Lanes lanes_;
};

/// What a block does: equal rounds, and a shorter one.
struct Rounds {
  std::int64_t count = 0;
  Units full, last;
  std::int64_t size() const {
    return count * static_cast<std::int64_t>(full.size()) + static_cast<std::int64_t>(last.size());
  }
  const Template& at(std::int64_t i) const {
    const auto each = static_cast<std::int64_t>(full.size());
    if (i < count * each) return full[static_cast<std::size_t>(i % each)];
    return last[static_cast<std::size_t>(i - count * each)];
  }
};

/// Bytes that go into one connection, in order.
struct Sent {
  std::int64_t rounds = 0;
  std::vector<Bytes> full, last;
  std::int64_t size() const {
    return rounds * static_cast<std::int64_t>(full.size()) + static_cast<std::int64_t>(last.size());
  }
  Bytes at(std::int64_t i) const {
    const auto each = static_cast<std::int64_t>(full.size());
    if (i < rounds * each) return full[static_cast<std::size_t>(i % each)];
    return last[static_cast<std::size_t>(i - rounds * each)];
  }
};

Sent sent_into(const Rounds& rounds, std::uint32_t queue) {
  Sent s{rounds.count, {}, {}};
  const auto collect = [&](const Units& units, std::vector<Bytes>& into) {
    for (const auto& u : units)
      if (std::find(u.send.begin(), u.send.end(), queue) != u.send.end()) into.push_back(u.bytes);
  };
  collect(rounds.full, s.full);
  collect(rounds.last, s.last);
  return s;
}

/// Numbers for what is equal up to the names of connections.
class Patterns {
 public:
  std::uint32_t of(const Rounds& rounds) {
    std::vector<std::int64_t> key{rounds.count};
    std::map<std::uint32_t, std::int64_t> names;
    for (const auto* units : {&rounds.full, &rounds.last}) {
      key.push_back(-1);
      for (const auto& u : *units) {
        key.insert(key.end(), {u.kind, u.bytes.count(), static_cast<std::int64_t>(u.receive.size())});
        for (const auto* list : {&u.receive, &u.send})
          for (const auto c : *list)
            key.push_back(names.emplace(c, static_cast<std::int64_t>(names.size())).first->second);
      }
    }
    return number(std::move(key));
  }
  std::uint32_t of(const Sent& sent) {
    std::vector<std::int64_t> key{-2, sent.rounds};
    for (const auto* list : {&sent.full, &sent.last}) {
      key.push_back(-1);
      for (const auto b : *list) key.push_back(b.count());
    }
    return number(std::move(key));
  }

 private:
  std::uint32_t number(std::vector<std::int64_t> key) {
    return known_.emplace(std::move(key), static_cast<std::uint32_t>(known_.size())).first->second;
  }
  std::map<std::vector<std::int64_t>, std::uint32_t> known_;
};

constexpr std::int64_t most_flags = 4096;  // that may stand unread; who is so far ahead waits

class Builder {
 public:
  Builder(const Context& c, const models::nccl::Call& call, const Plan& plan)
      : c_{c}, plan_{plan}, costs_{costs_of(c.gpu, plan.protocol, busy_blocks())} {
    const Bytes slot = slot_bytes(c.comm.config().env, plan.protocol);
    const Bytes least_slice{std::max<std::int64_t>(16, slot.count() / 64)};  // as NCCL's rings (nccl Plan::slice_min)
    Unroller unroller{plan, slot, least_slice};
    const Bytes chunk{std::max<std::int64_t>(1, ceil_div(call.bytes.count(), plan.chunks))};
    const Bytes round = plan.loops ? std::min(slot, chunk) : chunk;
    for (const auto& block : plan.blocks) {
      auto rounds = std::make_shared<Rounds>();
      rounds->count = chunk.count() / round.count();
      rounds->full = unroller.unroll(block, round);
      if (const Bytes rest = chunk - round * rounds->count; rest.count() > 0)
        rounds->last = unroller.unroll(block, rest);
      rounds_.push_back(std::move(rounds));
    }
    lanes_ = unroller.lanes();
  }

  std::shared_ptr<const sim::ChunkProgram> build() {
    auto program = std::make_shared<sim::ChunkProgram>();
    program->kinds = unit_kinds(costs_);
    Patterns patterns;
    const int slots = plan_.protocol == Protocol::simple ? 4 : 8;
    Connector connector{*program, c_.edges, c_.cluster.network().model(), costs_, slots};
    program->agents.resize(plan_.blocks.size());
    std::vector<Connector::Ends> ends;
    for (std::size_t q = 0; q < plan_.queues.size(); ++q) {
      const auto& queue = plan_.queues[q];
      const int from = rank(queue.from), to = rank(queue.to);
      const auto a = agent(queue.from), b = agent(queue.to);
      if (queue.fifo)
        ends.push_back(data(*program, connector, patterns, from, to, a, b, queue.from, static_cast<std::uint32_t>(q)));
      else
        ends.push_back(flag(*program, static_cast<std::uint32_t>(q), from, to, a, b));
    }
    std::vector<std::pair<std::uint32_t, Unroller::Lanes::key_type>> lanes;
    for (const auto& [key, number] : lanes_) lanes.emplace_back(number, key);
    std::sort(lanes.begin(), lanes.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [number, key] : lanes) {
      const auto& [block, from, to, fetched] = key;
      const int b = static_cast<int>(block - plan_.blocks.data());
      const auto e = data(*program, connector, patterns, from, to, agent(b), agent(b), b, number);
      ends.push_back(e);
      // A block goes on when its stores have left; signals that follow travel behind them. A load comes back. Between
      // machines it sees the message through.
      auto& last = program->connections[static_cast<std::size_t>(e.receive)];
      last.slots = std::max(last.slots, 2);
      if (same_node(from, to)) {
        if (fetched)
          last.latency = last.latency * 2;
        else
          last.latency = sim::Time{};
      }
      last.credit_latency = sim::Time{};
    }
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      auto& agent = program->agents[b];
      const auto rounds = rounds_[b];
      agent.units = rounds->size();
      agent.pattern = patterns.of(*rounds);
      agent.pipelined = false;
      agent.at = [rounds, ends](std::int64_t i, sim::Unit& out) {
        const auto& u = rounds->at(i);
        out.kind = u.kind;
        out.bytes = u.bytes;
        out.receive.clear();
        out.send.clear();
        for (const auto q : u.receive) out.receive.push_back(ends[q].receive);
        for (const auto q : u.send) out.send.push_back(ends[q].send);
      };
    }
    return program;
  }

 private:
  int busy_blocks() const {
    std::vector<int> of(plan_.gpus.size(), 0);
    for (const auto& b : plan_.blocks)
      if (std::any_of(b.steps.begin(), b.steps.end(), [&](const auto& s) {
            return !s.lanes.empty() || std::any_of(s.give.begin(), s.give.end(), [&](int q) {
              return plan_.queues[static_cast<std::size_t>(q)].fifo;
            });
          }))
        ++of[static_cast<std::size_t>(b.rank)];
    return std::max(1, *std::max_element(of.begin(), of.end()));
  }
  int rank(int block) const { return plan_.blocks[static_cast<std::size_t>(block)].rank; }
  static sim::AgentId agent(int block) { return sim::AgentId{static_cast<std::uint32_t>(block)}; }
  bool same_node(int a, int b) const { return c_.edges.node_of(a) == c_.edges.node_of(b); }
  NetUse crossing(int from, int to, int channel) const {
    const int channels = std::max(1, c_.comm.channels().p2p);
    return {c_.comm.p2p_net(from, to, channel % channels),
            static_cast<std::uint64_t>(channel) * 1'000'003 + static_cast<std::uint64_t>(from)};
  }

  Connector::Ends data(sim::ChunkProgram&, Connector& connector, Patterns& patterns, int from, int to,
                       sim::AgentId sender, sim::AgentId receiver, int block, std::uint32_t number) {
    if (same_node(from, to))
      return connector.inside(c_.edges.node_of(from), c_.edges.local_of(from), c_.edges.local_of(to), sender, receiver);
    const auto sent = std::make_shared<const Sent>(sent_into(*rounds_[static_cast<std::size_t>(block)], number));
    const int channel = plan_.blocks[static_cast<std::size_t>(block)].channel;
    return connector.across(
        std::array{crossing(from, to, channel)}, sender, receiver, sent->size(),
        [sent](std::int64_t i) { return sent->at(i); }, patterns.of(*sent));
  }

  Connector::Ends flag(sim::ChunkProgram& program, std::uint32_t number, int from, int to, sim::AgentId a,
                       sim::AgentId b) const {
    sim::Connection flag;
    flag.from = a;
    flag.to = b;
    const auto given = sent_into(*rounds_[static_cast<std::size_t>(a)], number).size();
    flag.slots = static_cast<std::int32_t>(std::clamp<std::int64_t>(given, 1, most_flags));
    if (from != to && same_node(from, to)) {
      const auto& lane = c_.edges.lane(c_.edges.node_of(from), c_.edges.local_of(from), c_.edges.local_of(to));
      flag.latency = c_.edges.time(lane, costs_).hop;
    } else if (from != to) {
      flag.latency = c_.edges.time(crossing(from, to, 0), costs_).hop;
    }
    program.connections.push_back(flag);
    const ConnectionId id{static_cast<std::uint32_t>(program.connections.size() - 1)};
    return {id, id};
  }

  const Context& c_;
  const Plan& plan_;
  Costs costs_;
  std::vector<std::shared_ptr<const Rounds>> rounds_;  // by block
  Unroller::Lanes lanes_;
};

}  // namespace

Schedule build_algorithm(const Context& c, const models::nccl::Call& call, const AlgorithmPlan& plan) {
  Schedule s;
  s.algorithm = plan.format;
  s.protocol = std::string(name_of(plan.protocol));
  s.channels = plan.channels;
  s.program = Builder{c, call, plan}.build();
  return s;
}

}  // namespace linkcast::workloads
