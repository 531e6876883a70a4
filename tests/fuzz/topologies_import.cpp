// Any text, its format found by its content, packed or not.
#include "import_machine_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return import_fuzz::machine(data, size);
}
