// A collective trace: what every rank does, one operation after the other, and on which communicators. Readers give
// it operation by operation, so that a trace may be longer than memory. The format is in docs/trace.md. Knows no
// topology and no time: how long anything takes is the replay's business.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::workloads {

/// A file as messages quote it. `text` is empty where the file is streamed.
struct SourceText {
  std::string name;
  std::string text;
};

struct Place {
  std::shared_ptr<const SourceText> source;
  int line = 0;
  int column = 0;
  int length = 1;
};

/// One operation of one rank. Operations of one stream run in their order; streams run side by side.
struct TraceOp {
  enum class Kind : unsigned char {
    compute,     // keeps the GPU busy for `duration`
    collective,  // starts when all ranks of the communicator have come to it
    barrier      // of the communicator's ranks and their hosts: all streams; costs nothing itself
  };
  Kind kind = Kind::compute;
  std::string name;                // for `after` and for reports; may be empty
  std::string stream;              // never empty
  std::vector<std::string> after;  // names of earlier operations of the same rank: the last one of that name counts
  sim::Time duration;
  int communicator = 0;  // index into Trace::communicators
  models::nccl::Call call;
  Place place;
  Place after_place;  // of `after`
};

/// Its n-th member has NCCL's rank n in it.
struct TraceCommunicator {
  std::string name;
  std::vector<int> ranks;
  Place place;
};

/// The operations of a trace in the order in which each rank's host issues them.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  /// The next operation of this rank; null when it has no more. Throws sim::InputError.
  virtual std::shared_ptr<const TraceOp> next(int rank) = 0;
};

struct Trace {
  int ranks = 0;
  std::vector<TraceCommunicator> communicators;  // the first is "world": all ranks
  /// Reads from the beginning. A trace is read twice: once to say everything that is wrong with it, once to run.
  std::function<std::unique_ptr<TraceReader>()> open;
};

}  // namespace linkcast::workloads
