// The machine that the command runs on: CUDA, NVML, NCCL. Built from calibration/cuda where CMake found CUDA, else from
// calibration/without_cuda, which says so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "linkcast/calibration/measure.hpp"

namespace linkcast::calibration {

/// An environment variable, or nothing.
using Environment = std::function<std::optional<std::string>(const char*)>;

/// Whether torchrun's or mpirun's variables say so. Throws sim::InputError where they say half of it.
bool one_of_several_processes(const Environment& environment);

/// Whether this is rank 0 of a measurement by several processes, or the only process.
struct RealMachine {
  std::unique_ptr<Machine> machine;  // of rank 0
  /// Of the others: answers rank 0's requests until it is done. Empty on rank 0.
  std::function<void()> serve;
};

/// Throws sim::InputError that says what is missing (CUDA in this build, a driver, a GPU) and how to go on. Where RANK
/// and WORLD_SIZE (torchrun), or OMPI_COMM_WORLD_* (mpirun) say that this is one of several processes, it waits
/// for the others.
RealMachine open_real_machine(const Environment& environment);

}  // namespace linkcast::calibration
