// From the operations of every rank to the tasks of the whole: finds which calls of the ranks belong together, as NCCL
// does (by their order on the communicator), and what each task waits for. Tasks come out in an order in which all
// that they wait for came before, as the replay wants it. Says what can never run: a call that some ranks do not
// make, calls of one communicator that differ, ranks that wait for each other. Knows no duration and no fabric.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "linkcast/sim/program.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::workloads::trace {

/// How the host issues. A launch occupies the host; the GPU may still be busy with what was issued before.
enum class HostKind : unsigned char {
  none,      // launches cost nothing
  per_rank,  // one process for each GPU
  shared     // one process issues for all GPUs
};

/// One collective or barrier: what its ranks have in common.
struct Meeting {
  int communicator = 0;
  std::int64_t index = 0;                             // counts the calls of the communicator
  std::vector<std::shared_ptr<const TraceOp>> calls;  // by member; null: has not come yet
  int missing = 0;                                    // members that have not come yet
  sim::Time first_arrival = sim::Time::max();         // written while it is replayed
  const TraceOp& first() const;
};

struct IssuedTask {
  enum class Kind : unsigned char {
    compute,
    launch,   // the host enqueues a collective
    arrival,  // a rank has come to a meeting
    collective,
    barrier
  };
  Kind kind = Kind::compute;
  sim::TaskId id{};
  int rank = -1;  // -1: of all ranks of the meeting, or of the shared host
  std::vector<sim::TaskId> after;
  std::shared_ptr<const TraceOp> op;
  std::shared_ptr<Meeting> meeting;  // null: compute
};

class Issuer {
 public:
  /// `trace`, `reader` and `problems` must live as long.
  Issuer(const Trace& trace, TraceReader& reader, HostKind host, Problems& problems);
  ~Issuer();
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  /// Tasks of each rank that were handed out and are not done: ranks that have the fewest are read first, so that in
  /// the replay's window of tasks a slow rank leaves room for the others. Null: in turn.
  void follow(const std::vector<int>* in_flight) { in_flight_ = in_flight; }
  /// False at the end, and where nothing more can run: then `problems` says why.
  bool next(IssuedTask& out);
  /// Operations read so far.
  std::int64_t operations() const { return operations_; }

 private:
  struct Node {
    IssuedTask task;
    std::uint64_t order = 0;
    int missing = 0;
    bool issued = false;
    std::vector<std::shared_ptr<Node>> waiters;
    std::vector<std::weak_ptr<Node>> before;  // only looked at to explain why nothing runs
  };
  using NodePtr = std::shared_ptr<Node>;
  struct Rank {
    std::map<std::string, NodePtr, std::less<>> streams;  // the last of each
    std::unordered_map<std::string, NodePtr> names;
    NodePtr base;  // the last barrier: what a stream begins after
    NodePtr host;
    std::vector<std::int64_t> calls;  // by communicator
    std::int64_t held = 0;            // operations that wait for something
    bool ended = false;
  };
  struct Open {
    std::shared_ptr<Meeting> meeting;
    NodePtr node;      // the collective
    NodePtr previous;  // of the same communicator
    NodePtr launch;    // of a shared host
  };
  struct Group {
    std::deque<Open> open;  // meetings that some rank has still to come to
    std::int64_t first = 0;
    NodePtr last;
    bool differs = false;  // one difference is enough to say: all that follow are likely its consequences
  };

  bool fetch(int rank);
  void take_compute(int rank, std::shared_ptr<const TraceOp> op);
  void take_meeting(int rank, std::shared_ptr<const TraceOp> op);
  Open& open_meeting(const std::shared_ptr<const TraceOp>& op, std::int64_t index);
  NodePtr make(IssuedTask::Kind kind, int rank, std::shared_ptr<const TraceOp> op, std::shared_ptr<Meeting> meeting);
  void wait_for(const NodePtr& node, const NodePtr& before);
  void wait_for_names(int rank, const NodePtr& node, const TraceOp& op);
  void settle(const NodePtr& node);  // issues it when it waits for nothing
  // scenario_explain.cpp
  void compare(int rank, const Meeting& meeting, const TraceOp& op);
  void explain();
  bool explain_missing();
  void explain_circle();
  std::string describe(const TraceOp& op) const;

  const Trace& trace_;
  TraceReader& reader_;
  HostKind host_;
  Problems& problems_;
  std::vector<Rank> ranks_;
  std::vector<Group> groups_;
  NodePtr shared_host_;
  std::vector<std::unordered_map<int, int>> member_;  // by communicator: rank -> member
  std::map<std::uint64_t, NodePtr> waiting_;          // by the order of their making
  const std::vector<int>* in_flight_ = nullptr;
  std::deque<IssuedTask> out_;
  std::uint64_t made_ = 0;
  std::uint64_t issued_ = 0;
  std::int64_t operations_ = 0;
  bool finished_ = false;
};

}  // namespace linkcast::workloads::trace
