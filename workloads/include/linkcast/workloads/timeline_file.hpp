// Timelines of what was replayed, written while it is replayed: Perfetto's own protobuf, or the JSON that PyTorch's
// profiler writes, which browsers and holistic trace analysis read. Memory does not grow with the timeline. Knows no
// cluster and no option of a command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/workloads/replay_recording.hpp"

namespace linkcast::workloads {

struct TimelineFileOptions {
  int gpus_per_node = 8;
  std::string gpu;           // "NVIDIA H100": of deviceProperties; may be empty
  std::string nccl_version;  // of distributedInfo; may be empty
};

/// By the ending: .pftrace (or .perfetto-trace) is Perfetto's, .json and .json.gz (also .pftrace.gz) what profilers
/// write. A name with %r, or that ends with / , becomes one file a rank: all that there is to a `.json` of one rank.
class TimelineFile {
 public:
  /// Throws sim::InputError: an ending that is none of those, a folder that cannot be made.
  TimelineFile(const std::string& path, const Recording& recording, const TimelineFileOptions& options = {});
  ~TimelineFile();
  TimelineFile(const TimelineFile&) = delete;
  TimelineFile& operator=(const TimelineFile&) = delete;

  /// For RecordingReplayOptions::each. Operations of one stream come in the order in which they end.
  void add(const ReplayedOperation& operation);
  /// Ends the files, and returns their names. Throws sim::InputError where something could not be written.
  std::vector<std::string> close();

  static bool understands(std::string_view path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::workloads
