// The variants of a scenario: a grid over any of its keys, and named options. Counted, named and made one by one, so
// that a grid may be larger than memory. Runs nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/workloads/scenario_file.hpp"

namespace linkcast::planning {

/// One thing that varies. A key with its values, or the named options, each of which sets several keys.
struct Axis {
  struct Choice {
    std::string name;                                                       // "1 GiB", "400G"
    std::vector<std::pair<std::string, workloads::trace::Value>> settings;  // key -> value
  };
  std::string key;  // "workload.collective.size"; of named options: "option"
  std::vector<Choice> choices;
};

class Variants {
 public:
  /// Reads `variants` and `options`; problems go to `problems`. Without either: one variant, the scenario itself.
  Variants(const workloads::ScenarioFile& scenario, workloads::trace::Problems& problems);

  const std::vector<Axis>& axes() const { return axes_; }
  /// Product of the axes' choices; saturates.
  std::int64_t count() const { return count_; }
  /// The choices of variant i, one for each axis. The last axis varies fastest.
  std::vector<std::size_t> choices(std::int64_t i) const;
  std::vector<std::string> names(std::int64_t i) const;
  /// "400G, 1 GiB"; of a scenario without variants its title.
  std::string name(std::int64_t i) const;
  workloads::ScenarioFile scenario(std::int64_t i) const { return scenario(choices(i)); }
  workloads::ScenarioFile scenario(const std::vector<std::size_t>& choices) const;
  /// The names of the variant that the one of these names is compared with: `baseline` names choices ("400G", or a map
  /// of keys to choices), the others stay. Where the scenario names none: the first variant.
  std::vector<std::string> baseline_names(std::vector<std::string> names) const;

 private:
  void read_grid(const workloads::trace::Value& v, workloads::trace::Problems& problems);
  void read_options(const workloads::trace::Value& v, workloads::trace::Problems& problems);
  void read_baseline(const workloads::trace::Value& v, workloads::trace::Problems& problems);

  workloads::ScenarioFile scenario_;
  std::vector<Axis> axes_;
  std::vector<std::optional<std::size_t>> baseline_;  // by axis
  std::int64_t count_ = 1;
};

}  // namespace linkcast::planning
