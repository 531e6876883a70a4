// The one form into which every format of traces, and the training-step generator, turn a workload: what some ranks of
// a world do, operation by operation, on streams, with dependencies. Readers give operations one at a time, so that a
// recording may be longer than memory. Knows no topology, no file format, and not how long communication takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::workloads {

/// What an operation that computes is mostly made of: --compute-scale takes a factor for each.
enum class Work : std::uint8_t { gemm, attention, elementwise, copy, other, gap };  // gap: nothing was recorded
std::string_view name_of(Work w);

struct Operation {
  enum class Kind : std::uint8_t {
    compute,
    collective,  // of all ranks of the communicator, matched by their order on it
    send,        // matched with the peer's receive by their order on (communicator, sender, receiver, tag)
    receive
  };
  Kind kind = Kind::compute;
  Work work = Work::other;
  models::nccl::Op op = models::nccl::Op::all_reduce;  // collective
  std::uint32_t stream = 0;                            // of Recording::streams; one stream runs in order
  std::uint32_t name = 0;                              // of Recording::names; 0: none
  std::uint32_t communicator = 0;                      // of Recording::communicators
  std::int32_t peer = -1;                              // send, receive: member of the communicator
  std::int32_t root = 0;                               // collectives with a root: member of the communicator
  std::uint32_t batch = 0;  // send, receive: those of one batch on one stream go together (ncclGroup); 0: alone
  std::int64_t tag = 0;
  std::uint64_t id = 0;              // of this rank, for `after`; 0: nobody waits for it
  std::vector<std::uint64_t> after;  // ids of earlier operations that must have ended; one that never came has
  sim::Time duration;                // compute: as recorded
  double flops = 0, touched = 0;     // compute without a duration: what it does and the bytes that it touches
  sim::Bytes bytes;                  // communication, as nccl-tests' "size"; of a message: its own
  sim::Time measured;                // what the recording says that communication took; 0: nothing
};

struct RecordedCommunicator {
  std::string name;         // "0", "tp", the trace's own
  std::string description;  // "TENSOR_MODEL_PARALLEL_GROUP"; may be empty
  std::vector<int> ranks;   // of the world; its n-th member is rank n in it
};

/// Texts, each once. Index 0 is the empty one.
class Names {
 public:
  std::uint32_t add(std::string_view text);
  const std::string& operator[](std::uint32_t i) const { return texts_[i]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, std::uint32_t> index_;
};

/// What could be used of the files, what not, and what was made up. Complete when the operations were read to the end.
struct ReadReport {
  std::string format;      // "kineto"
  std::string generation;  // "C: metadata on kernels"; may be empty
  std::int64_t records = 0, used = 0;
  struct Skipped {
    std::string why;  // "a kernel without metadata of its collective"
    std::int64_t count = 0;
    std::string first;  // "trace.json:17:4", "trace.et: byte 4711"
  };
  std::vector<Skipped> skipped;
  std::vector<std::string> notes;  // what was assumed or extrapolated, for people

  void skip(std::string_view why, const std::string& where);
};

/// The operations of recorded rank `r` (its place in Recording::ranks) in the order in which its host issued them.
class OperationReader {
 public:
  virtual ~OperationReader() = default;
  /// False at the end. Throws sim::InputError where nothing more can be read.
  virtual bool next(std::size_t r, Operation& out) = 0;
};

struct Recording {
  int world = 0;                                       // ranks there are
  std::vector<int> ranks;                              // of the world, whose operations follow; the others do alike
  std::vector<RecordedCommunicator> communicators;     // complete when `open` has been called
  std::shared_ptr<std::vector<std::string>> streams =  // may grow while it is read
      std::make_shared<std::vector<std::string>>(std::vector<std::string>{"main"});
  std::shared_ptr<Names> names = std::make_shared<Names>();
  std::shared_ptr<ReadReport> report = std::make_shared<ReadReport>();
  std::function<std::unique_ptr<OperationReader>()> open;  // from the beginning
  std::string source;                                      // "a Kineto trace of rank 0"
  // Of the whole recording and all ranks, where they are known: for MFU and tokens per second.
  double model_flops = 0, tokens = 0;
  int steps = 1;
};

/// Opens what lies at the paths: one file, the files of several ranks, or a folder of them. The format is found by
/// content, or forced ("kineto"). Throws sim::InputError: unknown format (with those that there are), nothing usable.
struct RecordingOptions {
  std::string format;               // empty: by content
  int world = 0;                    // 0: as the files say
  std::vector<std::string> beside;  // other files that belong to it: an execution trace, a group configuration
};
Recording open_recording(const std::vector<std::string>& paths, const RecordingOptions& options = {});

}  // namespace linkcast::workloads
