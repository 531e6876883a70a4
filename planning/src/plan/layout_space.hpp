// The layouts to search: for each key of a plan some values, or all that divide. Knows no machine and no time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
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

  /// Which value of each key: a layout in a few bytes, of which a plan has hundreds.
  using Path = std::span<const std::uint32_t>;
  using Each = std::function<bool(workloads::Plan&&, Path)>;
  /// Calls `each` with every combination on so many of those GPUs, in a fixed order, until it returns false. Values
  /// that are free divide what they have to; listed ones may not.
  void each(int gpus, const workloads::ModelCard& card, const models::GpuModel& gpu, const Each& each) const;
  /// The same one again.
  workloads::Plan at(Path path, int gpus, const workloads::ModelCard& card, const models::GpuModel& gpu) const;
  std::size_t keys() const { return dimensions_.size(); }
  /// "tp (4 values), pp (free)": where it could be narrower.
  std::string text() const;

  bool searches(std::string_view key) const;

 private:
  struct Dimension {
    const LayoutKey* key;
    bool free = false;
    std::vector<workloads::Plan> values;  // each with that key set
  };
  bool descend(std::vector<std::uint32_t>& path, workloads::Plan& plan, const workloads::ModelCard& card,
               const models::GpuModel& gpu, const Each& each) const;
  workloads::Plan start(int gpus) const;

  workloads::Plan base_;
  std::vector<Dimension> dimensions_;  // those that others divide by first
};

}  // namespace linkcast::planning
