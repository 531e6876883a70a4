// What frameworks do where a source does not say, and on which machines a row ran. Each default is the framework's own,
// with where it is documented; a row's facts come first. Knows no measured time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkcast/calibration/steps.hpp"
#include "linkcast/topologies/cluster.hpp"

namespace linkcast::calibration {

/// Throws sim::InputError: what is missing or contradicts itself.
workloads::Plan plan_of(const StepRow& row, std::vector<std::string>& assumed);

struct StepMachine {
  topologies::Cluster cluster;
  models::GpuModel gpu;
  std::string kind;  // of the efficiency: GPU and precision
};
StepMachine machine_of(const StepRow& row, workloads::Precision precision, std::vector<std::string>& assumed);

}  // namespace linkcast::calibration
