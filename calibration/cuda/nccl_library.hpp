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

/// Complete where LINKCAST_HAS_NCCL is defined.
struct NcclFunctions;

class NcclLibrary {
 public:
  NcclLibrary();
  ~NcclLibrary();
  NcclLibrary(const NcclLibrary&) = delete;
  NcclLibrary& operator=(const NcclLibrary&) = delete;
  /// Why there is none and how to go on; empty where it works.
  const std::string& problem() const { return problem_; }
  std::optional<models::nccl::Version> version() const;
  const NcclFunctions& functions() const { return *functions_; }
#ifdef LINKCAST_HAS_NCCL
  /// Throws sim::InputError with the call's name and NCCL's own words; Lacking where NCCL refuses what is asked.
  void check(ncclResult_t result, const char* call) const;
#endif

 private:
  std::unique_ptr<NcclFunctions> functions_;
  std::string problem_;
};

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

}  // namespace linkcast::calibration::cuda
