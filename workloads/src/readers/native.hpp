// Linkcast's own trace, JSON Lines (docs/trace.md), as a Recording.
#pragma once

#include "formats.hpp"
#include "linkcast/workloads/trace.hpp"

namespace linkcast::workloads::readers {

bool is_native(const Probe& probe);
Recording open_native(const std::vector<std::string>& paths, const RecordingOptions& options);

/// Any trace of that form; all its ranks are recorded.
Recording recording_of(Trace trace);

}  // namespace linkcast::workloads::readers
