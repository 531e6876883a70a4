// What only the driver's management library knows about GPUs: NVLinks and their peers, PCIe, C2C, the NVLink fabric.
// Opened at run time; where it is not there, those facts stay empty.
#pragma once

#include <memory>
#include <string>

#include "linkcast/calibration/measure.hpp"

namespace linkcast::calibration::cuda {

class Nvml {
 public:
  Nvml();
  ~Nvml();
  /// Why there is none; empty where it works.
  const std::string& problem() const { return problem_; }
  std::string driver_version() const;
  /// Fills in what belongs to the GPU with facts.bus_id.
  void describe(GpuFacts& facts) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::string problem_;
};

}  // namespace linkcast::calibration::cuda
