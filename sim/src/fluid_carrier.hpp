// Bytes as fluid: each unit is one flow over all that it loads (fluid.hpp), and arrives when it leaves.
#pragma once

#include "carrier.hpp"
#include "linkcast/sim/fluid.hpp"

namespace linkcast::sim {

class FluidCarrier final : public Carrier {
 public:
  /// `resources` must outlive it.
  explicit FluidCarrier(const ResourceTable& resources) : network_{resources} {}

  std::unique_ptr<Ways> ways(const ChunkPlan& plan, std::uint64_t tag) override;
  void start(Time now, const PipelinedFlow& flow, std::uint64_t owner) override;
  Time next(Time) override { return network_.next_completion(); }
  void take(Time now, std::vector<Moved>& moved) override;
  std::vector<double> carried(Time now) override { return network_.carried(now); }

 private:
  class OfProgram;
  void owned(FlowId flow, std::uint64_t owner);

  FluidNetwork network_;
  std::vector<std::uint64_t> owner_;  // by flow
  std::vector<FlowId> ended_;
};

}  // namespace linkcast::sim
