// Which parts of a cluster are alike for a job: colour refinement (Weisfeiler, Leman 1968) over devices, links, cables
// and switches. Parts of one class have the same surroundings however far one looks. What their ranks do in NCCL's
// trees and rings may still differ. Knows no fault.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/planning/elements.hpp"

namespace linkcast::planning {

struct ElementClass {
  std::vector<std::size_t> members;  // of the elements that were given, in their order
  std::int64_t count = 0;            // parts: members, or the cables that they are made of
};

/// `role`: what a rank of the job does; ranks of different roles are never alike.
std::vector<ElementClass> alike(const Elements& elements, std::span<const Element> parts,
                                const std::function<int(int rank)>& role);

}  // namespace linkcast::planning
