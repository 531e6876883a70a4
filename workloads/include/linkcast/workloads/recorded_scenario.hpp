// A scenario whose workload is a recording (a trace in any format) or a generated training step, on a whole cluster:
// docs/replay.md. Knows no printing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/recording.hpp"
#include "linkcast/workloads/replay_recording.hpp"
#include "linkcast/workloads/scenario_machine.hpp"

namespace linkcast::workloads {

struct RecordedScenario {
  std::string title;
  topologies::Cluster cluster;  // of which the recording's world takes the first GPUs
  Recording recording;
  RecordingReplayOptions options;
};

/// Whether the file is a scenario whose workload has a `trace` or a `step`. False where it cannot be read: whoever
/// reads it next says why.
bool is_recorded_scenario(const std::string& path, const std::vector<std::string>& set);

/// Throws sim::InputError with everything that is wrong. `set`: "key=value" over the file's. `profile`: instead of the
/// file's.
RecordedScenario read_recorded_scenario(const std::string& path, const std::vector<std::string>& set = {},
                                        std::shared_ptr<const topologies::Profile> profile = nullptr);

}  // namespace linkcast::workloads
