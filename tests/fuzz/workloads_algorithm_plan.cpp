// Algorithms from files: whatever is in them, they are read and followed to their end, or answered with an InputError.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/algorithm_plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast;
  try {
    const auto plan = workloads::read_algorithm({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!plan->op) workloads::check_algorithm(*plan, models::nccl::Op::all_reduce);
  } catch (const sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  return 0;
}
