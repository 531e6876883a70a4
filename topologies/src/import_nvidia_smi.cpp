// nvidia-smi topo -m. Knows no other format.
#include "import_parts.hpp"
namespace linkcast::topologies {
ImportedMachine import_nvidia_smi(const ImportInput& in, const std::optional<std::string>&) {
  in.problems.add(in.file, 0, 0, "this format is not read yet");
  return {};
}
std::optional<std::string> import_gpu_name(const ImportInput&) { return std::nullopt; }
}  // namespace linkcast::topologies
