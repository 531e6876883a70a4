// PyTorch profiler (Kineto) traces, one file a rank, as a Recording; an execution trace of the same step may complete
// them. docs/traces/kineto.md says what is read and by which rules.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_kineto(const Probe& probe);
Recording open_kineto(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
