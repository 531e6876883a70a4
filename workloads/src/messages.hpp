// Which rank sends what to whom in the operations that NCCL builds from sends and receives.
#pragma once

#include <vector>

#include "linkcast/models/nccl/communicator.hpp"

namespace linkcast::workloads {

struct Message {
  int from, to;
  sim::Bytes bytes;
};

/// nccl-tests' sizes: alltoall, gather and scatter count n parts of at least a byte; sendrecv sends all of `bytes` to
/// the next rank. Without the messages of a rank to itself: local copies, far quicker than what goes over a link.
std::vector<Message> messages_of(const models::nccl::Call& call, int ranks);

}  // namespace linkcast::workloads
