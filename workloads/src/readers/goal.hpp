// GOAL schedules (LogGOPSim, ATLAHS): sends, receives and computing of each rank with what requires what, as text or in
// the binary form that txt2bin writes.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_goal(const Probe& probe);
Recording open_goal(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
