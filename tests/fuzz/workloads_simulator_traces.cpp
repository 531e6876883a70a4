// Chakra, GOAL, layers and AICB's CSV: whatever is in them, they are read with a report or answered with an InputError.
// Nothing is replayed.
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
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-fuzz-" + std::to_string(getpid()) + ".0.et");
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  for (const auto* format : {"", "chakra", "goal", "layers", "aicb"}) {
    try {
      workloads::RecordingOptions options;
      options.format = format;
      const auto recording = workloads::open_recording({path.string()}, options);
      const auto reader = recording.open();
      workloads::Operation o;
      for (std::size_t r = 0; r < recording.ranks.size() && r < 64; ++r)
        for (int i = 0; i < 100'000 && reader->next(r, o); ++i) {
          if (o.kind != workloads::Operation::Kind::compute && o.communicator >= recording.communicators.size())
            std::abort();
          if (o.bytes < sim::Bytes{} || o.duration < sim::Time{} || o.stream >= recording.streams->size()) std::abort();
        }
    } catch (const sim::InputError& e) {
      if (e.diagnostics().empty()) std::abort();
    }
  }
  std::filesystem::remove(path);
  return 0;
}
