// Topology files, YAML and NCCL's XML alike: whatever is in them, the loader answers with a fabric or an InputError.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/fabric.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The loader takes names, so that the text needs one. A name for each process: targets run side by side.
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-fuzz-" + std::to_string(getpid()) + ".yaml");
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const auto fabric = linkcast::topologies::load(path.string());
    // What was accepted must be usable.
    if (fabric.gpus().empty() || fabric.bisection() < linkcast::sim::Rate{} || fabric.resources().size() == 0)
      std::abort();
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  std::filesystem::remove(path);
  return 0;
}
