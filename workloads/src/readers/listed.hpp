// A recording whose operations were written down when it was opened: of files that are small by nature. Knows no
// format.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers {

class ListedReader final : public OperationReader {
 public:
  explicit ListedReader(std::shared_ptr<const std::vector<std::vector<Operation>>> ranks)
      : ranks_{std::move(ranks)}, next_(ranks_->size()) {}
  bool next(std::size_t r, Operation& out) override {
    if (next_[r] >= (*ranks_)[r].size()) return false;
    out = (*ranks_)[r][next_[r]++];
    return true;
  }

 private:
  std::shared_ptr<const std::vector<std::vector<Operation>>> ranks_;
  std::vector<std::size_t> next_;
};

/// One representative rank, numbered by place: `after` names earlier ones by what `add` gave.
class OneRank {
 public:
  std::uint64_t add(Operation o) {
    o.id = list_.size() + 1;
    std::erase(o.after, std::uint64_t{0});
    list_.push_back(std::move(o));
    return list_.back().id;
  }
  void give_to(Recording& recording) {
    recording.ranks = {0};
    auto all = std::make_shared<std::vector<std::vector<Operation>>>();
    all->push_back(std::move(list_));
    recording.open = [all] { return std::make_unique<ListedReader>(all); };
  }

 private:
  std::vector<Operation> list_;
};

}  // namespace linkcast::workloads::readers
