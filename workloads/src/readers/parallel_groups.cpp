// See parallel_groups.hpp.
#include "parallel_groups.hpp"

namespace linkcast::workloads::readers {

std::vector<int> ranks_of_group(const ParallelPlan& plan, const std::string& group) {
  const auto every = [](int count, int stride) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) out.push_back(i * stride);
    return out;
  };
  const int t = plan.tensor, e = plan.expert, d = plan.data();
  if (group == "tp") return every(t, 1);
  if (group == "ep") return every(e, t);
  if (group == "tp_ep") return every(t * e, 1);
  if (group == "dp") return every(d, t);
  if (group == "dp_ep") return every(d / e, t * e);
  if (group == "pp") return every(plan.pipeline, t * d);
  return every(plan.world, 1);
}

std::uint32_t communicator_of(Recording& recording, const ParallelPlan& plan, const std::string& group) {
  auto& all = recording.communicators;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == group) return static_cast<std::uint32_t>(i);
  all.push_back({group, "", ranks_of_group(plan, group)});
  return static_cast<std::uint32_t>(all.size() - 1);
}

}  // namespace linkcast::workloads::readers
