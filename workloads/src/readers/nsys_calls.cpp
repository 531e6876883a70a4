// See nsys_calls.hpp. Names of kernels: NCCL, src/device/generate.py; texts: the NCCL 2.20 that ATLAHS patches.
#include "nsys_calls.hpp"

#include <charconv>

namespace linkcast::workloads::readers {
namespace {

using models::nccl::Op;

template <class T>
bool number(std::string_view text, std::string_view key, T& out) {
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const auto end = at + key.size();
    if ((at > 0 && text[at - 1] != ' ' && text[at - 1] != ',') || end >= text.size()) continue;
    if (text[end] != ' ' && text[end] != ':' && text[end] != '=') continue;
    const auto from = text.find_first_not_of(" :=", end);
    if (from == std::string_view::npos) return false;
    auto word = text.substr(from);
    const bool hex = word.starts_with("0x");
    if (hex) word.remove_prefix(2);
    return std::from_chars(word.data(), word.data() + word.size(), out, hex ? 16 : 10).ec == std::errc{};
  }
  return false;
}

}  // namespace

std::optional<NvtxCall> nvtx_call(std::string_view text) {
  if (!text.starts_with("nccl")) return std::nullopt;
  const auto end = text.find_first_of("(: ");
  const auto call = nccl_call(text.substr(0, end));
  if (!call) return std::nullopt;
  NvtxCall out;
  out.call = *call;
  out.sized = number(text, "data_size", out.own) && number(text, "commHash", out.communicator) && out.own >= 0;
  number(text, "root", out.root);
  for (const auto* key : {"receiver_rank", "sender_rank", "peer"})
    if (number(text, key, out.peer)) break;
  if (out.call.kind != Operation::Kind::collective && out.peer < 0) out.sized = false;
  return out;
}

std::optional<NvtxInit> nvtx_init(std::string_view text) {
  NvtxInit out;
  if (!number(text, "commHash", out.communicator) || !number(text, "rank", out.rank) ||
      !number(text, "nranks", out.ranks))
    return std::nullopt;
  if (out.rank < 0 || out.ranks < 1 || out.rank >= out.ranks || out.ranks > (1 << 20)) return std::nullopt;
  return out;
}

bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("ncclDevKernel") || name.starts_with("ncclKernel") || name.starts_with("ncclSymDevKernel") ||
         name.starts_with("ncclSymkDevKernel");
}

std::optional<NcclCall> kernel_call(std::string_view name) {
  const auto from = name.find('_');
  if (from == std::string_view::npos) return std::nullopt;
  const auto word = name.substr(from + 1, name.find_first_of("_(", from + 1) - from - 1);
  if (word == "SendRecv") return NcclCall{Operation::Kind::send, Op::sendrecv};
  return nccl_call(word);
}

bool runs(const std::optional<NcclCall>& kernel, const NcclCall& call) {
  if (!kernel) return true;  // "ncclDevKernel_Generic": whatever was called
  const bool by_messages = call.kind != Operation::Kind::collective || call.op == Op::alltoall ||
                           call.op == Op::gather || call.op == Op::scatter;
  if (kernel->kind == Operation::Kind::send) return by_messages;
  return kernel->op == call.op && call.kind == Operation::Kind::collective;
}

}  // namespace linkcast::workloads::readers
