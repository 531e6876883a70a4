// Replays a recording on a cluster: streams, dependencies, collectives that wait for their ranks, computing that shares
// the GPU with communication. What one call takes is the collective model's answer; what several at once do to each
// other is docs/replay.md's. Ranks that were not recorded do as those that were. Knows no file format.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/call_costs.hpp"
#include "linkcast/workloads/collective.hpp"
#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads {

/// One operation as it was replayed, for timelines. Valid during the call only.
struct ReplayedOperation {
  int rank = 0;
  std::string_view stream, name;
  const Operation* operation = nullptr;
  const RecordedCommunicator* communicator = nullptr;  // null: compute
  std::string_view algorithm, protocol;                // of communication
  sim::Time arrived, start, end;                       // arrived: ready, perhaps waiting for peers
};

struct RecordingReplayOptions {
  CommunicatorOptions library;
  double compute_scale = 1;           // of recorded durations: 0.5 is a GPU twice as fast
  std::map<Work, double> work_scale;  // besides, by what it is made of
  std::map<int, double> slow_ranks;   // rank -> its computing takes so many times as long
  double jitter = 0;                  // standard deviation of the logarithm of each compute's duration
  std::uint64_t seed = 1;
  bool share = true;                // computing and communication take SMs and links from each other
  bool keep_communication = false;  // communication takes as long as recorded, where that is known
  /// (communicator, operation) as in ReplayedTotal -> its calls between nodes take so many times as long: others use the
  /// network too.
  std::map<std::pair<std::string, std::string>, double> stretch;
  std::function<void(const ReplayedOperation&)> each;
  std::function<void(std::int64_t operations, sim::Time now)> progress;
  /// Of this cluster and library, with what earlier replays asked for; null: its own.
  std::shared_ptr<CallCosts> costs;
  std::stop_token stop;
};

/// compute + sum of exposed + bubble + wait + idle == end, to the picosecond.
struct ReplayedRank {
  int rank = 0;
  sim::Time compute;                         // some stream computes
  std::map<std::string, sim::Time> exposed;  // by communicator: communication runs and nothing computes
  sim::Time communication;                   // some communication runs, hidden or not
  sim::Time bubble;                          // nothing runs: a message is waited for
  sim::Time wait;                            // nothing runs: others are late for a collective
  sim::Time idle;
};

struct ReplayedTotal {                  // of one communicator, operation and size
  std::string communicator, operation;  // "tp", "all_reduce" | "send"
  int ranks = 0;
  sim::Bytes bytes;
  std::int64_t count = 0;
  sim::Time time, shortest, longest;
  sim::Time measured;  // sum of what the recording says; 0: it does not
  std::int64_t measured_count = 0;
  std::string algorithm, protocol, bound_by;
  bool between_nodes = false;
};

struct RecordingResult {
  sim::Time end;
  std::vector<ReplayedRank> by_rank;
  std::vector<ReplayedTotal> totals;               // the longest first
  std::map<std::string, sim::Time> critical_path;  // "compute", "tp", "idle": adds up to `end`
  std::int64_t operations = 0, collectives = 0, messages = 0;
  double mfu = 0, tokens_per_second = 0;  // 0: not known
  std::vector<std::string> notes;
  bool interrupted = false;
};

/// Throws sim::InputError: a world that the cluster has no GPUs for, calls that never meet, dependencies in a circle.
RecordingResult replay_recording(const Recording& recording, const topologies::Cluster& cluster,
                                 const RecordingReplayOptions& options = {});

}  // namespace linkcast::workloads
