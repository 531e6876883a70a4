#include "messages.hpp"

#include <algorithm>

namespace linkcast::workloads {

std::vector<Message> messages_of(const models::nccl::Call& call, int ranks) {
  using models::nccl::Op;
  std::vector<Message> list;
  const sim::Bytes part{std::max<std::int64_t>(1, call.bytes.count() / ranks)};
  const auto add = [&](int from, int to, sim::Bytes bytes) {
    if (from != to) list.push_back({from, to, bytes});
  };
  switch (call.op) {
    case Op::sendrecv:
      for (int r = 0; r < ranks; ++r) add(r, (r + 1) % ranks, call.bytes);
      break;
    case Op::alltoall:
      for (int d = 1; d < ranks; ++d)
        for (int r = 0; r < ranks; ++r) add(r, (r + d) % ranks, part);
      break;
    case Op::gather:
      for (int r = 0; r < ranks; ++r) add(r, call.root, part);
      break;
    case Op::scatter:
      for (int r = 0; r < ranks; ++r) add(call.root, r, part);
      break;
    default:
      break;
  }
  return list;
}

}  // namespace linkcast::workloads
