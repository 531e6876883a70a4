// How large messages are: one size, or a distribution, with two that papers took from real data centres. Knows no
// network and no pattern.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/sim/units.hpp"

namespace linkcast::workloads {

/// Numbers from a seed, the same on every machine: the finaliser of splitmix64 over a counter (Steele, Lea, Flood: Fast
/// splittable pseudorandom number generators, 2014).
class FlowRandom {
 public:
  explicit FlowRandom(std::uint64_t seed) : state_{seed} {}
  std::uint64_t bits();
  double unit();                         // [0, 1)
  std::uint64_t below(std::uint64_t n);  // [0, n), n > 0
  double exponential(double mean);       // of a Poisson process: the time to the next arrival
  static std::uint64_t mixed(std::uint64_t x);
  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return mixed(a ^ mixed(b)); }

 private:
  std::uint64_t state_;
};

class FlowSizes {
 public:
  /// Always that size.
  explicit FlowSizes(sim::Bytes size);
  /// Any size from `least` to `most`, all alike.
  static FlowSizes uniform(sim::Bytes least, sim::Bytes most);
  /// One of these, by weight.
  static FlowSizes list(std::vector<std::pair<sim::Bytes, double>> sizes);
  /// "websearch", "hadoop"; nothing for other names. Between two points of the published distribution sizes are alike.
  static std::optional<FlowSizes> published(std::string_view name);
  static const std::vector<std::string>& published_names();

  sim::Bytes draw(FlowRandom& random) const;
  double mean() const;  // bytes
  sim::Bytes largest() const;

 private:
  struct Point {
    double size, below;  // share of messages that are at most that large
  };
  FlowSizes() = default;
  std::vector<Point> points_;
  bool steps_ = false;  // only the sizes of the points themselves
};

}  // namespace linkcast::workloads
