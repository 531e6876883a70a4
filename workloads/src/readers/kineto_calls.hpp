// Calls of communication in Kineto files as operations of the recording: communicator, size, peer. Knows no stream.
#pragma once

#include <vector>

#include "kineto_file.hpp"

namespace linkcast::workloads::readers {

struct KinetoCall {
  Operation::Kind kind = Operation::Kind::compute;  // not usable
  models::nccl::Op op = models::nccl::Op::all_reduce;
  std::int32_t communicator = -1, peer = -1, root = 0;
  sim::Bytes bytes;
  bool usable() const { return kind != Operation::Kind::compute; }
};

/// How many ranks there are, as the files, their calls or `asked` say. Throws sim::InputError where nothing does.
int world_of(const std::vector<KinetoFile*>& files, TorchGroups& groups, int asked);

/// One for each call of the file; what is not usable is counted.
std::vector<KinetoCall> resolve_calls(int at, const KinetoFile& file, const Names& names, TorchGroups& groups,
                                      ReadReport& report);

}  // namespace linkcast::workloads::readers
