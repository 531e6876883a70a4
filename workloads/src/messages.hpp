// Which rank sends what to whom in the operations that NCCL builds from sends and receives.
#pragma once

#include <vector>

#include "linkcast/models/nccl/communicator.hpp"
#include "schedule.hpp"

namespace linkcast::workloads {

struct Message {
  int from, to;
  sim::Bytes bytes;
};

/// nccl-tests' sizes: alltoall, gather and scatter count n parts of at least a byte; sendrecv sends all of `bytes` to
/// the next rank. Without the messages of a rank to itself: local copies, far quicker than what goes over a link.
std::vector<Message> messages_of(const models::nccl::Call& call, int ranks);
/// How many these are, without making them: a list of those between 16,384 ranks takes 4 GiB.
std::int64_t count_messages(const models::nccl::Call& call, int ranks);

/// Parts of a message, one for each channel that has some of it.
std::int64_t parts_of(sim::Bytes message, int channels_per_peer);

/// Throws sim::InputError where all messages at `chunk` are more than a replay may take (docs/topology.md). `agents`
/// and `usages`, links that are loaded: of a part of a message, on average.
void check_chunk_memory(const Context& c, const models::nccl::Call& call, std::int64_t parts, double agents,
                        double usages);

}  // namespace linkcast::workloads
