// A run during which faults come and go: a sequence of states, each evaluated once, and the progress over all of them.
// Knows no failure rate: every fault has its time (random ones are goodput.hpp's).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/planning/evaluate.hpp"
#include "linkcast/planning/faults.hpp"
#include "linkcast/planning/goals.hpp"
#include "linkcast/planning/goodput.hpp"

namespace linkcast::planning {

/// Mean time that traffic over a link stands still after a fault of it, until the NIC has a link again and connections
/// go on: 5.67 s (MixNet paper, appendix, which was not reviewed). A fault's `stall` says otherwise.
inline constexpr sim::Time relink_time = sim::Time::picoseconds(5'670'000'000'000);

/// What a state of the machine makes of one step (or collective, or trace).
struct StateSpeed {
  bool outage = false;
  std::string reason;
  sim::Time step;
};

struct RunLimits {
  std::optional<sim::Time> duration;
  std::optional<double> steps;  // one of the two
};

struct FaultRun {
  struct Span {
    sim::Time from, to;
    std::string what;  // "training", "stall: node[3].nic[0] fails", "down: node[4] fails", "restart", "checkpoint"
    sim::Time step;    // of training; else zero
  };
  sim::Time duration;
  double steps = 0;      // done and kept
  sim::Time sound_step;  // without faults
  /// Adds up with the useful time (steps x sound_step) to the duration.
  std::vector<std::pair<std::string, sim::Time>> lost;
  std::vector<Span> spans;
  bool finished = true;      // false: an outage that never ends came before the last step
  double effective() const;  // share of the speed without faults
  std::vector<Judged> goals;
  std::vector<std::string> assumptions;
};

/// `speed(active)`: of the faults (indices) that are there at once. `sound`: of none at all.
/// Checkpoints: at reliability.checkpoint_interval of training; without one none are written, and an outage loses
/// everything since the start of the run.
FaultRun play(std::span<const Fault> faults, const RunLimits& limits, const Reliability& reliability,
              const std::function<StateSpeed(const std::vector<std::size_t>& active)>& speed);

/// Whether the scenario has faults that begin at a time.
bool has_timed_faults(const workloads::ScenarioFile& scenario);
/// The whole of it: reads faults, duration, steps and reliability, evaluates the states. Throws sim::InputError.
FaultRun run_with_faults(const workloads::ScenarioFile& scenario, Evaluator& evaluator);

std::string to_text(const FaultRun& run, const std::string& title);
std::string to_json(const FaultRun& run, const std::string& title);  // schema linkcast.fault-run/1

}  // namespace linkcast::planning
