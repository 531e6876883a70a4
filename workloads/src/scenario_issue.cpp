// See scenario_issue.hpp. Each rank's operations are read one at a time, in turn, so that the ranks stay in step and
// few wait. A rank is read ahead of what it waits for: its host would be, too.
#include "scenario_issue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace linkcast::workloads::trace {

namespace {
constexpr std::int64_t most_held = 1 << 16;  // operations of one rank that may wait before it is read no further
constexpr int most_ahead = 64;               // tasks in flight that one rank may have more than another
}  // namespace

const TraceOp& Meeting::first() const {
  return **std::ranges::find_if(calls, [](const auto& c) { return c != nullptr; });
}

Issuer::Issuer(const Trace& trace, TraceReader& reader, HostKind host, Problems& problems)
    : trace_{trace}, reader_{reader}, host_{host}, problems_{problems} {
  ranks_.resize(static_cast<std::size_t>(trace.ranks));
  groups_.resize(trace.communicators.size());
  member_.resize(trace.communicators.size());
  for (auto& r : ranks_) r.calls.assign(trace.communicators.size(), 0);
  for (std::size_t c = 0; c < trace.communicators.size(); ++c) {
    const auto& ranks = trace.communicators[c].ranks;
    for (std::size_t m = 0; m < ranks.size(); ++m) member_[c].emplace(ranks[m], static_cast<int>(m));
  }
}

// Those that wait for each other hold each other: the circle is cut here.
Issuer::~Issuer() {
  for (auto& [order, node] : waiting_) node->waiters.clear();
}

bool Issuer::next(IssuedTask& out) {
  while (out_.empty()) {
    if (finished_) return false;
    bool read = false;
    if (in_flight_ != nullptr && !in_flight_->empty()) {
      const int few = std::ranges::min(*in_flight_) + most_ahead;
      for (int r = 0; r < trace_.ranks; ++r) {
        if ((*in_flight_)[static_cast<std::size_t>(r)] <= few) read = fetch(r) || read;
      }
      if (read) continue;
    }
    for (int r = 0; r < trace_.ranks; ++r) read = fetch(r) || read;
    if (read || !out_.empty()) continue;
    finished_ = true;
    if (!waiting_.empty()) explain();
  }
  out = std::move(out_.front());
  out_.pop_front();
  return true;
}

bool Issuer::fetch(int r) {
  auto& rank = ranks_[static_cast<std::size_t>(r)];
  if (rank.ended || rank.held >= most_held) return false;
  auto op = reader_.next(r);
  if (op == nullptr) {
    rank.ended = true;
    return false;
  }
  ++operations_;
  op->kind == TraceOp::Kind::compute ? take_compute(r, std::move(op)) : take_meeting(r, std::move(op));
  return true;
}

Issuer::NodePtr Issuer::make(IssuedTask::Kind kind, int rank, std::shared_ptr<const TraceOp> op,
                             std::shared_ptr<Meeting> meeting) {
  auto node = std::make_shared<Node>();
  node->task.kind = kind;
  node->task.rank = rank;
  node->task.op = std::move(op);
  node->task.meeting = std::move(meeting);
  node->order = made_++;
  return node;
}

void Issuer::wait_for(const NodePtr& node, const NodePtr& before) {
  if (before == nullptr) return;
  if (before->issued) {
    node->task.after.push_back(before->task.id);
    return;
  }
  ++node->missing;
  before->waiters.push_back(node);
  node->before.push_back(before);
}

void Issuer::wait_for_names(int r, const NodePtr& node, const TraceOp& op) {
  const auto& names = ranks_[static_cast<std::size_t>(r)].names;
  for (const auto& name : op.after) {
    const auto found = names.find(name);
    if (found == names.end()) {
      problems_.add(op.after_place, fmt::format("rank {} has no operation named '{}' before this one", r, name),
                    "'after' names earlier operations of the same rank");
      continue;
    }
    wait_for(node, found->second);
  }
}

void Issuer::settle(const NodePtr& node) {
  if (node->missing > 0) {
    waiting_.emplace(node->order, node);
    if (node->task.rank >= 0 && node->task.kind != IssuedTask::Kind::launch) {
      ++ranks_[static_cast<std::size_t>(node->task.rank)].held;
    }
    return;
  }
  std::vector<NodePtr> ready{node};
  while (!ready.empty()) {
    const auto n = std::move(ready.back());
    ready.pop_back();
    if (waiting_.erase(n->order) > 0 && n->task.rank >= 0 && n->task.kind != IssuedTask::Kind::launch) {
      --ranks_[static_cast<std::size_t>(n->task.rank)].held;
    }
    n->task.id = sim::TaskId{issued_++};
    n->issued = true;
    n->before.clear();
    const auto waiters = std::move(n->waiters);
    for (const auto& w : waiters) {
      w->task.after.push_back(n->task.id);
      if (--w->missing == 0) ready.push_back(w);
    }
    out_.push_back(std::exchange(n->task, {}));
    n->task.id = out_.back().id;  // all that others still ask of it
  }
}

void Issuer::take_compute(int r, std::shared_ptr<const TraceOp> op) {
  auto& rank = ranks_[static_cast<std::size_t>(r)];
  const auto node = make(IssuedTask::Kind::compute, r, op, nullptr);
  auto& tail = rank.streams.try_emplace(op->stream, rank.base).first->second;
  wait_for(node, tail);
  wait_for_names(r, node, *op);
  tail = node;
  if (!op->name.empty()) rank.names[op->name] = node;
  settle(node);
}

Issuer::Open& Issuer::open_meeting(const std::shared_ptr<const TraceOp>& op, std::int64_t index) {
  const auto c = static_cast<std::size_t>(op->communicator);
  auto& group = groups_[c];
  const auto at = static_cast<std::size_t>(index - group.first);
  if (at < group.open.size()) return group.open[at];
  Open open;
  open.meeting = std::make_shared<Meeting>();
  open.meeting->communicator = op->communicator;
  open.meeting->index = index;
  open.meeting->missing = static_cast<int>(trace_.communicators[c].ranks.size());
  open.meeting->calls.resize(trace_.communicators[c].ranks.size());
  const bool barrier = op->kind == TraceOp::Kind::barrier;
  open.node = make(barrier ? IssuedTask::Kind::barrier : IssuedTask::Kind::collective, -1, op, open.meeting);
  open.node->missing = open.meeting->missing;
  waiting_.emplace(open.node->order, open.node);
  open.previous = group.last;
  group.last = open.node;
  if (host_ == HostKind::shared && !barrier) {
    open.launch = make(IssuedTask::Kind::launch, -1, op, open.meeting);
    wait_for(open.launch, shared_host_);
    shared_host_ = open.launch;
    settle(open.launch);
  }
  group.open.push_back(std::move(open));
  return group.open.back();
}

void Issuer::take_meeting(int r, std::shared_ptr<const TraceOp> op) {
  auto& rank = ranks_[static_cast<std::size_t>(r)];
  const auto c = static_cast<std::size_t>(op->communicator);
  auto& group = groups_[c];
  const bool known = rank.calls[c] - group.first < static_cast<std::int64_t>(group.open.size());
  const Open open = open_meeting(op, rank.calls[c]++);
  auto& meeting = *open.meeting;
  if (known) compare(r, meeting, *op);
  meeting.calls[static_cast<std::size_t>(member_[c].at(r))] = op;
  --meeting.missing;

  const auto arrival = make(IssuedTask::Kind::arrival, r, op, open.meeting);
  open.node->before.push_back(arrival);
  arrival->waiters.push_back(open.node);
  wait_for(arrival, open.previous);  // NCCL runs the calls of a communicator one after the other
  if (op->kind == TraceOp::Kind::barrier) {
    // Whatever the rank and its host have issued comes before, whatever they issue from now on comes after.
    wait_for(arrival, rank.base);
    for (const auto& [name, tail] : rank.streams) wait_for(arrival, tail);
    wait_for(arrival, host_ == HostKind::shared ? shared_host_ : rank.host);
    rank.streams.clear();
    rank.base = rank.host = open.node;
    // A shared host goes on issuing for the ranks that are not there yet.
    if (meeting.missing == 0) shared_host_ = open.node;
  } else {
    auto& tail = rank.streams.try_emplace(op->stream, rank.base).first->second;
    wait_for(arrival, tail);
    wait_for_names(r, arrival, *op);
    tail = open.node;
    if (host_ == HostKind::per_rank) {
      const auto launch = make(IssuedTask::Kind::launch, r, op, open.meeting);
      wait_for(launch, rank.host);
      settle(launch);
      rank.host = launch;
      wait_for(arrival, launch);
    }
    wait_for(arrival, open.launch);
  }
  if (!op->name.empty()) rank.names[op->name] = open.node;
  while (!group.open.empty() && group.open.front().meeting->missing == 0) {
    group.open.pop_front();
    ++group.first;
  }
  settle(arrival);
}

}  // namespace linkcast::workloads::trace
