// PARAM's basic communication traces (a JSON list of calls, github.com/facebookresearch/param) as a Recording.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_param_comms(const Probe& probe);
Recording open_param_comms(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
