// Traces of NCCL's own level (Flight Recorder in JSON and pickle, NCCL logs, inspector records, profiler traces):
// whatever is in them, they are read or answered with an InputError, and nothing is run. The first bytes decide which.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast;
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-fuzz-nccl-" + std::to_string(getpid()) + "_0");
  {
    std::ofstream out{path, std::ios::binary};
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  try {
    const auto recording = workloads::open_recording({path.string()});
    const auto reader = recording.open();
    for (std::size_t r = 0; r < recording.ranks.size(); ++r) {
      if (recording.ranks[r] < 0 || recording.ranks[r] >= recording.world) std::abort();
      workloads::Operation o;
      while (reader->next(r, o)) {
        for (const auto after : o.after)
          if (o.id != 0 && after >= o.id) std::abort();  // only what came before
        if (o.kind == workloads::Operation::Kind::compute) continue;
        if (o.communicator >= recording.communicators.size() || o.bytes < sim::Bytes{}) std::abort();
      }
    }
  } catch (const sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  std::filesystem::remove(path);
  return 0;
}
