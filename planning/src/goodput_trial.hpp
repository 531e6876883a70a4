// One trial: a job that checkpoints, fails at given times, waits, restarts. Counts whole picoseconds, so that what is
// useful and what is lost add up to the duration exactly. Draws nothing at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "linkcast/planning/goodput.hpp"

namespace linkcast::planning {

/// What all trials of a study share.
struct TrialPlan {
  const Reliability* reliability = nullptr;
  std::span<const FailingPart> parts;
  std::int64_t duration = 0, interval = 0, checkpoint = 0, detection = 0, restart = 0;
};
/// With the best interval where the study gives none.
TrialPlan plan_of(const Reliability& reliability, std::span<const FailingPart> parts);

class Player {
 public:
  explicit Player(const TrialPlan& plan);
  /// `failures` in order of time.
  const Trial& play(std::span<const Failure> failures);
  /// Per part, of the last trial: picoseconds lost through it, how often it interrupted the job and how often it
  /// failed.
  struct Blame {
    std::int64_t lost = 0;
    int interruptions = 0, failures = 0;
  };
  std::span<const Blame> blame() const { return blame_; }

 private:
  struct Weakness {
    std::int64_t until;
    double slowdown;
    std::size_t part;
  };
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

  void reset();
  void advance(std::int64_t to);
  void pass_down(std::int64_t to);
  void run(std::int64_t length);
  void fail(const Failure& failure);
  void maintain();
  void go_down(std::size_t part, std::int64_t checkpoint, std::int64_t detection);
  void take_spares(std::int64_t repaired, int nodes);
  void charge(std::int64_t& to, std::int64_t length, std::size_t part);

  TrialPlan plan_;
  std::int64_t now_ = 0;
  std::int64_t phase_ = 0;    // since the last checkpoint was complete
  std::int64_t unsaved_ = 0;  // useful work since then
  bool down_ = false;
  std::size_t culprit_ = nobody;
  std::int64_t saved_at_ = 0, found_at_ = 0, ready_at_ = 0;  // ends of: last checkpoint, detection, waiting for parts
  std::int64_t stalled_until_ = 0;
  std::size_t staller_ = nobody;
  std::vector<Weakness> weak_;
  std::vector<std::int64_t> in_repair_;  // a heap: when each failed node is repaired
  std::vector<std::int64_t> spares_;     // a heap: when each node that the job does not use can be used, soonest first
  std::int64_t useful_ = 0, checkpoint_ = 0, lost_work_ = 0, restart_ = 0, waiting_ = 0, degraded_ = 0;
  std::vector<Blame> blame_;
  Trial trial_;
};

}  // namespace linkcast::planning
