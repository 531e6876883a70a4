// A build without CUDA: says what is missing and how to go on. See real_machine.hpp.
#include "linkcast/calibration/real_machine.hpp"

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::calibration {

RealMachine open_real_machine(const Environment&) {
  throw sim::InputError(
      "this linkcast was built without CUDA, so it cannot measure",
      "on a machine with the CUDA toolkit (nvcc) and NCCL, configure with -DLINKCAST_CUDA=ON and build again; "
      "'--twin NAME' rehearses the plan without a GPU; 'linkcast validate' takes what nccl-tests prints");
}

}  // namespace linkcast::calibration
