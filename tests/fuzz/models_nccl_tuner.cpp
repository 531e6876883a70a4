// Tuner files: whatever is in them, they become rules that can be written and read again, or an InputError.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "linkcast/models/nccl/tuner.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast;
  try {
    const auto tuner = models::nccl::read_tuner({reinterpret_cast<const char*>(data), size}, "fuzz");
    std::string text;
    for (const auto& r : tuner.rules) text += csv_line(r) + "\n";
    if (models::nccl::read_tuner_rules(text, "again").size() != tuner.rules.size()) std::abort();
  } catch (const sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  return 0;
}
