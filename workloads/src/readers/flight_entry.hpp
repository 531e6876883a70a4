// One entry of a Flight Recorder dump as a call: its name, its size, its state. Knows no ranks and no files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkcast/workloads/recording.hpp"
#include "value_tree.hpp"

namespace linkcast::workloads::readers {

struct FlightEntry {
  Operation::Kind kind = Operation::Kind::collective;
  models::nccl::Op op = models::nccl::Op::all_reduce;
  bool barrier = false, coalesced = false;  // coalesced: it closes a group of those before it
  int source = -1, destination = -1;        // of a message, members of the group
  std::int64_t bytes = 0;
  bool typed = true;  // false: no data types were recorded, 4 bytes an element are assumed
  std::string_view name, state;
  std::int64_t sequence = -1;
  double milliseconds = 0;  // 0: not timed
};

/// "nccl:all_reduce", "nccl:send 1->2" …; nothing where there is no model for it (`why`).
std::optional<FlightEntry> flight_entry(const Datum& entry, int ranks, std::string& why);

/// "[0, 1, 2]" or a list.
std::vector<int> rank_list(const Datum* ranks);

}  // namespace linkcast::workloads::readers
