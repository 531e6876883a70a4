// The calls between nodes of a replayed recording, by kind: how long they are busy, and which ranks of the world make
// them side by side. Knows no network.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/workloads/replay_recording.hpp"

namespace linkcast::planning {

/// One kind of communication: a communicator's label and an operation, as in workloads::ReplayedTotal.
struct RecordedCalls {
  std::string communicator, operation;
  models::nccl::Call usual;                     // with the size that takes most of the time, which stands for all
  double call_seconds = 0;                      // of a usual call
  double busy_seconds = 0;                      // all calls of one communicator, mean over those that were recorded
  std::vector<std::vector<int>> recorded, all;  // ranks of the communicators, or sender and receiver
};

/// Watches a replay.
class CallCollector {
 public:
  CallCollector(const workloads::Recording& recording, int gpus_per_node)
      : recording_{recording}, per_node_{gpus_per_node} {}
  void see(const workloads::ReplayedOperation& x);
  std::vector<RecordedCalls> calls() const;

 private:
  struct Instance {  // one communicator, or two ranks with messages
    const workloads::RecordedCommunicator* communicator;
    std::pair<int, int> members{-1, -1};  // who sends, who receives
    auto operator<=>(const Instance&) const = default;
  };
  struct Size {
    sim::Time time;
    std::int64_t calls = 0;
  };
  struct Kind {
    std::map<std::pair<Instance, int>, sim::Time> busy;    // by instance and recorded rank of it
    std::map<std::pair<std::int64_t, int>, Size> by_size;  // bytes, root
    models::nccl::Op op = models::nccl::Op::sendrecv;
  };
  std::map<std::pair<std::string, std::string>, Kind> kinds_;
  const workloads::Recording& recording_;
  int per_node_;
};

}  // namespace linkcast::planning
