// NVLinks of pairs of GPUs, as nvidia-smi and hwloc tell them, to a mesh or to NVSwitches. Knows no format.
#pragma once

#include <functional>

#include "import_profile.hpp"

namespace linkcast::topologies {

/// Fills the NVLink part of `m`. The same number between all pairs, and more than a GPU has ports for, means switches;
/// they are those of the profile, or of another machine of the catalog with these links. A GPU with fewer links than
/// the others has lost them: overrides. `ports`: NVLinks of the GPU part. `report` is called with the GPUs of a pair
/// that cannot be.
void wire_nvlinks(const ImportInput& in, const MachineProfile& profile, const PairLinks& links, int ports,
                  const std::function<void(int, int, std::string problem, std::string help)>& report, MachineModel& m);

/// Some GPU has an NVLink.
bool has_nvlink(const PairLinks& links);

}  // namespace linkcast::topologies
