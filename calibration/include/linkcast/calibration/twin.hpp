// A machine that is only simulated: it answers what `calibrate measure` asks from a topology with parameters that the
// one who measures does not see, and with noise. For tests of measuring and fitting, and to rehearse a plan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "linkcast/calibration/measure.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::calibration {

struct TwinOptions {
  std::string system;  // catalog name or file
  topologies::ClusterOptions cluster;
  models::nccl::Version nccl;
  models::LaunchMode launch = models::LaunchMode::single_process;
  double noise = 0;  // sigma of the logarithm: every median is off by such a factor, and samples scatter by it
  std::uint64_t seed = 1;
  /// Of a load in a GPU's own memory, which no model of Linkcast needs.
  sim::Time memory_latency = sim::Time::nanoseconds(600);
};

/// Numbers that a twin has otherwise than the catalog: "gpus.h100-sxm.simple.send" = "20 GB/s", or "x0.9" of the
/// catalog's. Null for none. Throws sim::InputError with every mistake.
std::shared_ptr<const topologies::Profile> hidden_numbers(const std::map<std::string, std::string>& numbers);

/// The same options give the same answer to the same request, whatever was asked before. Its clock is simulated: a
/// budget of minutes is spent in moments. Throws sim::InputError for a topology that cannot be loaded.
std::unique_ptr<Machine> make_twin(const TwinOptions& options);

}  // namespace linkcast::calibration
