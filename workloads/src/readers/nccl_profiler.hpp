// The Chrome trace of NCCL's example profiler plugin (plugins/profiler/example), one file a rank or a communicator, as
// a Recording.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_nccl_profiler(const Probe& probe);
Recording open_nccl_profiler(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
