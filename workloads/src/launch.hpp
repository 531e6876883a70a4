// What the host adds to a call as nccl-tests measures it: many calls enqueued back to back, so that launching the next
// overlaps with running this one. A short kernel waits for the host, a long one hides it.
#pragma once

#include <optional>

#include "linkcast/models/gpu.hpp"
#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::workloads {

/// The smallest time between two calls that the host can reach. Sends and receives are posted one by one and planned
/// into rounds; a captured graph has that behind it.
sim::Time launch_floor(const models::HostModel& host, models::LaunchMode mode, int gpus_of_the_process,
                       models::nccl::Op op, int ranks);

/// Time of one call among many, from the kernel's own time and the host's floor. Near max(kernel, floor); where both
/// are alike the unevenness of launches adds up, which a p-norm with p = 4 describes: measured on H100x4 (floor 23 us,
/// graph replay gives the kernel alone) the sum of both is 3 to 5 us above the larger one.
sim::Time with_launch(sim::Time kernel, sim::Time floor);

}  // namespace linkcast::workloads
