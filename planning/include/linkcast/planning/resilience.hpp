// What happens when a part fails: every distinct single fault of the machine and the network that a job uses, pairs of
// faults by sampling, and what is bound to stop it. Symmetric parts are evaluated once. Knows no failure rate:
// goodput.hpp takes what is found here further.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/planning/evaluate.hpp"
#include "linkcast/planning/faults.hpp"
#include "linkcast/planning/goals.hpp"
#include "linkcast/planning/goodput.hpp"
#include "linkcast/workloads/scenario_file.hpp"

namespace linkcast::planning {

/// The scenario key `resilience`.
struct ResilienceStudy {
  std::vector<ElementKind> kinds;  // empty: all
  bool degraded = true;            // besides dead parts: narrow links, bit errors, slow GPUs
  double width = 0.5;              // share of its rate that a degraded link keeps
  double bit_error_rate = 1e-6;
  double slow = 1.3;  // times as long as a slow GPU computes
  int pairs = 0;      // random pairs of parts that fail together
  std::uint64_t seed = 1;

  /// Null value: the defaults. Problems go to `problems`.
  static ResilienceStudy read(const workloads::trace::Value* v, workloads::trace::Problems& problems);
};

struct ResilienceOptions {
  std::shared_ptr<const topologies::Profile> profile;
  int threads = 0;  // 0: one per core
  std::stop_token stop;
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;  // called from one thread at a time
};

/// One class of parts with one fault.
struct FaultRow {
  std::string element;  // that stands for all of its class
  ElementKind kind = ElementKind::gpu;
  std::int64_t count = 0;  // parts of the class
  FaultKind fault = FaultKind::fail;
  std::string fault_text;  // "fails", "at 50 %", "bit errors 1e-06", "1.3 times as slow"
  bool outage = false;
  std::string outage_reason;
  sim::Time time;
  double slowdown = 1;  // of the time without faults; an outage: infinite
  std::string bound_by;
  std::vector<std::string> jobs;  // of the scenario's `jobs`, that use the part
};

struct PairRow {
  std::string first, second;
  bool outage = false;
  std::string outage_reason;
  double slowdown = 1;
};
struct PairSample {
  int sampled = 0, outages = 0;
  double median = 1, p95 = 1, most = 1;  // slowdown of those that go on
  std::vector<PairRow> worst;            // outages that neither part alone is, then the slowest
};

struct Resilience {
  std::string title, scenario;
  Evaluation baseline;                                  // of several jobs that of the first
  std::vector<std::pair<std::string, sim::Time>> jobs;  // of several: how long each takes without faults
  std::vector<FaultRow> rows;                           // worst first
  std::optional<PairSample> pairs;
  std::optional<Goodput> goodput;
  std::vector<Judged> goals;  // of the scenario; `slowdown` is that of the worst fault that is no outage
  std::vector<std::string> assumptions;
  bool interrupted = false;
};

/// Faults that the scenario has for its whole run are there in the baseline too. Throws sim::InputError; a baseline
/// that cannot run is one.
Resilience study_resilience(const workloads::ScenarioFile& scenario, const ResilienceStudy& study,
                            const ResilienceOptions& options = {});

std::string to_text(const Resilience& r, std::size_t most_rows = 40);  // 0: all
std::string to_csv(const Resilience& r);
std::string to_json(const Resilience& r);  // schema linkcast.resilience/1

}  // namespace linkcast::planning
