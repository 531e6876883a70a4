// One message of an NCCL_DEBUG log: who says it, and what it says of communicators and calls. In all dialects: with or
// without timestamps and launchers' tags before it, a function and a line of code after the device (private builds),
// RCCL's suffixes, and several messages on one line where ranks wrote at once. Knows no files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace linkcast::workloads::readers {

struct LogMessage {
  std::string_view process;  // "host:pid"; empty: the head is damaged
  int device = 0;
  std::string_view text;  // what follows "NCCL INFO "
};

/// The messages of a line, in order.
void messages_of(std::string_view line, std::vector<LogMessage>& out);

struct LogCall {
  std::string_view verb;  // "AllReduce"
  std::uint64_t count_of_operations = 0;
  std::int64_t count = 0, type = 0;
  int root = 0, ranks = 0, global_rank = -1;  // ranks, global_rank: -1 or 0: not said
  std::uint64_t communicator = 0, stream = 0;
  bool has_stream = false;
};
/// A line of the COLL subsystem; nothing where it is cut or mixed with another. `is_call` says that it was meant to be.
bool is_call(std::string_view text);
std::optional<LogCall> log_call(std::string_view text);

struct LogInit {
  std::uint64_t communicator = 0, id = 0, parent = 0;
  bool has_id = false, has_parent = false, complete = false;
  int rank = -1, ranks = 0, device = -1, color = -1;
};
std::optional<LogInit> log_init(std::string_view text);

struct LogTuning {
  std::string_view verb, algorithm, protocol;
};
/// "AllGather: 131072 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..3}", and with numbers for the names.
std::optional<LogTuning> log_tuning(std::string_view text);

}  // namespace linkcast::workloads::readers
