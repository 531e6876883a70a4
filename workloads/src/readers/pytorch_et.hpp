// PyTorch's execution traces (ExecutionTraceObserver, schemas 1.0.1 to 1.1.1) as a Recording: alone, with operations
// and sizes but without times; beside a Kineto trace of the same step, for what that one does not say of its calls.
#pragma once

#include <string>
#include <vector>

#include "formats.hpp"
#include "kineto_link.hpp"

namespace linkcast::workloads::readers {

bool is_pytorch_et(const Probe& probe);
Recording open_pytorch_et(const std::vector<std::string>& paths, const RecordingOptions& options);

/// The calls of a trace by their record function id, and its process groups.
void read_calls_of_execution_trace(const std::string& path, Names& names, CallsByRecord& calls, TorchGroups& groups,
                                   ReadReport& report);

}  // namespace linkcast::workloads::readers
