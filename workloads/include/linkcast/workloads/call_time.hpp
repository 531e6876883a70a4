// What the host adds to a call whose work on the GPUs is known from elsewhere, such as from sharing a network. Knows no
// schedule.
#pragma once

#include "linkcast/workloads/collective.hpp"

namespace linkcast::workloads {

/// As in CollectiveRow::time: the host launches the next call while this one runs.
sim::Time call_time(const CollectiveModel& model, models::nccl::Op op, sim::Time kernel);

}  // namespace linkcast::workloads
