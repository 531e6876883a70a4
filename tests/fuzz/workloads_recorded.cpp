// Linkcast's own recordings: read to the end with what is wrong counted, or an InputError; what was read can be
// written.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/write_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-fuzz-" + std::to_string(getpid()) + ".jsonl");
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    linkcast::workloads::RecordingOptions options;
    options.format = "recording";
    const auto recording = linkcast::workloads::open_recording({path.string()}, options);
    std::ostringstream out;
    if (!linkcast::workloads::write_recording(recording, out)) std::abort();
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  std::filesystem::remove(path);
  return 0;
}
