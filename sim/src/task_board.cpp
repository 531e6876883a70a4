// The replay's window of tasks, see task_board.hpp.
#include "task_board.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim {

bool TaskBoard::seen(std::uint64_t id) const {
  auto run = seen_.upper_bound(id);
  return run != seen_.begin() && std::prev(run)->second >= id;
}

std::uint32_t TaskBoard::take_slot() {
  if (free_.empty()) {
    entries_.emplace_back();
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const auto slot = free_.back();
  free_.pop_back();
  return slot;
}

void TaskBoard::fill(Time now, const Account& admitted, std::vector<std::uint32_t>& ready) {
  while (!exhausted_ && slot_of_.size() < window_) {
    auto task = source_.next();
    if (!task) {
      exhausted_ = true;
      return;
    }
    const auto id = static_cast<std::uint64_t>(task->id);
    if (!seen_.empty() && id <= seen_.rbegin()->second) {
      throw InputError(fmt::format("task {} comes after task {}", id, seen_.rbegin()->second), "task ids must grow");
    }
    const auto slot = take_slot();
    Entry& e = entries_[slot];
    e.task = std::move(*task);
    e.waits_for = 0;
    e.successors.clear();
    e.account = admitted;
    for (const auto dependency : e.task.after) {
      const auto before = static_cast<std::uint64_t>(dependency);
      if (!seen(before)) {
        throw InputError(fmt::format("task {} ('{}') depends on task {}, which never comes", id, e.task.label, before),
                         "dependencies must have smaller ids");
      }
      if (const auto at = slot_of_.find(before); at != slot_of_.end()) {
        ++e.waits_for;
        entries_[at->second].successors.push_back(slot);
      } else if (ended_at_ == now) {
        const auto done = std::ranges::find(ended_now_, before, &std::pair<std::uint64_t, Account>::first);
        if (done != ended_now_.end()) e.account = done->second;
      }
    }
    if (!seen_.empty() && seen_.rbegin()->second + 1 == id) {
      seen_.rbegin()->second = id;
    } else {
      seen_.emplace(id, id);
    }
    slot_of_.emplace(id, slot);
    ++taken_;
    if (e.waits_for == 0) ready.push_back(slot);
  }
}

void TaskBoard::end(std::uint32_t slot, Time now, std::vector<std::uint32_t>& ready) {
  Entry& e = entries_[slot];
  if (ended_at_ != now) ended_now_.clear();
  ended_at_ = now;
  ended_now_.emplace_back(static_cast<std::uint64_t>(e.task.id), e.account);
  for (const auto s : e.successors) {
    Entry& next = entries_[s];
    if (--next.waits_for != 0) continue;
    next.account = e.account;  // of the dependency that ended last
    ready.push_back(s);
  }
  slot_of_.erase(static_cast<std::uint64_t>(e.task.id));
  e.task = {};  // a program may be large: not kept until the slot is taken again
  free_.push_back(slot);
}

}  // namespace linkcast::sim
