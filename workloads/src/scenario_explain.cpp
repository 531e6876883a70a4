// Why a trace cannot run: calls that do not fit together, calls that some ranks never make, ranks that wait for each
// other. Only words: what is issued is decided in scenario_issue.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "linkcast/workloads/trace_fields.hpp"
#include "scenario_issue.hpp"

namespace linkcast::workloads::trace {
namespace {

std::string_view verb(const TraceOp& op) {
  return op.kind == TraceOp::Kind::barrier ? std::string_view{"barrier"} : name_of(op.call.op);
}

std::string bytes(sim::Bytes b) {
  const auto n = b.count();
  for (const auto& [unit, shift] : {std::pair{"GiB", 30}, {"MiB", 20}, {"KiB", 10}}) {
    if (n >= std::int64_t{1} << shift && n % (std::int64_t{1} << shift) == 0)
      return fmt::format("{} {}", n >> shift, unit);
  }
  return fmt::format("{} B", n);
}

}  // namespace

std::string Issuer::describe(const TraceOp& op) const {
  const auto& communicator = trace_.communicators[static_cast<std::size_t>(op.communicator)].name;
  return fmt::format("{} on '{}' (line {})", verb(op), communicator, op.place.line);
}

void Issuer::compare(int rank, const Meeting& meeting, const TraceOp& op) {
  auto& group = groups_[static_cast<std::size_t>(op.communicator)];
  if (group.differs) return;
  const auto& ranks = trace_.communicators[static_cast<std::size_t>(op.communicator)].ranks;
  const auto first_call = std::ranges::find_if(meeting.calls, [](const auto& c) { return c != nullptr; });
  const TraceOp& other = **first_call;
  const int other_rank = ranks[static_cast<std::size_t>(first_call - meeting.calls.begin())];
  const auto say = [&](const std::string& here, const std::string& there, std::string help) {
    group.differs = true;
    problems_.add(op.place,
                  fmt::format("call {} on '{}' is {} at rank {} but {} at rank {} (line {})", meeting.index + 1,
                              trace_.communicators[static_cast<std::size_t>(op.communicator)].name, here, rank, there,
                              other_rank, other.place.line),
                  std::move(help));
  };
  if (op.kind != other.kind || (op.kind == TraceOp::Kind::collective && op.call.op != other.call.op)) {
    say(std::string{verb(op)}, std::string{verb(other)},
        "all ranks call the same operations of a communicator in the same order");
  } else if (op.kind == TraceOp::Kind::barrier) {
    return;
  } else if (op.call.bytes != other.call.bytes) {
    say(fmt::format("{} of {}", verb(op), bytes(op.call.bytes)), "of " + bytes(other.call.bytes),
        "all ranks give the same size");
  } else if (op.call.dtype != other.call.dtype) {
    say(fmt::format("{} of {}", verb(op), op.call.dtype), "of " + other.call.dtype, "all ranks give the same datatype");
  } else if (op.call.root != other.call.root) {
    say(fmt::format("{} with root {}", verb(op), op.call.root), fmt::format("with root {}", other.call.root),
        "all ranks give the same root");
  }
}

void Issuer::explain() {
  const bool differ = std::ranges::any_of(groups_, [](const Group& g) { return g.differs; });
  if (explain_missing() || differ) return;
  explain_circle();
}

bool Issuer::explain_missing() {
  bool any = false;
  for (std::size_t c = 0; c < groups_.size(); ++c) {
    const auto& communicator = trace_.communicators[c];
    for (const auto& open : groups_[c].open) {
      const auto& meeting = *open.meeting;
      if (meeting.missing == 0) continue;
      std::vector<int> there, absent;
      for (std::size_t m = 0; m < meeting.calls.size(); ++m) {
        const int rank = communicator.ranks[m];
        if (meeting.calls[m] != nullptr) {
          there.push_back(rank);
        } else if (ranks_[static_cast<std::size_t>(rank)].ended) {
          absent.push_back(rank);
        }
      }
      if (absent.empty()) continue;
      any = true;
      std::ranges::sort(there);
      std::ranges::sort(absent);
      if (!groups_[c].differs) {
        problems_.add(
            meeting.first().place,
            fmt::format("{} on '{}' is called by {} but never by {}", verb(meeting.first()), communicator.name,
                        list_ranks(there), list_ranks(absent)),
            fmt::format("it is call {} on '{}': all its ranks must make it", meeting.index + 1, communicator.name));
      }
      break;  // what follows on this communicator follows from it
    }
  }
  return any;
}

void Issuer::explain_circle() {
  std::vector<NodePtr> path;
  NodePtr at = waiting_.begin()->second;
  std::set<const Node*> seen;
  while (at != nullptr && seen.insert(at.get()).second) {
    path.push_back(at);
    NodePtr next;
    for (const auto& b : at->before) {
      const auto before = b.lock();
      if (before && !before->issued) {
        next = before;
        break;
      }
    }
    at = next;
  }
  if (at != nullptr) path.erase(path.begin(), std::ranges::find(path, at));

  // Going round the circle, each rank in it comes to one meeting only after another.
  std::string circle;
  int said = 0;
  const Place* place = nullptr;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto& arrival = *path[i];
    if (arrival.task.kind != IssuedTask::Kind::arrival) continue;
    for (std::size_t k = 1; k <= path.size(); ++k) {
      const auto& before = path[(i + k) % path.size()]->task;
      if (before.kind != IssuedTask::Kind::collective && before.kind != IssuedTask::Kind::barrier) continue;
      const auto member = member_[static_cast<std::size_t>(before.meeting->communicator)].find(arrival.task.rank);
      const auto& calls = before.meeting->calls;
      const TraceOp* there = member == member_[static_cast<std::size_t>(before.meeting->communicator)].end()
                                 ? &before.meeting->first()
                                 : calls[static_cast<std::size_t>(member->second)].get();
      if (there == nullptr) there = &before.meeting->first();
      if (place == nullptr || arrival.task.op->place.line < place->line) place = &arrival.task.op->place;
      if (++said > 4) {
        if (said == 5) circle += ", …";
        break;
      }
      if (!circle.empty()) circle += ", ";
      circle += fmt::format("rank {} comes to {} only after {}", arrival.task.rank, describe(*arrival.task.op),
                            describe(*there));
      break;
    }
  }
  if (place == nullptr) {
    const auto& first = waiting_.begin()->second->task.op;
    problems_.add(first->place, "deadlock: this operation waits for others that wait for it");
    return;
  }
  problems_.add(*place, "deadlock: " + circle, "let all ranks call them in the same order, or on different streams");
}

}  // namespace linkcast::workloads::trace
