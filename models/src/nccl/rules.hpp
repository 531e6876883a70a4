// Small vocabularies shared by the files of this folder: path levels by name, the list grammar of NCCL_ALGO and
// NCCL_PROTO, datatypes.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "linkcast/models/nccl/system.hpp"
#include "linkcast/models/nccl/types.hpp"

namespace linkcast::models::nccl {

/// "NVL" or NCCL's old numbers 0..5.
std::optional<PathType> path_level(std::string_view text);

/// Throws sim::InputError where a NCCL_ALGO / NCCL_PROTO list is malformed.
void check_list(std::string_view variable, std::string_view value);

constexpr int collectives = 5;  // broadcast, reduce, all_gather, reduce_scatter, all_reduce: NCCL's order
constexpr int algorithms = 7, protocols = 3;
/// NCCL's index of a collective; -1 for send/recv operations.
int collective_index(Op op);

enum class Allowed : unsigned char { no, yes, if_safe };  // LL128 is "if safe" unless the user says so
template <int N>
using AllowTable = std::array<std::array<Allowed, N>, collectives>;
AllowTable<algorithms> allowed_algorithms(const Environment& env);
AllowTable<protocols> allowed_protocols(const Environment& env);

struct Datatype {
  int bytes = 4;
  bool fp8 = false;
  bool multimem_sum = true;  // the switch can add it (NVLS)
  bool multimem_sum_blackwell = true;
  bool symmetric = false;  // symmetric reduction kernels take it
};
/// nccl-tests' words. Throws sim::InputError.
Datatype datatype(std::string_view name);

}  // namespace linkcast::models::nccl
