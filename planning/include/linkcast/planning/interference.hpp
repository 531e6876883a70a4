// What jobs that share a network do to each other, and what their placement costs them. Rates are max-min fair shares
// of the cables; the equations are in docs/interference.md. Knows no file format and prints nothing but its own result.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/planning/jobs.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::planning {

struct InterferenceOptions {
  bool placements = true;  // compare packed, strided, fragmented and a suggestion
  int seeds = 5;           // of fragmented placements
  std::stop_token stop;    // what is done is kept
  std::function<void(int done, int of)> progress;
};

/// One kind of communication between nodes of a job.
struct JobPhase {
  std::string name;      // "dp reduce_scatter"
  double occupancy = 0;  // share of the job's time alone in which its bytes flow
  double stretch = 1;    // of that time, together with the other jobs
  double worst_stretch = 1;
};

struct JobOutcome {
  std::string name, workload, hosts, placement;  // placement: "packed", "hosts"
  int nodes = 0;
  sim::Time alone, together, worst;         // worst: the others always send when it does, in their most harmful phases
  double slowdown = 1, worst_slowdown = 1;  // against alone
  std::string bound_by;                     // the cable that it waits for together; "itself" where no cable is shared
  std::vector<JobPhase> phases;
};

/// One job under one rule of placement that holds for all jobs.
struct PlacementOutcome {
  std::string job, placement;  // "given", "packed", "strided", "fragmented", "suggested"
  sim::Time alone, together;   // means over the seeds
  sim::Time least, most;       // of `together`
  int seeds = 1;
  double slowdown = 1;  // together, against the job alone as given
};

struct Suggestion {
  std::string job, hosts;
  sim::Time time, given;  // together with the other jobs: so placed, and as given
};

struct Interference {
  std::string title, topology;
  int nodes = 0;
  std::vector<JobOutcome> jobs;
  std::vector<std::vector<double>> matrix;  // [slowed][by]
  std::vector<PlacementOutcome> placements;
  std::vector<Suggestion> suggested;
  std::vector<Judged> goals;  // `slowdown` against that of the job that loses most, as given; others are not known here
  std::vector<std::string> notes;
  bool interrupted = false;
};

/// Throws sim::InputError: a fidelity other than flow, NICs that cannot reach each other.
Interference interference(const JobSet& set, const InterferenceOptions& options = {});

std::string interference_text(const Interference& result);
/// Schema linkcast.interference/1.
std::string interference_json(const Interference& result);

}  // namespace linkcast::planning
