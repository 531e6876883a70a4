// Runs tasks over a network and says when everything ended and why it took that long.
// Same input, same output, bit for bit: events at one instant run in the order of their insertion.
#pragma once

#include <cstdint>
#include <vector>

#include "linkcast/sim/program.hpp"

namespace linkcast::sim {

namespace packet {
struct Setting;
}

/// Watches a replay; every method may be left alone. Called in the order of simulated time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void task_started(const Task&, Time) {}
  virtual void task_ended(const Task&, Time /*started*/, Time /*ended*/, const Account&) {}
};

struct ReplayOptions {
  bool fold = true;                  // simulate what behaves alike once (fold.hpp); never changes a time
  std::size_t window = 65'536;       // tasks taken from the source ahead of completion
  std::vector<Observer*> observers;  // not owned
  /// Units move as packets, all in one network, and nothing is folded. Null: as fluid.
  const packet::Setting* packets = nullptr;
};

struct ReplayResult {
  Time end;
  Account account;              // of the critical path to `end`; account.total() == end, always
  std::vector<double> carried;  // bytes that crossed each resource, by ResourceId
  std::uint64_t events = 0;
  std::uint64_t tasks = 0;
};

/// Throws InternalError when an invariant breaks (a link beyond its rate, an account that does not add up, a
/// deadlock of FIFOs) and InputError when the task graph has a dependency on a task that never comes.
ReplayResult replay(const ResourceTable& resources, TaskSource& source, const ReplayOptions& options = {});

/// One task alone, from time 0.
ReplayResult replay(const ResourceTable& resources, Task task, const ReplayOptions& options = {});

}  // namespace linkcast::sim
