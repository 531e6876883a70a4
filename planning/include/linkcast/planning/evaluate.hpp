// What one scenario comes to: how long it takes, what that time is made of, what held it back, and how far the figures
// are to be trusted. The one thing that sweeps, plans, resilience studies and reports all call. Knows no variants, no
// goals and no money.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/calibration/expected_error.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/collective.hpp"
#include "linkcast/workloads/scenario_file.hpp"

namespace linkcast::planning {

struct Part {
  std::string name;  // "compute", "tp", "wire nvlink"
  sim::Time time;
};

struct CollectiveAnswer {
  models::nccl::Op op = models::nccl::Op::all_reduce;
  workloads::CollectiveRow row;
  std::optional<calibration::ExpectedError> error;
};

/// How far the time is to be trusted.
struct Trust {
  double median_percent = 0, p90_percent = 0;
  bool extrapolated = false;
  std::string from;
};

/// Of generated training steps: docs/step.md.
Trust trust_of_steps();

struct Evaluation {
  std::string kind;     // "collective", "step", "trace", "programs"
  bool outage = false;  // the job cannot run at all: an answer, not an error
  std::string outage_reason;
  std::string topology, gpu, nccl;
  int nodes = 0, ranks = 0;

  sim::Time time;           // of the collective, the step, the trace
  std::vector<Part> parts;  // add up to `time`; the largest first
  std::string bound_by;     // the link or phase that held it back most: "nvlink", "nic", "exposed dp"
  std::string bound_link;   // one of the links that did, where links did: "cable leaf[0]->spine[0]"
  std::optional<CollectiveAnswer> collective;
  double mfu = 0, tokens_per_second = 0;  // 0: not known
  double exposed_share = 0;               // of the time: communication that nothing hides
  Trust trust;
  std::vector<std::string> notes;
};

/// Runs scenarios, and keeps what several of them share: clusters, NCCL's choices, models of collectives. Not shared
/// between threads: each has its own. Equal scenarios give equal answers whatever was run before.
class Evaluator {
 public:
  explicit Evaluator(std::shared_ptr<const topologies::Profile> profile = nullptr, std::stop_token stop = {});
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;

  /// Throws sim::InputError with everything that is wrong with the scenario. What disconnects the job (a device
  /// without any path left) is an outage where the scenario has `overrides`, else an error.
  Evaluation run(const workloads::ScenarioFile& scenario);
  /// Another collective on the machine of that scenario: what a goal asks for.
  CollectiveAnswer collective(const workloads::ScenarioFile& scenario, models::nccl::Op op, sim::Bytes size);
  /// The machine of that scenario, with the job's share of it.
  topologies::Cluster cluster(const workloads::ScenarioFile& scenario);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The scenario without what only planning reads: what an evaluation depends on.
workloads::ScenarioFile without_planning(const workloads::ScenarioFile& scenario);

}  // namespace linkcast::planning
