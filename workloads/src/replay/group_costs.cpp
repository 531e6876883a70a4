#include "group_costs.hpp"

#include <algorithm>

namespace linkcast::workloads::replaying {

namespace {
constexpr std::size_t no_model = static_cast<std::size_t>(-1);
}

std::size_t GroupCosts::model_of(const std::vector<int>& ranks) {
  const auto model = calls_->model_of(ranks);
  if (const auto& note = calls_->note(model); !note.empty() && std::ranges::find(notes_, note) == notes_.end())
    notes_.push_back(note);
  return model;
}

const Cost& GroupCosts::collective(std::uint32_t index, const RecordedCommunicator& c, models::nccl::Op op,
                                   sim::Bytes bytes, int root) {
  if (of_communicator_.size() <= index) of_communicator_.resize(index + 1, no_model);
  if (of_communicator_[index] == no_model) of_communicator_[index] = model_of(c.ranks);
  return calls_->cost(of_communicator_[index], op, bytes, root);
}

const Cost& GroupCosts::message(int from, int to, sim::Bytes bytes) {
  const auto key = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
  auto found = of_pair_.find(key);
  if (found == of_pair_.end()) found = of_pair_.emplace(key, model_of({from, to})).first;
  return calls_->cost(found->second, models::nccl::Op::sendrecv, bytes);
}

}  // namespace linkcast::workloads::replaying
