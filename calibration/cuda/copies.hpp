// Copies, loads and launches on the GPUs of this process. Knows no NCCL and no other process.
#pragma once

#include <vector>

#include "linkcast/calibration/measure.hpp"

namespace linkcast::calibration::cuda {

class Copies {
 public:
  explicit Copies(int gpus);
  CopyResult copy(const CopyRequest& request);
  Timing chase(const ChaseRequest& request);
  Timing launch(const LaunchRequest& request);
  bool can_access(int from, int to) const;

 private:
  void set_access(int from, int to, bool on) const;
  void check_gpu(int gpu) const;
  int gpus_;
};

}  // namespace linkcast::calibration::cuda
