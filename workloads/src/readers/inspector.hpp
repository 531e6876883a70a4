// The NCCL inspector's records (plugins/profiler/inspector, JSON Lines, one file a process) as a Recording.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_inspector(const Probe& probe);
Recording open_inspector(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
