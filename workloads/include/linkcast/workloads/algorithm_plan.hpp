// A collective algorithm that somebody wrote down step by step: MSCCL's XML and MSCCL++'s execution plan. What each
// thread block of each GPU takes, reads, writes and gives, in chunks. Knows no machine and no time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads {

struct AlgorithmPlan {
  enum class Buffer : unsigned char { input, output, scratch };
  struct Range {
    int rank = 0;
    Buffer buffer = Buffer::input;
    int offset = 0;  // in chunks; as many as the step handles
  };
  /// From block to block. `fifo`: carries data through a buffer with few slots, and loads the links between the two.
  /// Else a flag, which carries none, and of which any number may stand unread.
  struct Queue {
    int from = -1, to = -1;  // blocks
    bool fifo = false;
  };
  struct Lane {
    int from = 0, to = 0;  // ranks
    bool fetched = false;  // by a load from the far side: the request travels first
  };
  struct Step {
    std::string type;  // the file's word: "rrcs", "put"
    int line = 0, column = 0;
    int count = 0;             // chunks; 0: only waits and signals
    std::vector<int> take;     // queues: one message of each is waited for and taken; at most one of them a fifo
    std::vector<Range> reads;  // added to each other and to what the fifo brought
    std::vector<Range> writes;
    std::vector<int> give;    // queues; a fifo gets what was read
    std::vector<Lane> lanes;  // that the bytes cross besides fifos
  };
  struct Block {
    int rank = 0, id = 0, channel = 0;
    int line = 0, column = 0;
    std::vector<Step> steps;
  };
  struct Gpu {
    int input = 0, output = 0, scratch = 0;  // chunks that may be spoken of
    int line = 0, column = 0;
  };

  std::string file, name;
  std::string format;                  // "MSCCL", "MSCCL++"
  std::optional<models::nccl::Op> op;  // nothing: "custom", whatever the call is
  models::nccl::Protocol protocol = models::nccl::Protocol::simple;
  int channels = 1;
  int chunks = 1;  // that the whole buffer (nccl-tests' "size") is cut into
  int root = 0;
  bool in_place = false;
  bool loops = false;  // MSCCL: what does not fit into a slot goes round again; MSCCL++ moves each chunk at once
  std::int64_t min_bytes = 0, max_bytes = std::numeric_limits<std::int64_t>::max();  // both included
  std::vector<Gpu> gpus;
  std::vector<Block> blocks;  // of all GPUs
  std::vector<Queue> queues;

  int ranks() const { return static_cast<int>(gpus.size()); }
  bool fits(models::nccl::Op call, std::int64_t bytes) const {
    const bool has_result =
        call != models::nccl::Op::sendrecv && call != models::nccl::Op::gather && call != models::nccl::Op::scatter;
    return (op ? *op == call : has_result) && bytes >= min_bytes && bytes <= max_bytes;
  }
  /// Chunks of the input and the output of one rank.
  int input_chunks(models::nccl::Op call) const;
  int output_chunks(models::nccl::Op call) const;
};

/// Reads an algorithm and checks all of it: peers, buffers, dependencies, deadlock, races, and whether each rank ends
/// with the result of the collective. Throws sim::InputError with everything that is wrong. `text` decides which of the
/// formats it is; `file` is the name for messages. A "custom" one is checked when it is used.
std::shared_ptr<const AlgorithmPlan> read_algorithm(std::string_view text, const std::string& file);

/// Follows the data and says what is wrong with the result; nothing if it is that of `op`.
std::vector<sim::Diagnostic> check_algorithm(const AlgorithmPlan& plan, models::nccl::Op op);

}  // namespace linkcast::workloads
