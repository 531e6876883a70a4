// Operations in the order in which a rank's host issued them, without times: what execution traces and PARAM's files
// are. Computing goes on one stream, communication on one stream for each communicator behind what was computed before
// it, and a `wait` makes what follows wait for the call that it names (PyTorch's c10d). Knows no file.
#pragma once

#include <cstdint>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

struct Issued {
  enum class What : std::uint8_t { compute, collective, send, receive, wait };
  What what = What::compute;
  Work work = Work::other;
  models::nccl::Op op = models::nccl::Op::all_reduce;
  std::uint32_t name = 0, communicator = 0, batch = 0;
  std::int32_t peer = -1, root = 0;
  std::int64_t request = -1;  // of a call; of a wait: which call
  double flops = 0, touched = 0;
  sim::Bytes bytes;
};

/// Gives `recording` its streams and its `open`; the n-th list is of the n-th of its ranks. Its communicators are
/// known.
void give_issued(Recording& recording, std::vector<std::vector<Issued>> ranks);

}  // namespace linkcast::workloads::readers
