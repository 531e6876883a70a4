// The agents' state machine, see chunk_run.hpp. A unit goes through
//   waiting  until its inputs are there and its outputs have room: the latest of them sets when it is taken up;
//   overhead then transfer: one event, one flow;
//   tails    only where it cut through: until the tails of its inputs are known, and ending until they are there.
// All conditions compare times, never the order of events, so that events of one instant may come in any order.
#include "chunk_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim {

ChunkRun::ChunkRun(const ChunkPlan& plan, ChunkHost host, Time now, const Account& account)
    : plan_{plan}, host_{host}, workers_(plan.agents()), fifos_(plan.connections()), end_{now}, account_{account} {
  cuts_through_ = std::ranges::any_of(plan.program().kinds, [](const UnitKind& k) { return k.cut_through; });
  std::uint32_t slots = 0;
  for (std::uint32_t c = 0; c < fifos_.size(); ++c) {
    const Connection& connection = plan.connection(c);
    auto& f = fifos_[c];
    f.from = plan.plan_agent(connection.from);
    f.to = plan.plan_agent(connection.to);
    f.first = slots;
    f.slots = static_cast<std::uint32_t>(connection.slots);
    f.latency = connection.latency;
    f.credit_latency = connection.credit_latency;
    slots += f.slots;
  }
  tails_.resize(slots);
  credits_.resize(slots);
  if (cuts_through_) heads_.resize(slots);
  ways_ = host.carrier.ways(plan, host.tag);
  if (ways_->tells_arrivals()) landings_.resize(slots);
  working_ = plan.agents();
  for (std::uint32_t a = 0; a < workers_.size(); ++a) {
    workers_[a].account = account;
    fetch(a, now);
  }
}

void ChunkRun::fetch(std::uint32_t a, Time now) {
  Worker& w = workers_[a];
  const Agent& agent = plan_.agent(a);
  if (w.next >= agent.units) {
    w.phase = Phase::done;
    --working_;
    // Ties go to the lowest agent, whichever ended first among the events of one instant.
    if (now > end_ || (now == end_ && a < last_)) {
      end_ = now;
      account_ = w.account;
      last_ = a;
    }
    return;
  }
  unit_.receive.clear();
  unit_.send.clear();
  unit_.kind = 0;
  unit_.bytes = Bytes{};
  agent.at(w.next, unit_);
  w.kind = unit_.kind;
  w.bytes = unit_.bytes;
  if (w.kind >= plan_.program().kinds.size() || w.bytes < Bytes{}) {
    throw InternalError(
        fmt::format("chunk program: unit {} of agent {} is malformed", w.next, plan_.original_agent(a)));
  }
  choose_route(a);
  const auto map = [this, a](const std::vector<ConnectionId>& from, std::vector<std::uint32_t>& to, bool sends) {
    to.clear();
    for (const auto c : from) {
      const auto mapped = plan_.plan_connection(c);
      const auto& f = fifos_[mapped];
      if ((sends ? f.from : f.to) != a) {
        throw InternalError(fmt::format("chunk program: connection {} is not agent {}'s to {}",
                                        static_cast<std::uint32_t>(c), plan_.original_agent(a),
                                        sends ? "send on" : "receive on"));
      }
      if (std::ranges::find(to, mapped) == to.end()) to.push_back(mapped);
    }
  };
  map(unit_.receive, w.receive, false);
  map(unit_.send, w.send, true);

  const bool cut = kind_of(w).cut_through;
  w.phase = Phase::waiting;
  w.missing = 0;
  for (const auto c : w.receive) {
    auto& f = fifos_[c];
    f.receiver_waits = (cut ? f.heads : f.tails) <= f.taken;
    w.missing += f.receiver_waits;
  }
  for (const auto c : w.send) {
    auto& f = fifos_[c];
    f.sender_waits = f.sent >= f.slots + f.released;
    w.missing += f.sender_waits;
  }
  if (w.missing == 0) take_up(a);
}

// Agents use few different lists of connections in turn; the one used last is tried first.
void ChunkRun::choose_route(std::uint32_t a) {
  Worker& w = workers_[a];
  if (w.route < w.routes.size() && w.routes[w.route].first == unit_.send) return;
  for (w.route = 0; w.route < w.routes.size(); ++w.route) {
    if (w.routes[w.route].first == unit_.send) return;
  }
  w.routes.emplace_back(unit_.send, plan_.route(a, unit_.send));
}

// Everything that the unit needs is known. It is taken up when the latest of it is there; that one explains the time.
// Ties: the agent itself, then receives, then sends, each in the unit's order.
void ChunkRun::take_up(std::uint32_t a) {
  Worker& w = workers_[a];
  const UnitKind& kind = kind_of(w);
  Time ready = w.account.total();
  const Account* why = &w.account;
  const auto consider = [&](const Arrival& arrival) {
    if (arrival.time > ready) ready = arrival.time, why = &arrival.account;
  };
  for (const auto c : w.receive) {
    auto& f = fifos_[c];
    consider((kind.cut_through ? heads_ : tails_)[slot(f, f.taken++)]);
  }
  for (const auto c : w.send) {
    auto& f = fifos_[c];
    if (f.sent >= f.slots) consider(credits_[slot(f, f.sent)]);
    ++f.sent;
  }
  if (why != &w.account) w.account = *why;
  w.account.add(Cause::latency, kind.overhead);
  w.phase = Phase::overhead;
  schedule(a, ready + kind.overhead);
}

void ChunkRun::on_event(std::uint32_t a, Time now) {
  switch (workers_[a].phase) {
    case Phase::overhead:
      return begin_transfer(a, now);
    case Phase::transfer:
      return end_transfer(a, now);
    case Phase::ending:
      return pass_on(a, now);
    case Phase::waiting:
    case Phase::tails:
    case Phase::done:
      break;
  }
  throw InternalError(fmt::format("chunk program: an event for agent {} that expects none", plan_.original_agent(a)));
}

void ChunkRun::on_moved(std::uint32_t a, Time now, const Moved& moved) {
  moved.what == Moved::What::left ? end_transfer(a, now, moved.paused) : land(moved.connection, now, moved);
}

void ChunkRun::begin_transfer(std::uint32_t a, Time now) {
  check_account(a, now);
  Worker& w = workers_[a];
  w.phase = Phase::transfer;
  w.flow_start = now;
  if (cuts_through_) {
    for (const auto c : w.send) {
      auto& f = fifos_[c];
      auto& head = heads_[slot(f, f.heads++)];
      head = {now + f.latency, w.account};
      head.account.add(Cause::latency, f.latency);
      const Worker& to = workers_[f.to];
      if (f.receiver_waits && to.phase == Phase::waiting && kind_of(to).cut_through) {
        f.receiver_waits = false;
        wake(f.to, now);
      }
    }
  }
  const Rate cap = kind_of(w).cap;
  const Route& route = w.routes[w.route].second;
  const bool moves = w.bytes > Bytes{} && !route.usages.empty();
  if (!landings_.empty()) {
    for (const auto c : w.send) {
      const bool travels = moves && !plan_.connection(c).usages.empty();
      landings_[slot(fifos_[c], fifos_[c].sent - 1)] = {.known = !travels, .time = now, .paused = Time{}};
    }
  }
  if (w.bytes == Bytes{}) return end_transfer(a, now);
  if (!moves) return schedule(a, now + transfer_time(w.bytes, cap));
  ways_->start(now, {a, w.kind, w.bytes, w.send, route, cap});
}

void ChunkRun::end_transfer(std::uint32_t a, Time now, std::optional<Time> paused) {
  Worker& w = workers_[a];
  const UnitKind& kind = kind_of(w);
  const Route& route = w.routes[w.route].second;
  const Time elapsed = now - w.flow_start;
  const bool fills = plan_.agent(a).pipelined && w.next == 0;
  if (fills) {
    w.message = w.account;
    w.message.add(Cause::fill, elapsed);
  }
  const Time wire = transfer_time(w.bytes, route.wire);
  const Time protocol = std::max(wire, transfer_time(w.bytes, route.protocol));
  const Time alone = std::max(protocol, transfer_time(w.bytes, kind.cap));
  book_transfer(w.account, elapsed, wire, protocol, alone, kind.cap_cause, paused);
  if (!fills) w.message = w.account;
  w.own_end = now;
  w.phase = Phase::tails;
  w.missing = 0;
  if (kind.cut_through) {
    for (const auto c : w.receive) {
      auto& f = fifos_[c];
      f.receiver_waits = f.tails < f.taken;
      w.missing += f.receiver_waits;
    }
  }
  if (w.missing == 0) conclude(a, now, true);
}

// The unit's own bytes have moved and the tails of its inputs are known.
void ChunkRun::conclude(std::uint32_t a, Time now, bool at_once) {
  Worker& w = workers_[a];
  Time end = now;  // own_end or, when a tail was awaited, later
  if (kind_of(w).cut_through) {
    const Arrival* latest = nullptr;
    for (const auto c : w.receive) {
      const auto& tail = tails_[slot(fifos_[c], fifos_[c].taken - 1)];
      const Time known = latest == nullptr ? w.own_end : latest->time;
      if (tail.time > known) latest = &tail;
    }
    if (latest != nullptr) end = std::max(end, latest->time);
    if (latest != nullptr) w.account = w.message = latest->account;
  }
  w.phase = Phase::ending;
  // From another agent's tail always through the queue: a chain of cut-through agents would recurse as deep as it is.
  if (end > now || !at_once) return schedule(a, end);
  pass_on(a, now);
}

void ChunkRun::check_account(std::uint32_t a, Time now) const {
  const Time total = workers_[a].account.total();
  if (total == now) return;
  throw InternalError(
      fmt::format("the account of agent {} has {} ps at {} ps", plan_.original_agent(a), total.ps(), now.ps()));
}

void ChunkRun::pass_on(std::uint32_t a, Time now) {
  check_account(a, now);
  Worker& w = workers_[a];
  for (const auto c : w.send) {
    auto& f = fifos_[c];
    auto& tail = tails_[slot(f, f.left++)];
    tail = {now + f.latency, w.message};
    tail.account.add(Cause::latency, f.latency);
    tell_tails(c, now);
  }
  for (const auto c : w.receive) {
    auto& f = fifos_[c];
    auto& credit = credits_[slot(f, f.released++)];
    credit = {now + f.credit_latency, w.account};
    credit.account.add(Cause::latency, f.credit_latency);
    if (std::exchange(f.sender_waits, false)) wake(f.from, now);
  }
  ++w.next;
  fetch(a, now);
}

// The carrier tells of arrivals on a connection in the order of its units; those without bytes it never saw.
void ChunkRun::land(std::uint32_t c, Time now, const Moved& moved) {
  auto& f = fifos_[c];
  while (f.arrived < f.sent && landings_[slot(f, f.arrived)].known) ++f.arrived;
  landings_[slot(f, f.arrived)] = {true, now + std::max(Time{}, f.latency - moved.on_the_way),
                                   moved.paused.value_or(Time{})};
  tell_tails(c, now);
}

// A tail is known when its unit was passed on and its bytes are there. What it is later than a unit that met nothing on
// the way is a delay on the network.
void ChunkRun::tell_tails(std::uint32_t c, Time now) {
  auto& f = fifos_[c];
  const auto before = f.tails;
  for (; f.tails < f.left; ++f.tails) {
    if (landings_.empty()) continue;
    const auto& landing = landings_[slot(f, f.tails)];
    if (!landing.known) break;
    auto& tail = tails_[slot(f, f.tails)];
    if (landing.time <= tail.time) continue;
    book_delay(tail.account, landing.time - tail.time, landing.paused);
    tail.time = landing.time;
  }
  if (f.tails == before || !f.receiver_waits) return;
  const Worker& to = workers_[f.to];
  if (to.phase == Phase::tails || (to.phase == Phase::waiting && !kind_of(to).cut_through)) {
    f.receiver_waits = false;
    wake(f.to, now);
  }
}

void ChunkRun::wake(std::uint32_t a, Time now) {
  Worker& w = workers_[a];
  if (--w.missing != 0) return;
  if (w.phase == Phase::waiting) return take_up(a);
  conclude(a, now, false);
}

std::string ChunkRun::blocked() const {
  for (std::uint32_t a = 0; a < workers_.size(); ++a) {
    const Worker& w = workers_[a];
    if (w.phase == Phase::done) continue;
    std::string why;
    for (const auto c : w.receive) {
      if (fifos_[c].receiver_waits) why += fmt::format(" a unit from agent {}", plan_.original_agent(fifos_[c].from));
    }
    for (const auto c : w.send) {
      if (fifos_[c].sender_waits)
        why += fmt::format(" a free slot towards agent {}", plan_.original_agent(fifos_[c].to));
    }
    return fmt::format("agent {} waits at unit {} of {} for{}", plan_.original_agent(a), w.next, plan_.agent(a).units,
                       why);
  }
  return "no agent";
}

}  // namespace linkcast::sim
