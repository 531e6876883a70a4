#include "launch.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::workloads {

sim::Time launch_floor(const models::HostModel& host, models::LaunchMode mode, int gpus_of_the_process) {
  switch (mode) {
    case models::LaunchMode::single_process:
      return std::max(host.launch_multi_process, host.launch_single_process_per_gpu * gpus_of_the_process);
    case models::LaunchMode::graph:
      return host.launch_graph;
    case models::LaunchMode::multi_process:
      break;
  }
  return host.launch_multi_process;
}

sim::Time with_launch(sim::Time kernel, sim::Time floor) {
  const double k = kernel.us();
  const double f = floor.us();
  const double larger = std::max(k, f);
  if (larger <= 0) return sim::Time{};
  const double ratio = std::min(k, f) / larger;
  return std::max(kernel, sim::Time::from_us(larger * std::pow(1 + ratio * ratio * ratio * ratio, 0.25)));
}

}  // namespace linkcast::workloads
