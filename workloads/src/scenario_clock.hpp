// Watches a replay and books every rank's time: computing, communicating, waiting for a peer, launching, idle.
// Also tells a timeline what happened in the ranks' own terms. Knows no fabric.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "linkcast/workloads/scenario.hpp"
#include "scenario_issue.hpp"

namespace linkcast::workloads::trace {

class RankClock final : public sim::Observer {
 public:
  RankClock(const Trace& trace, const ScenarioOptions& options);

  /// A task that will be replayed, and of a collective, what NCCL chose for it ("NVLS", "Simple").
  void expect(IssuedTask task, std::string_view algorithm = {}, std::string_view protocol = {});

  void task_started(const sim::Task& task, sim::Time now) override;
  void task_ended(const sim::Task& task, sim::Time started, sim::Time ended, const sim::Account& account) override;

  /// Tasks of each rank that are expected and have not ended.
  const std::vector<int>& in_flight() const { return in_flight_; }

  /// Fills what was seen into the result; its `end` must be set. Times of each rank add up to it.
  void report(ScenarioResult& result) const;

 private:
  struct Expected {
    IssuedTask task;
    std::string_view algorithm, protocol;
  };
  struct Rank {
    int computes = 0, collectives = 0, waits = 0, launches = 0;
    sim::Time since;
    sim::Time compute, communication, exposed, wait, launch, idle;
  };
  struct TotalKey {
    int communicator;
    models::nccl::Op op;
    sim::Bytes size;
    auto operator<=>(const TotalKey&) const = default;
  };

  static void advance(Rank& r, sim::Time now);
  /// `count` of Rank changes by `change` for all ranks of the task.
  void change(const IssuedTask& task, int Rank::*count, int change, sim::Time now);
  void ended_collective(const Expected& e, sim::Time started, sim::Time ended);
  void draw(int rank, const TraceOp& op, std::string label, sim::Task task, sim::Time started, sim::Time ended);

  const Trace& trace_;
  const ScenarioOptions& options_;
  std::vector<Rank> ranks_;
  std::vector<int> in_flight_;
  std::unordered_map<std::uint64_t, Expected> expected_;
  std::vector<CollectiveResult> collectives_;
  std::int64_t collective_count_ = 0;
  std::map<TotalKey, CollectiveTotal> totals_;
  std::map<std::string, int, std::less<>> streams_;
  std::map<std::pair<int, std::int64_t>, std::vector<std::pair<int, sim::Time>>> arrivals_;  // for a timeline only
};

}  // namespace linkcast::workloads::trace
