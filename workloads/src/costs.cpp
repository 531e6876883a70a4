#include "costs.hpp"

namespace linkcast::workloads {

Costs costs_of(const models::GpuModel& gpu, models::nccl::Protocol p) {
  switch (p) {
    case models::nccl::Protocol::ll: return {2.0, true, gpu.ll};
    case models::nccl::Protocol::ll128: return {16.0 / 15.0, true, gpu.ll128};
    case models::nccl::Protocol::simple: break;
  }
  return {1.0, false, gpu.simple};
}

}  // namespace linkcast::workloads
