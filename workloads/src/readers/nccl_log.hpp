// NCCL_DEBUG=INFO logs (subsystems INIT and COLL) of NCCL and RCCL, one file or one for each process, as a Recording.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_nccl_log(const Probe& probe);
Recording open_nccl_log(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
