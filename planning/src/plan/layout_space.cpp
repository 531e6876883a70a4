#include "layout_space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout_keys.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/scenario_machine.hpp"

namespace linkcast::planning {
namespace {

using workloads::Plan;
using workloads::trace::Problems;
using workloads::trace::Value;

// Where `layout` says nothing.
constexpr std::string_view usual[] = {"tp", "pp", "vpp", "micro_batch", "recompute", "sharding", "ep"};

/// The plan with that one key as the file has it; what is wrong with it is said at its place.
std::optional<Plan> with(const Value& key, const Value& value, const std::string& where, Problems& problems) {
  const auto said = problems.count();
  if (key.text == "shard_group" && (value.text == "all" || value.text == "0")) return Plan{};
  try {
    return workloads::read_plan(fmt::format("{{{}: {}}}", key.text, workloads::written(value)), where);
  } catch (const sim::InputError& e) {
    for (const auto& d : e.diagnostics()) problems.add(value, d.problem, d.help);
  }
  if (problems.count() == said) problems.add(value, fmt::format("'{}' cannot be that", key.text));
  return std::nullopt;
}

}  // namespace

LayoutSpace::LayoutSpace(const Value* layout, Plan base, const workloads::ModelCard& card, const std::string& where,
                         Problems& problems)
    : base_{std::move(base)} {
  if (layout == nullptr) {
    for (const auto& key : layout_keys())
      if (std::ranges::find(usual, key.name) != std::end(usual) && (key.name != "ep" || card.experts > 0))
        dimensions_.push_back({&key, true, {}});
    return;
  }
  if (!layout->is_map()) {
    problems.add(*layout, "'layout' must be a map of a plan's keys to their values",
                 "write `{tp: [1, 2, 4, 8], pp: free, micro_batch: free}`");
    return;
  }
  std::vector<std::string> known;
  for (const auto& key : layout_keys()) known.emplace_back(key.name);
  for (const auto& [key, value] : layout->entries) {
    const auto found = std::ranges::find(layout_keys(), std::string_view{key.text}, &LayoutKey::name);
    if (found == layout_keys().end()) {
      auto help = workloads::trace::suggest(key.text, known);
      if (key.text == "dp") help = "it follows from gpus / (tp x cp x pp)";
      if (key.text == "gpus") help = "write `gpus: [256, 512]` beside `layout`";
      if (key.text == "global_batch" || key.text == "sequence")
        help = "it belongs to the model's training: workload.step.plan";
      problems.add(key, fmt::format("'{}' is no key of a layout", key.text),
                   help.empty() ? fmt::format("there are {}", fmt::join(known, ", ")) : help);
      continue;
    }
    Dimension d{&*found, false, {}};
    if (value.is_scalar() && value.text == "free") {
      if (found->free == nullptr) {
        problems.add(value, fmt::format("'{}' cannot be free: nothing says where it ends", key.text),
                     "list its values");
        continue;
      }
      d.free = true;
    } else {
      // `order` is a list itself: one of them, or a list of lists.
      const bool one =
          !value.is_sequence() || (key.text == "order" && !value.items.empty() && value.items[0].is_scalar());
      if (one) {
        if (auto p = with(key, value, where, problems)) d.values.push_back(std::move(*p));
      } else if (value.items.empty()) {
        problems.add(value, fmt::format("'{}' has no values: the space is empty", key.text),
                     "name at least one, or `free`");
      } else {
        for (const auto& item : value.items)
          if (auto p = with(key, item, where, problems)) d.values.push_back(std::move(*p));
      }
    }
    dimensions_.push_back(std::move(d));
  }
  std::ranges::stable_sort(dimensions_, {}, [](const Dimension& d) { return d.key - layout_keys().data(); });
}

bool LayoutSpace::searches(std::string_view key) const {
  return std::ranges::any_of(dimensions_, [&](const Dimension& d) { return d.key->name == key; });
}

std::string LayoutSpace::text() const {
  std::string out;
  for (const auto& d : dimensions_) {
    if (!d.free && d.values.size() < 2) continue;
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", d.key->name,
                       d.free ? "free" : fmt::format("{} values", d.values.size()));
  }
  return out;
}

Plan LayoutSpace::start(int gpus) const {
  auto plan = base_;
  plan.gpus = gpus;
  plan.dp = 0;
  return plan;
}

void LayoutSpace::each(int gpus, const workloads::ModelCard& card, const models::GpuModel& gpu,
                       const Each& each) const {
  auto plan = start(gpus);
  std::vector<std::uint32_t> path;
  descend(path, plan, card, gpu, each);
}

Plan LayoutSpace::at(Path path, int gpus, const workloads::ModelCard& card, const models::GpuModel& gpu) const {
  auto plan = start(gpus);
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const auto& d = dimensions_[i];
    d.key->copy(plan, d.free ? d.key->free({card, gpu, plan}).at(path[i]) : d.values.at(path[i]));
  }
  return plan;
}

bool LayoutSpace::descend(std::vector<std::uint32_t>& path, Plan& plan, const workloads::ModelCard& card,
                          const models::GpuModel& gpu, const Each& each) const {
  if (path.size() == dimensions_.size()) return each(Plan{plan}, path);
  const auto& d = dimensions_[path.size()];
  const auto before = plan;
  const auto free = d.free ? d.key->free({card, gpu, before}) : std::vector<Plan>{};
  const auto& values = d.free ? free : d.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    d.key->copy(plan, values[i]);
    path.push_back(static_cast<std::uint32_t>(i));
    const bool more = descend(path, plan, card, gpu, each);
    path.pop_back();
    if (!more) return false;
  }
  d.key->copy(plan, before);
  return true;
}

}  // namespace linkcast::planning
