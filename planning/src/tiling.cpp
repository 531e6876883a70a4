// See tiling.hpp. The smallest rank that no group has is the smallest of its own group, so it tells how far the group
// was moved; of several kinds (the stages of a pipeline) it belongs to the one that begins last before it.
#include "tiling.hpp"

#include <algorithm>

namespace linkcast::planning {

Tiling tile(const std::vector<std::vector<int>>& groups, int world) {
  Tiling out;
  std::vector<bool> covered(static_cast<std::size_t>(std::max(world, 0)), false);
  const auto fits = [&](const std::vector<int>& g, int shift) {
    return std::ranges::all_of(g, [&](int r) {
      const int at = r + shift;
      return at >= 0 && at < world && !covered[static_cast<std::size_t>(at)];
    });
  };
  const auto add = [&](std::size_t of, int shift) {
    auto moved = groups[of];
    for (auto& r : moved) covered[static_cast<std::size_t>(r += shift)] = true;
    out.groups.push_back(std::move(moved));
    out.of.push_back(of);
  };
  std::vector<std::pair<int, std::size_t>> begins;  // smallest rank, group
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty() || !fits(groups[g], 0)) continue;
    add(g, 0);
    begins.emplace_back(*std::ranges::min_element(groups[g]), g);
  }
  std::ranges::sort(begins);
  for (int r = 0; r < world; ++r) {
    if (covered[static_cast<std::size_t>(r)]) continue;
    bool found = false;
    for (auto it = begins.rbegin(); it != begins.rend() && !found; ++it) {
      if (it->first > r || !fits(groups[it->second], r - it->first)) continue;
      add(it->second, r - it->first);
      found = true;
    }
    if (!found) ++out.uncovered;
  }
  return out;
}

}  // namespace linkcast::planning
