// The share of its time that a job trains usefully when parts fail: a Monte-Carlo over weeks with checkpoints, restarts
// and spare nodes. Is told which parts fail how often and what that does; knows no topology and no step time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/planning/failure_rates.hpp"
#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::planning {

/// The scenario key `reliability`. Where the defaults come from: docs/goodput.md.
struct Reliability {
  sim::Time duration;                            // 30 days; at most 100
  std::optional<sim::Time> checkpoint_interval;  // training between two checkpoints; none: the best one (Daly's)
  sim::Time checkpoint_time;                     // for which training stands still
  sim::Time detection_time;                      // from the failure until the restart begins
  sim::Time restart_time;                        // until training goes on from the checkpoint
  std::optional<int> spares;                     // nodes that wait; none: as many as it takes
  std::optional<sim::Time> repair_time;          // of nodes and parts, instead of what the rates say
  double predicted = 0;  // share of interruptions seen coming: a checkpoint is written first, nothing to detect
  sim::Time planned_every, planned_time;  // maintenance, after a checkpoint; zero: none
  RateLevel rates = RateLevel::typical;
  int trials = 1000;
  std::uint64_t seed = 1;
  std::vector<std::string> assumed;  // what the scenario did not say, for people

  Reliability();  // all defaults
  /// Null value: all defaults. Problems go to `problems`.
  static Reliability read(const workloads::trace::Value* v, workloads::trace::Problems& problems);
};

/// Over trials.
struct Spread {
  double mean = 0, p5 = 0, p50 = 0, p95 = 0;
};

/// Shares of the duration, mean over trials. With the goodput they add up to 1.
struct Lost {
  double checkpoint = 0;  // writing checkpoints
  double lost_work = 0;   // done again after an interruption
  double restart = 0;     // detection and restart, and planned maintenance
  double spares = 0;      // waiting for a node or a part to be repaired
  double degraded = 0;    // by slower or stalled parts
};

struct CauseShare {
  std::string cause, part;
  double interruptions = 0;  // mean per trial
  double share = 0;          // of all interruptions
  double lost = 0;           // of the duration, through this cause
  double failures = 0;       // mean per trial, those that only degrade or stall too
};

struct Goodput {
  Spread share;          // of the duration, useful
  Spread interruptions;  // unplanned
  Spread spares_needed;  // nodes in repair at once, at most: so many spares, and nothing waits for a node
  std::optional<int> spares;
  Lost lost;
  double mtbf_hours = 0;                                         // duration over mean interruptions; 0: none
  sim::Time checkpoint_interval, daly_interval, young_interval;  // used; the two formulas (zero: nothing interrupts)
  double analytic = 0;  // Daly's share in the long run (2006, eq. 20), which knows no spares and no degraded parts
  sim::Time duration;
  int trials = 0;
  std::uint64_t seed = 0;
  std::vector<CauseShare> by_cause;  // the most lost first
  std::vector<std::string> assumptions;
};

/// The same for the same input, on any number of threads (0: one per core).
Goodput simulate(const Reliability& reliability, std::span<const FailingPart> parts, int threads = 0);

/// The answer for people, and as JSON ({"mean": 93.1, …}: shares in percent).
std::string to_text(const Goodput& goodput);
std::string json_report(const Goodput& goodput);

/// How a single trial went, in picoseconds that add up to the duration exactly. For tests and for drawing.
struct Trial {
  sim::Time useful, checkpoint, lost_work, restart, spares, degraded;
  int interruptions = 0;
  int in_repair = 0;  // nodes at once, at most
};
Trial simulate_one(const Reliability& reliability, std::span<const FailingPart> parts, int trial);

/// A failure at a known time, instead of a random one: what happens then.
struct Failure {
  sim::Time at;
  std::size_t part = 0;  // index into the parts
  bool mended = false;   // by the restart
  bool predicted = false;
};
Trial play(const Reliability& reliability, std::span<const FailingPart> parts, std::span<const Failure> failures);

/// Young's sqrt(2 c M) and Daly's higher-order optimum of the training time between checkpoints of c each, at an MTBF
/// of M seconds (Daly 2006, eq. 37: sqrt(2cM) (1 + sqrt(c/2M)/3 + c/18M) - c, for c < 2M, else M).
double young_seconds(double checkpoint, double mtbf);
double daly_seconds(double checkpoint, double mtbf);

}  // namespace linkcast::planning
