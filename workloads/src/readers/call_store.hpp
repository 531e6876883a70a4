// Calls of many ranks as files interleave them, kept in order per rank in bounded memory: what is beyond the bound lies
// in an unnamed temporary file. For formats that must be read to the end before the first call is understood. Knows no
// file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

/// An Operation in fixed size. Its id is its place in its rank, from 1.
struct StoredCall {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::uint64_t key = 0;    // its place in the sequence, as its recording counts; grows
  std::uint64_t after = 0;  // id; 0: nothing
  std::int64_t bytes = 0;
  std::int64_t tag = 0;
  std::int64_t duration = 0, measured = 0;  // ps
  std::uint32_t sequence = none;            // of those that ranks must agree on (sequences.hpp)
  std::uint32_t stream = 0, name = 0, communicator = 0, batch = 0;
  std::int32_t peer = -1, root = 0;
  Operation::Kind kind = Operation::Kind::compute;
  Work work = Work::other;
  models::nccl::Op op = models::nccl::Op::all_reduce;
};

class CallStore {
 public:
  explicit CallStore(std::size_t most_bytes = std::size_t{96} << 20) : most_{most_bytes} {}

  /// Ranks are numbered as they come. Throws sim::InputError where the temporary file cannot be written.
  void add(std::size_t rank, const StoredCall& call);
  std::size_t ranks() const { return ranks_.size(); }
  std::uint64_t size(std::size_t rank) const { return rank < ranks_.size() ? ranks_[rank].count : 0; }
  std::uint64_t total() const;
  bool spilled() const { return file_ != nullptr; }

  class Cursor {
   public:
    Cursor(const CallStore& store, std::size_t rank) : store_{&store}, rank_{rank} {}
    /// Null at the end; valid until the next call.
    const StoredCall* next();

   private:
    const CallStore* store_;
    std::size_t rank_, chunk_ = 0, at_ = 0;
    std::vector<StoredCall> loaded_;
    std::size_t loaded_chunk_ = std::numeric_limits<std::size_t>::max();
  };

 private:
  static constexpr std::size_t per_chunk = 256;
  struct Chunk {
    std::vector<StoredCall> calls;  // empty: in the file
    std::int64_t offset = -1;
  };
  struct Rank {
    std::vector<Chunk> chunks;
    std::uint64_t count = 0;
  };
  struct Closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };

  void spill(Chunk& chunk);

  std::size_t most_, held_ = 0;
  std::vector<Rank> ranks_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::int64_t written_ = 0;
};

}  // namespace linkcast::workloads::readers
