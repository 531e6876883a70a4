// Chakra execution traces: Protocol Buffers (<prefix>.<rank>.et, also compressed) and JSON (`workload_graph`).
#pragma once

#include "formats.hpp"

namespace linkcast::workloads::readers {

bool is_chakra(const Probe& probe);
Recording open_chakra(const std::vector<std::string>& paths, const RecordingOptions& options);

}  // namespace linkcast::workloads::readers
