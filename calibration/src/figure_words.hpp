// What people say about a number in half a sentence: "all_reduce busbw, 8 GB message, 16 GPUs", "sendrecv, NVLS off",
// "ib_write_bw one NIC, 4 QP, 1 MB". Only what is said plainly is taken; the rest stays unknown. Knows no file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "linkcast/calibration/measurements.hpp"

namespace linkcast::calibration {

/// Where a half sentence leaves the machine's size open: "4 GPUs per node", "single node".
struct MachineSize {
  int nodes = 0, gpus_per_node = 0;  // 0: not known
};

std::optional<models::nccl::Op> op_in_words(std::string_view text);
Figure::Metric metric_in_words(std::string_view text, bool names_op, bool names_size);
/// "16 GPUs", "12 ranks"; "4 GPUs per node" and "2 nodes" with what is known of the machine. A range names none.
std::optional<int> ranks_in_words(std::string_view text, const MachineSize& machine);
/// "2 nodes", "single node", "3 x NVL4"; 0: not said.
int nodes_in_words(std::string_view text);
/// The NCCL variables that stand in it (NCCL_PROTO=Simple) or that plain words mean: "NVLS off", "ring", "tree".
std::map<std::string, std::string> env_in_words(std::string_view text);
/// The number before a word: "4 QP" for "qp"; 0: none.
int count_before(std::string_view text, std::string_view word);

/// Sets tool, NICs, queue pairs, memory and direction of a test as far as they are said.
void read_test_words(std::string_view text, PairTest& test);

}  // namespace linkcast::calibration
