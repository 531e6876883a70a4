// Plans of chunk programs, see chunk_plan.hpp.
#include "chunk_plan.hpp"

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim {

ChunkPlan::ChunkPlan(const ResourceTable& resources, const ChunkProgram& program, bool folded)
    : resources_{resources}, program_{program}, census_{take_census(resources, program)} {
  agents_ = static_cast<std::uint32_t>(program.agents.size());
  connections_ = static_cast<std::uint32_t>(program.connections.size());
  if (!folded) return;
  Folding folding = fold(resources, program, census_);
  if (folding.agents.size.size() == agents_) return;  // nothing is alike: the program as it is costs less
  folding_ = std::move(folding);
  agents_ = static_cast<std::uint32_t>(folding_->agents.size.size());
  connections_ = static_cast<std::uint32_t>(folding_->connections.size.size());
  for (const auto r : folding_->resources.representative) {
    const Resource& original = resources[ResourceId{r}];
    quotient_.add({original.name, original.capacity, original.bare});
  }
}

Route ChunkPlan::route(std::uint32_t a, const std::vector<ConnectionId>& send) const {
  Route out{{}, Rate::unlimited(), Rate::unlimited()};
  unit_usages(program_, agent(a), send, out.usages);
  for (const auto& u : out.usages) {
    const auto load = std::max(u.weight, census_.self_load[static_cast<std::size_t>(u.resource)]);
    const double share = fixed_weight_one / static_cast<double>(load);
    out.wire = std::min(out.wire, resources_[u.resource].bare * share);
    out.protocol = std::min(out.protocol, resources_[u.resource].capacity * share);
  }
  const Rate least = Rate::bytes_per_second(1);
  out.wire = std::max(out.wire, least);
  out.protocol = std::max(out.protocol, least);
  if (!folding_) return out;

  // All members of the agent's class load the resources of a class evenly, because the partition is equitable: one
  // resource has its share of what they load together.
  for (auto& u : out.usages) {
    u.resource = ResourceId{folding_->resources.of[static_cast<std::size_t>(u.resource)]};
  }
  std::ranges::sort(out.usages, {}, &FixedUsage::resource);
  std::size_t kept = 0;
  for (const auto& u : out.usages) {
    if (kept > 0 && out.usages[kept - 1].resource == u.resource) {
      out.usages[kept - 1].weight += u.weight;
    } else {
      out.usages[kept++] = u;
    }
  }
  out.usages.resize(kept);
  for (auto& u : out.usages) {
    __extension__ using Wide = __int128;
    const auto together = static_cast<Wide>(u.weight) * folding_->agents.size[a];
    const auto among = static_cast<Wide>(folding_->resources.size[static_cast<std::size_t>(u.resource)]);
    if (together % among != 0) throw InternalError("folding: the partition is not equitable");
    u.weight = static_cast<std::int64_t>(together / among);
  }
  return out;
}

void ChunkPlan::expand_carried(const std::vector<double>& of_plan, std::vector<double>& of_program) const {
  for (std::size_t r = 0; r < of_program.size(); ++r) {
    of_program[r] += of_plan[folding_ ? folding_->resources.of[r] : r];
  }
}

}  // namespace linkcast::sim
