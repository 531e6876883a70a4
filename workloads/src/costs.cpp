#include "costs.hpp"

namespace linkcast::workloads {
namespace {

// LL stores 16 B lines that the receiver polls; they leave the GPU in 32 B sectors. On PCIe that is a packet of 32 B
// with 26 B around it where other stores travel 256 B with 30 B around (ucx topo.c): a line costs 2 * 0.895 / 0.552
// = 3.2 times its payload. Seen on RTX 4090 with peer-to-peer, where LL reaches half of what flags alone explain.
constexpr double ll_on_pcie = 2.0 * (256.0 / 286.0) / (32.0 / 58.0);

}  // namespace

Costs costs_of(const models::GpuModel& gpu, models::nccl::Protocol p) {
  switch (p) {
    case models::nccl::Protocol::ll:
      return {2.0, ll_on_pcie, true, gpu.ll};
    case models::nccl::Protocol::ll128:
      return {16.0 / 15.0, 16.0 / 15.0, true, gpu.ll128};
    case models::nccl::Protocol::simple:
      break;
  }
  return {1.0, 1.0, false, gpu.simple};
}

}  // namespace linkcast::workloads
