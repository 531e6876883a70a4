// Sums of what resources carried, see link_use.hpp.
#include "linkcast/sim/link_use.hpp"

#include <algorithm>

namespace linkcast::sim {

std::vector<LinkUse> link_use(const ResourceTable& resources, const ReplayResult& result) {
  std::vector<LinkUse> out;
  const double seconds = result.end.seconds();
  for (std::uint32_t r = 0; r < result.carried.size(); ++r) {
    if (result.carried[r] <= 0) continue;
    const auto& resource = resources[ResourceId{r}];
    const double possible = static_cast<double>(resource.capacity.bytes_per_second()) * seconds;
    out.push_back({ResourceId{r}, resource.name, result.carried[r], possible > 0 ? result.carried[r] / possible : 0.0});
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &LinkUse::utilisation);
  return out;
}

}  // namespace linkcast::sim
