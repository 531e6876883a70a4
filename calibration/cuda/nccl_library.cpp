// See nccl_library.hpp.
#include "nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "linkcast/calibration/measure.hpp"

namespace linkcast::calibration::cuda {

#ifdef LINKCAST_HAS_NCCL

NcclLibrary::NcclLibrary() : functions_{std::make_unique<NcclFunctions>()} {
  void* handle = nullptr;
  for (const char* name : {"libnccl.so.2", LINKCAST_NCCL_LIBRARY}) {
    if (handle == nullptr && *name != 0) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    const char* why = dlerror();
    problem_ = fmt::format(
        "no collectives: NCCL cannot be opened ({}); install libnccl2 or name its folder in "
        "LD_LIBRARY_PATH",
        why != nullptr ? why : "libnccl.so.2 is not there");
    return;
  }
  const auto find = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (function == nullptr && problem_.empty())
      problem_ = fmt::format("no collectives: this NCCL has no {}; NCCL 2.14 or newer is needed", name);
  };
  auto& f = *functions_;
  find(f.GetVersion, "ncclGetVersion");
  find(f.GetUniqueId, "ncclGetUniqueId");
  find(f.CommInitRankConfig, "ncclCommInitRankConfig");
  find(f.CommDestroy, "ncclCommDestroy");
  find(f.CommAbort, "ncclCommAbort");
  find(f.CommGetAsyncError, "ncclCommGetAsyncError");
  find(f.GetErrorString, "ncclGetErrorString");
  find(f.GetLastError, "ncclGetLastError");
  find(f.GroupStart, "ncclGroupStart");
  find(f.GroupEnd, "ncclGroupEnd");
  find(f.AllReduce, "ncclAllReduce");
  find(f.AllGather, "ncclAllGather");
  find(f.ReduceScatter, "ncclReduceScatter");
  find(f.Broadcast, "ncclBroadcast");
  find(f.Reduce, "ncclReduce");
  find(f.Send, "ncclSend");
  find(f.Recv, "ncclRecv");
}

// NCCL keeps threads of its own to the end of the process: it is not closed.
NcclLibrary::~NcclLibrary() = default;

std::optional<models::nccl::Version> NcclLibrary::version() const {
  int code = 0;
  if (!problem_.empty() || functions_->GetVersion(&code) != ncclSuccess) return std::nullopt;
  // NCCL_VERSION: 22803 is 2.28.3; up to 2.8 four digits.
  models::nccl::Version v;
  v.major = code >= 10'000 ? code / 10'000 : code / 1'000;
  v.minor = code / 100 % (code >= 10'000 ? 100 : 10);
  v.patch = code % 100;
  return v;
}

void NcclLibrary::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* more = functions_->GetLastError(nullptr);
  const auto problem = fmt::format("{} failed: {}", call, functions_->GetErrorString(result));
  const auto help = more != nullptr && *more != 0 ? std::string{more} : std::string{"NCCL_DEBUG=WARN says more"};
  // What NCCL answers where an algorithm or protocol that is forced does not exist for the machine or the collective.
  if (result == ncclInvalidUsage || result == ncclInvalidArgument) throw Lacking(problem, help);
  throw sim::InputError(problem, help);
}

#else

struct NcclFunctions {};
NcclLibrary::NcclLibrary()
    : problem_{"no collectives: this linkcast was built without NCCL's header; install libnccl-dev and build again"} {}
NcclLibrary::~NcclLibrary() = default;
std::optional<models::nccl::Version> NcclLibrary::version() const { return std::nullopt; }

#endif

}  // namespace linkcast::calibration::cuda
