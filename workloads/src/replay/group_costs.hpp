// What the calls of one recording take: its communicators and pairs of ranks, looked up once. Knows no stream.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "linkcast/workloads/call_costs.hpp"
#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::replaying {

using Cost = CallCost;

class GroupCosts {
 public:
  explicit GroupCosts(std::shared_ptr<CallCosts> calls) : calls_{std::move(calls)} {}

  /// Throws sim::InputError (an operation that this communicator cannot do).
  const Cost& collective(std::uint32_t communicator, const RecordedCommunicator& c, models::nccl::Op op,
                         sim::Bytes bytes, int root);
  /// One message between two ranks of the world.
  const Cost& message(int from, int to, sim::Bytes bytes);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::size_t model_of(const std::vector<int>& ranks);

  std::shared_ptr<CallCosts> calls_;
  std::vector<std::size_t> of_communicator_;
  std::unordered_map<std::uint64_t, std::size_t> of_pair_;
  std::vector<std::string> notes_;
};

}  // namespace linkcast::workloads::replaying
