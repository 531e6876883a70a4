// What a training step takes at least: a lower bound on the replay of step_recording(), thousands of times cheaper.
// Each pipeline stage is followed alone, with the bound of its peers' first and last micro batches: constraints are
// left out and durations are at most what the replay gives them, so that the bound holds. Knows no topology: what a
// call takes at least is asked for.
#pragma once

#include <span>

#include "linkcast/models/nccl/types.hpp"
#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads {

/// What one call takes at least, alone, and the share of a GPU's SMs that it keeps meanwhile.
struct CallFloor {
  double us = 0, sms = 0;
};

class CallFloors {
 public:
  virtual ~CallFloors() = default;
  virtual std::size_t group(std::span<const int> ranks) = 0;
  virtual CallFloor call(std::size_t group, models::nccl::Op op, double bytes) = 0;
};

/// `plan`: as checked() returns it.
sim::Time step_bound(const ModelCard& card, const Plan& plan, const models::GpuModel& gpu,
                     const ComputeEfficiency& efficiency, CallFloors& floors);

}  // namespace linkcast::workloads
