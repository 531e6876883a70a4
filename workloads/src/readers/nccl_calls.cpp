// See nccl_calls.hpp. Source of the numbers: NCCL, src/nccl.h.in (ncclDataType_t).
#include "nccl_calls.hpp"

#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace linkcast::workloads::readers {
namespace {

using models::nccl::Op;

bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(a[i])) != std::tolower(static_cast<unsigned char>(b[i]))) return false;
  return true;
}

}  // namespace

int bytes_of_type(std::int64_t type) {
  constexpr std::array<int, 12> bytes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < static_cast<std::int64_t>(bytes.size()) ? bytes[static_cast<std::size_t>(type)] : 0;
}

int bytes_of_type(std::string_view name) {
  constexpr std::pair<std::string_view, int> known[] = {
      {"ncclInt8", 1},    {"ncclChar", 1},    {"ncclUint8", 1},      {"ncclInt32", 4},     {"ncclInt", 4},
      {"ncclUint32", 4},  {"ncclInt64", 8},   {"ncclUint64", 8},     {"ncclFloat16", 2},   {"ncclHalf", 2},
      {"ncclFloat32", 4}, {"ncclFloat", 4},   {"ncclFloat64", 8},    {"ncclDouble", 8},    {"ncclBfloat16", 2},
      {"ncclFp8E4M3", 1}, {"ncclFp8E5M2", 1}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};
  for (const auto& [word, bytes] : known)
    if (same_word(word, name)) return bytes;
  return 0;
}

std::optional<NcclCall> nccl_call(std::string_view name) {
  if (name.starts_with("nccl")) name.remove_prefix(4);
  if (same_word(name, "send")) return NcclCall{Operation::Kind::send, Op::sendrecv};
  if (same_word(name, "recv")) return NcclCall{Operation::Kind::receive, Op::sendrecv};
  if (same_word(name, "bcast")) return NcclCall{Operation::Kind::collective, Op::broadcast};
  if (same_word(name, "sendrecv")) return std::nullopt;
  if (const auto op = models::nccl::op_from(name)) return NcclCall{Operation::Kind::collective, *op};
  return std::nullopt;
}

std::optional<std::int64_t> nccl_size(const NcclCall& call, std::int64_t own, int ranks) {
  if (own < 0 || own > (std::int64_t{1} << 60)) return std::nullopt;
  if (call.kind != Operation::Kind::collective) return own;
  switch (call.op) {
    case Op::all_gather:
    case Op::reduce_scatter:
    case Op::alltoall:
    case Op::gather:
    case Op::scatter:
      if (ranks < 1 || own > (std::int64_t{1} << 60) / ranks) return std::nullopt;
      return own * ranks;
    default:
      return own;
  }
}

}  // namespace linkcast::workloads::readers
