// The real machine where there is no GPU: it says what is missing, and NCCL can be opened all the same. (With a GPU
// only `calibrate measure` itself tests it; docs/calibrate.md says what was run.)
#include "linkcast/calibration/real_machine.hpp"

#include "support.hpp"
#ifdef LINKCAST_TEST_CUDA
#include "../../calibration/cuda/nccl_library.hpp"
#endif

namespace {

using namespace linkcast;

TEST_CASE("without a GPU the real machine says what is missing and how to go on") {
  std::string message;
  try {
    calibration::open_real_machine([](const char*) { return std::optional<std::string>{}; });
    return;  // there is one
  } catch (const sim::InputError& e) {
    message = e.what();
  }
  const bool known = message.find("built without CUDA") != std::string::npos ||
                     message.find("no NVIDIA driver on this machine") != std::string::npos ||
                     message.find("error: no GPU") != std::string::npos ||
                     message.find("the driver is too old") != std::string::npos;
  CHECK(known);
  CHECK(message.find("--twin NAME") != std::string::npos);
}

#ifdef LINKCAST_TEST_CUDA
TEST_CASE("the NCCL that was found at build time has every function that is called, and says its version") {
  const calibration::cuda::NcclLibrary nccl;
  if (nccl.problem().find("cannot be opened") != std::string::npos) return;  // built here, not run here
  CHECK(nccl.problem().empty());
  REQUIRE(nccl.version().has_value());
  CHECK(*nccl.version() >= models::nccl::Version{2, 14, 0});
}
#endif

}  // namespace
