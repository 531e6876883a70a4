// `linkcast run`: a scenario is a topology, NCCL's version and settings, and a trace of what every rank does. This
// replays it and says how long it takes, what each rank did meanwhile, and what the links carried. The file's format
// is in docs/trace.md. Knows no printing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/sim/account.hpp"
#include "linkcast/sim/link_use.hpp"
#include "linkcast/sim/timeline.hpp"
#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::workloads {

struct ScenarioOptions {
  std::vector<std::string> set;       // "key=value" over the file's: "topology=dgx-a100", "env.NCCL_ALGO=Ring"
  sim::Timeline* timeline = nullptr;  // gets a lane for each stream of each rank; not owned
  std::shared_ptr<const topologies::Profile> profile = nullptr;  // fitted numbers, instead of those that the file names
  bool fold = true;
  std::size_t kept_collectives = 10'000;  // of ScenarioResult::collectives; totals count all
  std::int64_t checked_operations =
      2'000'000;  // whose calls are matched before anything runs; loops may repeat for ever
};

/// Where one rank's time went: compute + exposed + wait + launch + idle == ScenarioResult::end, to the picosecond.
struct RankResult {
  int rank = 0;
  std::string gpu;          // the fabric's device: "gpu[3]"
  sim::Time compute;        // some stream computes
  sim::Time communication;  // some collective runs, overlapped by compute or not
  sim::Time exposed;        // a collective runs and nothing computes
  sim::Time wait;           // nothing runs: a collective is waited for whose other ranks are late
  sim::Time launch;         // nothing runs or is waited for: the host is still launching
  sim::Time idle;
};

struct CollectiveResult {
  std::string name;  // the operation's, or ""
  std::string communicator;
  std::string op;  // "all_reduce"
  int ranks = 0;
  sim::Bytes size;
  sim::Time first_arrival;  // of its ranks
  sim::Time start, end;     // start: the last one has arrived
  std::string algorithm, protocol;
};

/// All collectives of one communicator, operation and size.
struct CollectiveTotal {
  std::string communicator, op;
  int ranks = 0;
  sim::Bytes size;
  std::int64_t count = 0;
  sim::Time time;  // sum over them of end - start
  sim::Time shortest, longest;
  std::string algorithm, protocol;
};

struct ScenarioResult {
  std::string title;  // the file's, or its name
  std::string topology;
  std::string architecture;  // of its GPUs: "Hopper"
  std::string nccl;
  Fidelity fidelity = Fidelity::flow;
  int ranks = 0;
  sim::Time end;
  sim::Account account;  // of the critical path; adds up to `end`
  std::vector<RankResult> by_rank;
  std::vector<CollectiveResult> collectives;  // by start
  std::int64_t collective_count = 0;
  std::vector<CollectiveTotal> totals;  // the longest first
  std::vector<sim::LinkUse> links;      // the busiest first
  std::uint64_t tasks = 0, events = 0;
};

/// Throws sim::InputError with everything that is wrong with the scenario, its trace, or its topology.
ScenarioResult run_scenario(const std::string& path, const ScenarioOptions& options = {});
/// The same for a text. `where` names it in messages; files that it names are relative to the folder of `where`.
ScenarioResult run_scenario_text(std::string text, const std::string& where, const ScenarioOptions& options = {});

/// Reads and checks only; nothing is simulated. Throws as run_scenario_text does.
void check_scenario_text(std::string text, const std::string& where, const ScenarioOptions& options = {});

}  // namespace linkcast::workloads
