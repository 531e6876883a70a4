// See scenario_clock.hpp.
#include "scenario_clock.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::workloads::trace {
namespace {

using sim::Time;
using Kind = IssuedTask::Kind;
constexpr std::int32_t lanes_per_rank = 64;

}  // namespace

RankClock::RankClock(const Trace& trace, const ScenarioOptions& options) : trace_{trace}, options_{options} {
  ranks_.resize(static_cast<std::size_t>(trace.ranks));
  in_flight_.resize(ranks_.size());
}

void RankClock::expect(IssuedTask task, std::string_view algorithm, std::string_view protocol) {
  const auto id = static_cast<std::uint64_t>(task.id);
  if (task.rank >= 0) ++in_flight_[static_cast<std::size_t>(task.rank)];
  expected_.emplace(id, Expected{std::move(task), algorithm, protocol});
}

// One thing at a time: what computes hides what communicates, and that what waits.
void RankClock::advance(Rank& r, Time now) {
  const Time passed = now - r.since;
  r.since = now;
  if (r.collectives > 0) r.communication += passed;
  if (r.computes > 0) {
    r.compute += passed;
  } else if (r.collectives > 0) {
    r.exposed += passed;
  } else if (r.waits > 0) {
    r.wait += passed;
  } else if (r.launches > 0) {
    r.launch += passed;
  } else {
    r.idle += passed;
  }
}

void RankClock::change(const IssuedTask& task, int Rank::*count, int by, Time now) {
  const auto one = [&](int rank) {
    auto& r = ranks_[static_cast<std::size_t>(rank)];
    advance(r, now);
    r.*count += by;
  };
  if (task.rank >= 0) return one(task.rank);
  for (const int rank : trace_.communicators[static_cast<std::size_t>(task.meeting->communicator)].ranks) one(rank);
}

void RankClock::task_started(const sim::Task& task, Time now) {
  const auto found = expected_.find(static_cast<std::uint64_t>(task.id));
  if (found == expected_.end()) return;
  const auto& t = found->second.task;
  switch (t.kind) {
    case Kind::compute:
      return change(t, &Rank::computes, 1, now);
    case Kind::launch:
      return change(t, &Rank::launches, 1, now);
    case Kind::arrival:
      return;
    case Kind::barrier:
      return change(t, &Rank::waits, -1, now);
    case Kind::collective:
      change(t, &Rank::waits, -1, now);
      return change(t, &Rank::collectives, 1, now);
  }
}

void RankClock::task_ended(const sim::Task& task, Time started, Time ended, const sim::Account&) {
  const auto found = expected_.find(static_cast<std::uint64_t>(task.id));
  if (found == expected_.end()) return;
  const auto node = expected_.extract(found);
  const auto& e = node.mapped();
  const auto& t = e.task;
  if (t.rank >= 0) --in_flight_[static_cast<std::size_t>(t.rank)];
  switch (t.kind) {
    case Kind::compute:
      change(t, &Rank::computes, -1, ended);
      if (options_.timeline) draw(t.rank, *t.op, t.op->name.empty() ? "compute" : t.op->name, task, started, ended);
      return;
    case Kind::launch:
      return change(t, &Rank::launches, -1, ended);
    case Kind::arrival:
      change(t, &Rank::waits, 1, ended);
      t.meeting->first_arrival = std::min(t.meeting->first_arrival, ended);
      if (options_.timeline) arrivals_[{t.meeting->communicator, t.meeting->index}].emplace_back(t.rank, ended);
      return;
    case Kind::barrier:
      arrivals_.erase({t.meeting->communicator, t.meeting->index});
      return;
    case Kind::collective:
      change(t, &Rank::collectives, -1, ended);
      return ended_collective(e, started, ended);
  }
}

void RankClock::ended_collective(const Expected& e, Time started, Time ended) {
  const auto& meeting = *e.task.meeting;
  const auto& op = *e.task.op;
  const auto& communicator = trace_.communicators[static_cast<std::size_t>(meeting.communicator)];
  const auto ranks = static_cast<int>(communicator.ranks.size());
  ++collective_count_;
  if (collectives_.size() < options_.kept_collectives) {
    collectives_.push_back({op.name, communicator.name, std::string{name_of(op.call.op)}, ranks, op.call.bytes,
                            meeting.first_arrival, started, ended, std::string{e.algorithm}, std::string{e.protocol}});
  }
  auto& total = totals_[{meeting.communicator, op.call.op, op.call.bytes}];
  const Time time = ended - started;
  if (total.count++ == 0) {
    total.communicator = communicator.name;
    total.op = name_of(op.call.op);
    total.ranks = ranks;
    total.size = op.call.bytes;
    total.algorithm = e.algorithm;
    total.protocol = e.protocol;
    total.shortest = time;
  }
  total.time += time;
  total.shortest = std::min(total.shortest, time);
  total.longest = std::max(total.longest, time);

  if (!options_.timeline) return;
  sim::Task task;
  task.id = e.task.id;
  task.work = sim::PipelinedFlow{};
  const auto label =
      fmt::format("{} {} {} B ({}/{})", op.name, total.op, op.call.bytes.count(), e.algorithm, e.protocol);
  for (std::size_t m = 0; m < meeting.calls.size(); ++m) {
    draw(communicator.ranks[m], *meeting.calls[m], op.name.empty() ? label.substr(1) : label, task, started, ended);
  }
  task.work = sim::Barrier{};
  const auto came = arrivals_.extract({meeting.communicator, meeting.index});
  if (came.empty()) return;
  for (const auto& [rank, at] : came.mapped()) {
    const auto member = std::ranges::find(communicator.ranks, rank) - communicator.ranks.begin();
    draw(rank, *meeting.calls[static_cast<std::size_t>(member)], "wait for peers", task, at, started);
  }
}

void RankClock::draw(int rank, const TraceOp& op, std::string label, sim::Task task, Time started, Time ended) {
  const auto stream = streams_.try_emplace(op.stream, std::min(static_cast<int>(streams_.size()), lanes_per_rank - 1));
  task.lane = rank * lanes_per_rank + stream.first->second;
  task.label = std::move(label);
  options_.timeline->name_lane(task.lane, fmt::format("rank {} {}", rank, op.stream));
  options_.timeline->task_ended(task, started, ended, {});
}

void RankClock::report(ScenarioResult& result) const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank r = ranks_[i];
    advance(r, result.end);
    RankResult out;
    out.rank = static_cast<int>(i);
    out.compute = r.compute;
    out.communication = r.communication;
    out.exposed = r.exposed;
    out.wait = r.wait;
    out.launch = r.launch;
    out.idle = r.idle;
    if (out.compute + out.exposed + out.wait + out.launch + out.idle != result.end) {
      throw sim::InternalError(fmt::format("the time of rank {} does not add up", i));
    }
    result.by_rank.push_back(std::move(out));
  }
  result.collectives = collectives_;
  std::ranges::stable_sort(result.collectives, {}, &CollectiveResult::start);
  result.collective_count = collective_count_;
  for (const auto& [key, total] : totals_) result.totals.push_back(total);
  std::ranges::stable_sort(result.totals, std::ranges::greater{}, &CollectiveTotal::time);
}

}  // namespace linkcast::workloads::trace
