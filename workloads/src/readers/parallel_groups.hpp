// The communicators of rank 0 under tensor, expert, data and pipeline parallelism, as Megatron numbers its ranks:
// tensor fastest, then expert within data, then data, then pipeline (AICB's RankGenerator, order tp-cp-ep-dp-pp).
#pragma once

#include <string>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

struct ParallelPlan {
  int world = 1, tensor = 1, expert = 1, pipeline = 1;

  int data() const { return world / (tensor * pipeline); }
};

/// Ranks of rank 0's group "tp", "ep", "dp", "dp_ep", "tp_ep", "pp", "world".
std::vector<int> ranks_of_group(const ParallelPlan& plan, const std::string& group);

/// The communicator of that group, added where it is new.
std::uint32_t communicator_of(Recording& recording, const ParallelPlan& plan, const std::string& group);

}  // namespace linkcast::workloads::readers
