// The layouts to search: for each key of a plan some values, or all that divide. Knows no machine and no time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/workloads/step.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::planning {

struct LayoutKey;  // layout_keys.cpp

class LayoutSpace {
 public:
  /// `layout` of `search`; null: the usual keys are free. `base`: the scenario's plan. Problems go to `problems`.
  LayoutSpace(const workloads::trace::Value* layout, workloads::Plan base, const workloads::ModelCard& card,
              const std::string& where, workloads::trace::Problems& problems);

  /// Calls `each` with every combination on so many of those GPUs, in a fixed order, until it returns false. Values
  /// that are free divide what they have to; listed ones may not.
  void each(int gpus, const workloads::ModelCard& card, const models::GpuModel& gpu,
            const std::function<bool(workloads::Plan&&)>& each) const;

  bool searches(std::string_view key) const;

 private:
  struct Dimension {
    const LayoutKey* key;
    bool free = false;
    std::vector<workloads::Plan> values;  // each with that key set
  };
  bool descend(std::size_t depth, workloads::Plan& plan, const workloads::ModelCard& card, const models::GpuModel& gpu,
               const std::function<bool(workloads::Plan&&)>& each) const;

  workloads::Plan base_;
  std::vector<Dimension> dimensions_;  // those that others divide by first
};

}  // namespace linkcast::planning
