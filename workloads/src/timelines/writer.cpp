// See writer.hpp. Sizes: a recording has nccl-tests' (the whole buffer for all_gather, …); profilers write what one
// rank gives and gets.
#include "writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace linkcast::workloads::timelines {

using models::nccl::Op;

std::string ranks_text(const std::vector<int>& ranks, std::size_t most) {
  std::string out = "[";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) out += ", ";
    if (i == most) {
      out += "...";
      break;
    }
    out += fmt::format("{}", ranks[i]);
  }
  return out + "]";
}

std::string kernel_name(const ReplayedOperation& x) {
  if (x.name.starts_with("nccl")) return std::string{x.name};
  const auto& o = *x.operation;
  const bool message = o.kind != Operation::Kind::collective;
  if (message || o.op == Op::alltoall || o.op == Op::sendrecv || o.op == Op::gather || o.op == Op::scatter)
    return "ncclDevKernel_SendRecv";
  std::string out = fmt::format("ncclDevKernel_{}", models::nccl::nccl_name_of(o.op));
  // Sums of bytes: recordings know sizes and no datatypes.
  if (o.op == Op::all_reduce || o.op == Op::reduce || o.op == Op::reduce_scatter) out += "_Sum_u8";
  for (const auto part : {x.algorithm, x.protocol}) {
    if (part.empty()) continue;
    out += '_';
    for (const char c : part) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return out;
}

std::pair<std::int64_t, std::int64_t> elements(const ReplayedOperation& x) {
  const auto& o = *x.operation;
  const auto whole = o.bytes.count();
  const auto n = x.communicator == nullptr ? 1 : std::max<std::int64_t>(1, std::ssize(x.communicator->ranks));
  if (o.kind != Operation::Kind::collective) return {whole, whole};
  switch (o.op) {
    case Op::all_gather:
    case Op::gather:
      return {whole / n, whole};
    case Op::reduce_scatter:
    case Op::scatter:
      return {whole, whole / n};
    default:
      return {whole, whole};
  }
}

}  // namespace linkcast::workloads::timelines
