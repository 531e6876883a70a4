// See nccl_trial.hpp.
#include "nccl_trial.hpp"

#ifdef LINKCAST_HAS_NCCL
#include <cstring>
#include <thread>

#include "resources.hpp"

namespace linkcast::calibration::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// Given back in the end, or aborted where it is not known to be sound: only that returns at once.
class Communicator {
 public:
  Communicator(const NcclLibrary& nccl, Clock::time_point until) : nccl_{nccl}, until_{until} {}
  ~Communicator() {
    if (comm != nullptr) sound ? nccl_.functions().CommDestroy(comm) : nccl_.functions().CommAbort(comm);
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Until NCCL has done what it was told, and `done` says so too.
  template <class Done>
  void settle(const char* what, Done done) {
    for (;;) {
      ncclResult_t state = ncclSuccess;
      nccl_.check(nccl_.functions().CommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
      nccl_.check(state, what);
      if (state == ncclSuccess && done()) return;
      if (Clock::now() > until_) throw StillWaiting("the other ranks did not arrive, or cannot be reached");
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  ncclComm_t comm = nullptr;
  bool sound = false;

 private:
  const NcclLibrary& nccl_;
  Clock::time_point until_;
};

}  // namespace

void try_communicator(const NcclLibrary& nccl, int device, int rank, int ranks, const std::string& id_bytes,
                      Clock::time_point until) {
  ncclUniqueId id;
  if (id_bytes.size() != sizeof id.internal) throw sim::InternalError("a communicator without an id");
  std::memcpy(id.internal, id_bytes.data(), sizeof id.internal);
  const auto& f = nccl.functions();
  const OnDevice here(device);
  // In this order: the communicator goes first, as its kernels may still use the others.
  const auto number = allocate(device, sim::Bytes{64});
  const auto stream = make_stream(device);
  Communicator c(nccl, until);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  nccl.check(f.CommInitRankConfig(&c.comm, ranks, id, rank, &config), "ncclCommInitRankConfig");
  c.settle("making a communicator", [] { return true; });
  nccl.check(f.AllReduce(number.get(), number.get(), 1, ncclFloat, ncclSum, c.comm, stream.get()), "ncclAllReduce");
  c.settle("ncclAllReduce", [&] {
    const auto state = cudaStreamQuery(stream.get());
    if (state != cudaSuccess && state != cudaErrorNotReady) check(state, "cudaStreamQuery");
    return state == cudaSuccess;
  });
  c.sound = true;
}

}  // namespace linkcast::calibration::cuda

#else

namespace linkcast::calibration::cuda {

void try_communicator(const NcclLibrary& nccl, int, int, int, const std::string&,
                      std::chrono::steady_clock::time_point) {
  throw sim::InputError(nccl.problem());
}

}  // namespace linkcast::calibration::cuda

#endif
