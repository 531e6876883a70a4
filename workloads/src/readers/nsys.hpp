// What `nsys export --type sqlite` writes, one file a node or a rank, as a Recording.
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_nsys(const Probe& probe);
Recording open_nsys(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
