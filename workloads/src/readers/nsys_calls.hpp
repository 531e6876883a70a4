// The calls of NCCL that an nsys export names: NVTX ranges as texts (ATLAHS' patched NCCL says size and communicator in
// them) and names of kernels. Knows no database.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "linkcast/workloads/recording.hpp"
#include "nccl_calls.hpp"

namespace linkcast::workloads::readers {

/// "ncclAllReduce(): commHash 0x1, stream 0x2, data_size 4096, type_size 4, red_op 0, pid 7"; or only "ncclAllReduce".
struct NvtxCall {
  NcclCall call;
  bool sized = false;
  std::uint64_t communicator = 0;
  std::int64_t own = 0;  // bytes as passed to the function
  int root = 0, peer = -1;
};
std::optional<NvtxCall> nvtx_call(std::string_view text);

/// "commHash 0x1 commId 0x2 rank 0 nranks 4 pid 7"
struct NvtxInit {
  std::uint64_t communicator = 0;
  int rank = -1, ranks = 0;
};
std::optional<NvtxInit> nvtx_init(std::string_view text);

bool is_nccl_kernel(std::string_view name);
/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "ncclKernel_SendRecv_…"; nothing where it does not say.
std::optional<NcclCall> kernel_call(std::string_view name);
/// Whether a kernel can be the one of a call: sends, receives, alltoall, gather and scatter run as SendRecv.
bool runs(const std::optional<NcclCall>& kernel, const NcclCall& call);

}  // namespace linkcast::workloads::readers
