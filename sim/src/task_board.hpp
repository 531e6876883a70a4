// Which tasks are in the replay's window, what they wait for, and which are done. Memory follows the window: of
// tasks that are done only runs of ids are kept. Knows no network.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "linkcast/sim/program.hpp"

namespace linkcast::sim {

class TaskBoard {
 public:
  struct Entry {
    Task task;
    std::uint32_t waits_for = 0;            // dependencies that are not done
    std::vector<std::uint32_t> successors;  // slots
    Time started, flow_start;
    bool launching = false;  // a program that has not begun its first unit
    Account account;
  };

  TaskBoard(TaskSource& source, std::size_t window) : source_{source}, window_{window == 0 ? 1 : window} {}

  Entry& operator[](std::uint32_t slot) { return entries_[slot]; }
  std::size_t in_window() const { return slot_of_.size(); }
  std::uint64_t taken() const { return taken_; }

  /// Takes tasks from the source while there is room. Appends the slots of those that may start now to `ready`;
  /// `admitted` explains `now` for a task whose dependencies ended earlier than now.
  void fill(Time now, const Account& admitted, std::vector<std::uint32_t>& ready);

  /// `slot` has ended now; its entry's account explains it. Appends successors that may start to `ready`.
  void end(std::uint32_t slot, Time now, std::vector<std::uint32_t>& ready);

 private:
  bool seen(std::uint64_t id) const;
  std::uint32_t take_slot();

  TaskSource& source_;
  std::size_t window_;
  bool exhausted_ = false;
  std::uint64_t taken_ = 0;
  std::deque<Entry> entries_;  // stable while others are added
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint64_t, std::uint32_t> slot_of_;
  std::map<std::uint64_t, std::uint64_t> seen_;  // first -> last of each run of ids that came
  Time ended_at_;
  std::vector<std::pair<std::uint64_t, Account>> ended_now_;  // those that ended at `ended_at_`
};

}  // namespace linkcast::sim
