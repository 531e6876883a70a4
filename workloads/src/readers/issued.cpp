// See issued.hpp.
#include "issued.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

namespace linkcast::workloads::readers {
namespace {

using Lists = std::vector<std::vector<Issued>>;

class Reader final : public OperationReader {
 public:
  explicit Reader(std::shared_ptr<const Lists> lists) : lists_{std::move(lists)}, ranks_(lists_->size()) {}

  bool next(std::size_t r, Operation& out) override {
    auto& rank = ranks_[r];
    const auto& list = (*lists_)[r];
    for (; rank.at < list.size() && list[rank.at].what == Issued::What::wait; ++rank.at)
      if (const auto found = rank.requests.find(list[rank.at].request); found != rank.requests.end())
        add(rank.behind, found->second);
    if (rank.at == list.size()) return false;
    const auto& i = list[rank.at++];
    out = Operation{};
    out.id = rank.at;
    out.name = i.name;
    out.after = rank.behind;
    if (i.what == Issued::What::compute) {
      out.work = i.work;
      out.flops = i.flops;
      out.touched = i.touched;
      rank.behind = {out.id};
      return true;
    }
    out.kind = i.what == Issued::What::collective ? Operation::Kind::collective
               : i.what == Issued::What::send     ? Operation::Kind::send
                                                  : Operation::Kind::receive;
    out.op = i.op;
    out.bytes = i.bytes;
    out.communicator = i.communicator;
    out.stream = i.communicator + 1;
    out.peer = i.peer;
    out.root = i.root;
    out.batch = i.batch;
    if (i.request >= 0) rank.requests[i.request] = out.id;
    return true;
  }

 private:
  struct Rank {
    std::size_t at = 0;
    std::vector<std::uint64_t> behind;  // what the main stream has come to
    std::unordered_map<std::int64_t, std::uint64_t> requests;
  };

  /// Of calls that nothing was computed behind, the last few: each communicator's calls are in order anyway.
  static void add(std::vector<std::uint64_t>& behind, std::uint64_t id) {
    if (std::ranges::find(behind, id) == behind.end()) behind.push_back(id);
    if (behind.size() > 16) behind.erase(behind.begin());
  }

  std::shared_ptr<const Lists> lists_;
  std::vector<Rank> ranks_;
};

}  // namespace

void give_issued(Recording& recording, std::vector<std::vector<Issued>> ranks) {
  for (const auto& c : recording.communicators) recording.streams->push_back(fmt::format("communicator {}", c.name));
  const auto lists = std::make_shared<const Lists>(std::move(ranks));
  recording.open = [lists] { return std::make_unique<Reader>(lists); };
}

}  // namespace linkcast::workloads::readers
