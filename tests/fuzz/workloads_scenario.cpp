// Scenarios and traces in JSON Lines: whatever is in them, they are understood or answered with an InputError. Nothing
// is simulated: a scenario may well ask for a year of it.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/scenario.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text{reinterpret_cast<const char*>(data), size};
  const auto path = std::filesystem::temp_directory_path() / ("linkcast-fuzz-" + std::to_string(getpid()) + ".jsonl");
  if (!text.empty() && text[0] == '{') {
    std::ofstream{path, std::ios::binary} << text;
    text = "topology: dgx-a100\nworkload: " + path.string() + "\n";
  }
  linkcast::workloads::ScenarioOptions options;
  options.checked_operations = 5'000;
  try {
    linkcast::workloads::check_scenario_text(std::move(text), "scenario.yaml", options);
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  std::filesystem::remove(path);
  return 0;
}
