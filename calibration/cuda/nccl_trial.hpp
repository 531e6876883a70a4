// Whether all ranks reach each other, found out without the danger of waiting for good.
#pragma once

#include <chrono>
#include <string>

#include "linkcast/sim/diagnostic.hpp"
#include "nccl_library.hpp"

namespace linkcast::calibration::cuda {

/// This rank was there, and the others were not, or not to be reached.
class StillWaiting : public sim::InputError {
 public:
  using sim::InputError::InputError;
};

/// Makes a communicator of all ranks that never blocks (NCCL: ncclConfig_t::blocking = 0, asked with
/// ncclCommGetAsyncError), adds up one number over it, and gives it back. The communicators that are measured block, as
/// nccl-tests' do: each call on one that does not goes through a thread of its own, which a small message would feel.
/// `id`: of Collectives::new_id. Throws StillWaiting where it is not done by `until`.
void try_communicator(const NcclLibrary& nccl, int device, int rank, int ranks, const std::string& id,
                      std::chrono::steady_clock::time_point until);

}  // namespace linkcast::calibration::cuda
