// Which call of the host each NCCL kernel of a Kineto file belongs to, and what each operation on the GPU waits for.
// docs/traces/kineto.md has the rules. Knows no file and no recording.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kineto_file.hpp"

namespace linkcast::workloads::readers {

using CallsByRecord = std::unordered_map<std::int64_t, TorchCall>;  // rf_id -> what an execution trace says

/// Gives NCCL kernels their calls, completes calls by each other and by `beside`, and makes calls without kernels into
/// operations where the file has no NCCL kernel at all.
void link_calls(KinetoFile& file, Names& names, const CallsByRecord& beside, ReadReport& report);

struct KinetoOrder {
  std::uint16_t main = 0;           // the stream that computes most
  std::int64_t begin = 0, end = 0;  // of the recording, ns
  int steps = 1;
  bool exact = false;  // the file says what streams wait for
  // Besides OnGpu::after: (operation, earlier operation), both counted from 0, by operation.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits;
};
/// Leaves out what ran before the first profiler step.
KinetoOrder order_of(KinetoFile& file, const Names& names, ReadReport& report);

}  // namespace linkcast::workloads::readers
