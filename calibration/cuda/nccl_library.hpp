// NCCL, opened at run time: any version that the loader finds (LD_LIBRARY_PATH chooses), else the one of the build.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "linkcast/models/nccl/types.hpp"

#ifdef LINKCAST_HAS_NCCL
#include <nccl.h>
#endif

namespace linkcast::calibration::cuda {

#ifdef LINKCAST_HAS_NCCL
struct NcclFunctions {
  decltype(&ncclGetVersion) GetVersion;
  decltype(&ncclGetUniqueId) GetUniqueId;
  decltype(&ncclCommInitRankConfig) CommInitRankConfig;
  decltype(&ncclCommDestroy) CommDestroy;
  decltype(&ncclCommAbort) CommAbort;
  decltype(&ncclCommGetAsyncError) CommGetAsyncError;
  decltype(&ncclGetErrorString) GetErrorString;
  decltype(&ncclGetLastError) GetLastError;
  decltype(&ncclGroupStart) GroupStart;
  decltype(&ncclGroupEnd) GroupEnd;
  decltype(&ncclAllReduce) AllReduce;
  decltype(&ncclAllGather) AllGather;
  decltype(&ncclReduceScatter) ReduceScatter;
  decltype(&ncclBroadcast) Broadcast;
  decltype(&ncclReduce) Reduce;
  decltype(&ncclSend) Send;
  decltype(&ncclRecv) Recv;
};
#endif

class NcclLibrary {
 public:
  NcclLibrary();
  ~NcclLibrary();
  /// Why there is none and how to go on; empty where it works.
  const std::string& problem() const { return problem_; }
  std::optional<models::nccl::Version> version() const;
#ifdef LINKCAST_HAS_NCCL
  const NcclFunctions& functions() const { return functions_; }
  /// Throws sim::InputError with the call's name and NCCL's own words.
  void check(ncclResult_t result, const char* call) const;
#endif

 private:
  void* handle_ = nullptr;
  std::string problem_;
#ifdef LINKCAST_HAS_NCCL
  NcclFunctions functions_{};
#endif
};

}  // namespace linkcast::calibration::cuda
