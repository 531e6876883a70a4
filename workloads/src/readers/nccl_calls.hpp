// What traces of NCCL share: its data types, its functions by name, and "size" as nccl-tests counts it. Knows no file
// format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

/// Bytes of ncclDataType_t (nccl.h: 0 int8 … 9 bfloat16, 10 and 11 float8); 0: there is no such type.
int bytes_of_type(std::int64_t type);
/// Of "ncclFloat32" and the like; 0: not known.
int bytes_of_type(std::string_view name);

struct NcclCall {
  Operation::Kind kind = Operation::Kind::collective;
  models::nccl::Op op = models::nccl::Op::all_reduce;
};
/// "AllReduce", "Bcast", "Send", "Recv", "AlltoAll", with or without "nccl" before them.
std::optional<NcclCall> nccl_call(std::string_view name);

/// nccl-tests' size of a call that one rank makes with `own` bytes: all_gather, reduce_scatter, alltoall, gather and
/// scatter pass what one rank has of a buffer that is `ranks` times as large. Nothing where that does not fit.
std::optional<std::int64_t> nccl_size(const NcclCall& call, std::int64_t own, int ranks);

}  // namespace linkcast::workloads::readers
