// A recording has the communicators of the ranks that were recorded; the other ranks of the world do alike, in
// communicators of their own. Which: the same pattern of ranks, moved on, until the world is full. Knows no operation.
#pragma once

#include <vector>

namespace linkcast::planning {

/// The given groups of ranks and copies of them, shifted, that cover as much of 0..world-1 as fits, none twice. Groups
/// of Megatron's orders (products of strided ranges) cover all of it. `of`: for each result the group it is a copy of.
struct Tiling {
  std::vector<std::vector<int>> groups;
  std::vector<std::size_t> of;
  int uncovered = 0;
};
Tiling tile(const std::vector<std::vector<int>>& groups, int world);

}  // namespace linkcast::planning
