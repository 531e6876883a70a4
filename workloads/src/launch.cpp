#include "launch.hpp"

#include <algorithm>
#include <cmath>

#include "linkcast/workloads/call_time.hpp"

namespace linkcast::workloads {

namespace {

using models::nccl::Op;

/// Posted by the process that has most to post: it drives `gpus` ranks, and the root of a gather or scatter.
int messages(Op op, int ranks, int gpus) {
  switch (op) {
    case Op::sendrecv:
      return 2 * gpus;
    case Op::alltoall:
      return 2 * ranks * gpus;
    case Op::gather:
    case Op::scatter:
      return ranks + gpus;  // the root's, and one of every other rank
    default:
      return 0;
  }
}

// alltoall against sendrecv of one process for 8 A100: 50.3 and 42.0 us for 128 and 16 messages (corpus
// a100-80x8-*-cw).
constexpr auto per_message = sim::Time::nanoseconds(74);

}  // namespace

sim::Time launch_floor(const models::HostModel& host, models::LaunchMode mode, int gpus_of_the_process, Op op,
                       int ranks) {
  const int gpus = mode == models::LaunchMode::single_process ? gpus_of_the_process : 1;
  const int posted = messages(op, ranks, gpus);
  const auto more = posted > 0 ? host.launch_p2p * gpus + per_message * posted : sim::Time{};
  switch (mode) {
    case models::LaunchMode::single_process:
      return std::max(host.launch_multi_process, host.launch_single_process_per_gpu * gpus) + more;
    case models::LaunchMode::graph:
      return host.launch_graph;
    case models::LaunchMode::multi_process:
      break;
  }
  return host.launch_multi_process + more;
}

sim::Time with_launch(sim::Time kernel, sim::Time floor) {
  const double k = kernel.us();
  const double f = floor.us();
  const double larger = std::max(k, f);
  if (larger <= 0) return sim::Time{};
  const double ratio = std::min(k, f) / larger;
  return std::max(kernel, sim::Time::from_us(larger * std::pow(1 + ratio * ratio * ratio * ratio, 0.25)));
}

sim::Time call_time(const CollectiveModel& model, Op op, sim::Time kernel) {
  return with_launch(kernel, model.launch_floor(op));
}

}  // namespace linkcast::workloads
