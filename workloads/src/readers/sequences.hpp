// Calls on which ranks must agree: the collectives of one communicator, the messages from one rank to another. Where
// recordings begin or end at different calls, or have lost some, this says which are left out (the others do not have
// them) and which are filled in from another rank (all of a communicator must have made them). Knows no file format.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call_store.hpp"

namespace linkcast::workloads::readers {

struct Sequence {
  enum class Counting : std::uint8_t {
    keyed,   // StoredCall::key names the call on every rank
    loose,   // the order does, and key helps where ranks differ
    ordinal  // only the order does
  };
  Counting counting = Counting::keyed;
  bool messages = false;           // one rank sends, the other receives
  bool lossy = false;              // a rank that has none has lost them all, rather than not come
  std::string label;               // "communicator 'tp'"
  std::vector<std::size_t> ranks;  // of the store, those that are recorded and take part
};

class Agreement {
 public:
  /// What is left out and filled in is told to the report. `world`: rank of the world by rank of the store, for texts.
  Agreement(const CallStore& store, const std::vector<Sequence>& sequences, const std::vector<int>& world,
            ReadReport& report);

  struct Edits {
    std::uint64_t from = 0, until = std::numeric_limits<std::uint64_t>::max();  // of its calls in the sequence
    std::vector<std::uint64_t> without;                                         // of those between, sorted
    std::vector<std::pair<std::uint64_t, StoredCall>> before;                   // filled in before the n-th, sorted
  };
  /// Null: all calls stand.
  const Edits* edits(std::size_t rank, std::uint32_t sequence) const;

 private:
  struct Walk;
  void merge(const CallStore& store, const Sequence& s, std::uint32_t index, const std::vector<int>& world,
             ReadReport& report);
  void cut(const Sequence& s, std::uint32_t index, const std::vector<std::uint64_t>& counts, ReadReport& report);

  std::map<std::pair<std::size_t, std::uint32_t>, Edits> edits_;
};

/// All that a reader has found.
struct Collected {
  CallStore store;
  std::vector<Sequence> sequences;
};

/// `base` has all but `open`; `places`: rank of the store by place in base.ranks.
Recording recording_of(std::shared_ptr<const Collected> collected, Recording base, std::vector<std::size_t> places);

}  // namespace linkcast::workloads::readers
