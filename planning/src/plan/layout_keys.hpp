// The keys of a plan that a search may vary, in the order in which they are chosen: what a later one has to divide is
// known by then.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/workloads/step.hpp"

namespace linkcast::planning {

/// The plan as far as it is chosen, for what `free` stands for.
struct Partial {
  const workloads::ModelCard& card;
  const models::GpuModel& gpu;
  const workloads::Plan& plan;
};

struct LayoutKey {
  std::string_view name;
  void (*copy)(workloads::Plan& to, const workloads::Plan& from);
  /// All values that divide what they have to; null: the key has to be listed.
  std::vector<workloads::Plan> (*free)(const Partial& partial);
};
std::span<const LayoutKey> layout_keys();

}  // namespace linkcast::planning
