// The two formats of algorithms. Both give a plan whose references are all within bounds; what it does is not checked.
#pragma once

#include "linkcast/workloads/algorithm_plan.hpp"
#include "problems.hpp"

namespace linkcast::workloads::algorithms {

// A plan beyond these is a mistake or an attack: the largest published ones have some 100,000 steps.
inline constexpr int most_ranks = 4096, most_chunks = 65'536, most_blocks = 4096;
inline constexpr std::int64_t most_moves = 4'000'000;  // chunks handled by all steps together
inline constexpr std::int64_t most_cells = 4'000'000;  // chunks of all buffers together

AlgorithmPlan read_msccl_xml(Problems& problems, const std::string& file);
AlgorithmPlan read_mscclpp_json(Problems& problems, const std::string& file);

/// The collective by the file's word ("allreduce"); nothing for "custom". Reports an unknown one.
std::optional<models::nccl::Op> collective(Problems& problems, Place at, std::string_view word);
/// "Simple", "LL", "LL128" in any case.
models::nccl::Protocol protocol(Problems& problems, Place at, std::string_view word);
/// Reports a collective whose chunks do not divide by its ranks, and sizes beyond the limits above.
void check_shape(Problems& problems, Place at, const AlgorithmPlan& plan);

}  // namespace linkcast::workloads::algorithms
