// AICB's physical workloads: rows of calls by group and size, as CSV. Rank 0 stands for all.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_aicb_csv(const Probe& probe);
Recording open_aicb_csv(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
