// Which rank sends what to whom in the operations that NCCL builds from sends and receives.
#pragma once

#include <vector>

#include "linkcast/models/nccl/communicator.hpp"

namespace linkcast::workloads {

struct Message {
  int from, to;
  sim::Bytes bytes;
};

/// Without the messages of a rank to itself (local copies), which are `self` bytes on each rank that has one.
struct Messages {
  std::vector<Message> list;
  sim::Bytes self;
};

/// nccl-tests' sizes: alltoall, gather and scatter count n parts; sendrecv sends all of `bytes` to the next rank.
Messages messages_of(const models::nccl::Call& call, int ranks);

}  // namespace linkcast::workloads
