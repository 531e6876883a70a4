// A recording whose operations are all written before it is read.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::step {

using Written = std::vector<std::vector<Operation>>;  // by recorded rank
std::function<std::unique_ptr<OperationReader>()> reader_of(std::shared_ptr<const Written> written);
std::uint32_t add_group(Recording& r, const char* kind, int stage, std::vector<int> ranks);

}  // namespace linkcast::workloads::step
