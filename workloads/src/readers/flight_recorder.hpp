// PyTorch's Flight Recorder (ProcessGroupNCCL's ring of the last collectives, JSON or pickle, one file a rank) as a
// Recording.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_flight_recorder(const Probe& probe);
Recording open_flight_recorder(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
