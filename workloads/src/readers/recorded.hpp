// Linkcast's own recordings, JSON Lines of schema linkcast.trace/2 (docs/trace.md): all that a Recording has.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_recorded(const Probe& probe);
Recording open_recorded(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
