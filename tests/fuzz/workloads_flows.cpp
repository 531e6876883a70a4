// Scenarios of flows with their section `packet`: whatever is in them, they are understood or answered with an
// InputError. Nothing is simulated, and the machine is always the same: it has targets of its own.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/flow_scenario.hpp"
#include "linkcast/workloads/scenario_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast;
  static const topologies::Cluster cluster = topologies::load_cluster("dgx-h100", {4, {}, "roce", {}, nullptr});
  try {
    const auto scenario = workloads::open_scenario_text({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
    static_cast<void>(workloads::read_flow_scenario(scenario, nullptr,
                                                    [](const workloads::ScenarioMachine&, int) { return cluster; }));
  } catch (const sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  return 0;
}
