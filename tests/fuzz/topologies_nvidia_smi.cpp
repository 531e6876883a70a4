// nvidia-smi topo -m: whatever is in it, the import answers with a machine that can be loaded, or an InputError.
#include "import_machine_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return import_fuzz::machine(data, size, linkcast::topologies::ImportFormat::nvidia_smi_topo);
}
