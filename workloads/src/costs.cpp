#include "costs.hpp"

#include <algorithm>

namespace linkcast::workloads {
namespace {

// LL stores 16 B lines that the receiver polls; they leave the GPU in 32 B sectors. On PCIe that is a packet of 32 B
// with 26 B around it where other stores travel 256 B with 30 B around (ucx topo.c): a line costs 2 * 0.895 / 0.552
// = 3.2 times its payload. Seen on RTX 4090 with peer-to-peer, where LL reaches half of what flags alone explain.
constexpr double ll_on_pcie = 2.0 * (256.0 / 286.0) / (32.0 / 58.0);

}  // namespace

Costs costs_of(const models::GpuModel& gpu, models::nccl::Protocol p, int channels) {
  Costs costs{1.0, 1.0, false, gpu.simple};
  if (p == models::nccl::Protocol::ll) costs = {2.0, ll_on_pcie, true, gpu.ll};
  if (p == models::nccl::Protocol::ll128) costs = {16.0 / 15.0, 16.0 / 15.0, true, gpu.ll128};
  if (!costs.protocol.all.is_unlimited())
    costs.protocol.send = std::min(costs.protocol.send, costs.protocol.all * (1.0 / std::max(1, channels)));
  return costs;
}

}  // namespace linkcast::workloads
