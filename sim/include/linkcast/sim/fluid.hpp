// The fluid network: flows share links by weighted max-min fairness.
//
// A flow of rate x takes weight_k * x of every resource k that it uses. The allocation is max-min fair over
// the flows' rates: no rate can grow without shrinking one that is smaller or equal (progressive filling;
// Bertsekas & Gallager, Data Networks, 6.5). A flow has also a cap of its own. A flow with multiplicity m
// stands for m identical flows (see fold.hpp): it loads resources m times and its rate is the rate of one.
//
// Only the connected component (flows linked by shared resources) that a start or an end touches is solved
// again. Knows no GPU, no message, no protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linkcast/sim/units.hpp"

namespace linkcast::sim {

enum class ResourceId : std::uint32_t {};
enum class FlowId : std::uint32_t {};

/// Bytes on `resource` for each byte of the flow: 1 for a plain link, 1/6 where six parallel links share the
/// load, 2 for a protocol that doubles it. Positive.
struct Usage {
  ResourceId resource;
  double weight;
};

/// One direction of a link, a switch's reduction unit, a memory. `bare` changes no time, only how the account books it:
/// what the bare link would take as wire, what framing adds as protocol.
struct Resource {
  std::string name;
  Rate capacity;  // payload bytes per second, after framing
  Rate bare;      // the same link without framing: >= capacity
};

/// A usage in the network's own fixed point: `weight` in units of 2^-40. Sums of these are exact in any order,
/// which is what lets a folded network (fold.hpp) come to the very same rates as the whole one.
struct FixedUsage {
  ResourceId resource;
  std::int64_t weight;
};
inline constexpr double fixed_weight_one = 1099511627776.0;  // 2^40
/// Rounds down, so that six flows of weight 1/6 never count as more than one. Requires weight > 0.
std::int64_t fixed_weight(double weight);

/// What is shared: fixed while a replay runs.
class ResourceTable {
 public:
  ResourceId add(Resource r);  // requires capacity > 0 and bare >= capacity
  void reserve(std::size_t n) { resources_.reserve(n); }
  const Resource& operator[](ResourceId id) const { return resources_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return resources_.size(); }

 private:
  std::vector<Resource> resources_;
};

class FluidNetwork {
 public:
  explicit FluidNetwork(const ResourceTable& resources);
  ~FluidNetwork();
  FluidNetwork(FluidNetwork&&) noexcept;

  /// A flow that starts now. Rates of its component change at once. `bytes` > 0. `usages` are copied.
  FlowId start(Time now, std::span<const Usage> usages, Bytes bytes, Rate cap, double multiplicity = 1.0);
  /// The same with weights that the caller has rounded and, for a folded flow, multiplied already.
  FlowId start(Time now, std::span<const FixedUsage> usages, Bytes bytes, Rate cap);
  /// Ends a flow early (a cancelled transfer).
  void stop(Time now, FlowId id);

  /// The next time at which some flow ends; Time::max() when there is none. Ties: lowest FlowId first.
  Time next_completion() const;
  /// Advances to `now` <= next_completion() and takes out the flows that end exactly then, in FlowId order.
  void complete(Time now, std::vector<FlowId>& ended);

  Rate rate(FlowId id) const;
  /// Bytes that have crossed each resource so far (conservation; utilisation).
  std::vector<double> carried(Time now) const;
  std::size_t active() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::sim
