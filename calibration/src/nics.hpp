// The InfiniBand and RoCE ports of this machine, as the kernel shows them.
#pragma once

#include <filesystem>
#include <vector>

#include "linkcast/calibration/measure.hpp"

namespace linkcast::calibration {

/// `folder`: /sys/class/infiniband, or one like it. Sorted by name; empty where there is none.
std::vector<NicFacts> nics_in(const std::filesystem::path& folder);

}  // namespace linkcast::calibration
