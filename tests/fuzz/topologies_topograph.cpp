// Models of topograph: whatever is in it, the import answers with a topology or an InputError.
#include "import_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return import_fuzz::one(data, size, linkcast::topologies::ImportFormat::topograph);
}
