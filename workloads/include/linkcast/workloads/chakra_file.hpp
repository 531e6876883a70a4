// A recording as Chakra execution traces (MLCommons, et_def.proto 1.1.1): one file a rank.
#pragma once

#include <string>
#include <vector>

#include "linkcast/workloads/write_recording.hpp"

namespace linkcast::workloads {

/// `path` with %r: one file for each rank that is recorded; without, that of the only one. Gaps and computing have
/// their durations, in whole microseconds as the format has it. False: stopped.
bool write_chakra(const Recording& recording, const std::string& path, std::vector<std::string>& files,
                  const WalkOptions& options = {});

}  // namespace linkcast::workloads
