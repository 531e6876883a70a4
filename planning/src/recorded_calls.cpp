// See recorded_calls.hpp.
#include "recorded_calls.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "tiling.hpp"

namespace linkcast::planning {

using sim::Time;
using workloads::Operation;

void CallCollector::see(const workloads::ReplayedOperation& x) {
  if (x.communicator == nullptr || x.operation->bytes <= sim::Bytes{}) return;
  const auto& ranks = x.communicator->ranks;
  const auto& o = *x.operation;
  const bool message = o.kind != Operation::Kind::collective;
  Instance instance{x.communicator, {-1, -1}};
  if (message) {
    if (ranks[static_cast<std::size_t>(o.peer)] / per_node_ == x.rank / per_node_) return;
    const auto me = static_cast<int>(std::ranges::find(ranks, x.rank) - ranks.begin());
    instance.members = o.kind == Operation::Kind::send ? std::pair{me, o.peer} : std::pair{o.peer, me};
  } else if (std::ranges::all_of(ranks, [&](int r) { return r / per_node_ == ranks[0] / per_node_; })) {
    return;
  }
  const auto& label = x.communicator->description.empty() ? x.communicator->name : x.communicator->description;
  auto& kind = kinds_[{label, message ? std::string{"send"} : std::string{name_of(o.op)}}];
  const auto time = x.end - x.start;
  kind.busy[{instance, x.rank}] += time;
  auto& size = kind.by_size[{o.bytes.count(), o.root}];
  size.time += time;
  ++size.calls;
  if (!message) kind.op = o.op;
}

std::vector<RecordedCalls> CallCollector::calls() const {
  std::vector<RecordedCalls> out;
  for (const auto& [name, kind] : kinds_) {
    auto& calls = out.emplace_back();
    std::tie(calls.communicator, calls.operation) = name;
    const auto& [usual, size] =
        *std::ranges::max_element(kind.by_size, {}, [](const auto& x) { return x.second.time; });
    calls.usual.op = kind.op;
    calls.usual.bytes = sim::Bytes{usual.first};
    calls.usual.root = usual.second;
    calls.call_seconds = size.time.seconds() / static_cast<double>(size.calls);
    // A call that several recorded ranks take part in was seen by each of them.
    std::map<Instance, Time> instances;
    for (const auto& [key, time] : kind.busy) instances[key.first] = std::max(instances[key.first], time);
    Time busy;
    std::set<const workloads::RecordedCommunicator*> communicators;
    for (const auto& [instance, time] : instances) busy += time, communicators.insert(instance.communicator);
    calls.busy_seconds = busy.seconds() / static_cast<double>(instances.size());

    std::vector<const workloads::RecordedCommunicator*> in_order;
    std::vector<std::vector<int>> ranks;
    for (const auto& c : recording_.communicators)
      if (communicators.contains(&c)) in_order.push_back(&c), ranks.push_back(c.ranks);
    const auto tiling = tile(ranks, recording_.world);
    for (std::size_t g = 0; g < tiling.groups.size(); ++g) {
      const bool recorded = g < ranks.size() && tiling.groups[g] == ranks[tiling.of[g]];
      const auto add = [&](std::vector<int> group) {
        if (recorded) calls.recorded.push_back(group);
        calls.all.push_back(std::move(group));
      };
      const auto& group = tiling.groups[g];
      if (calls.operation != "send") {
        add(group);
        continue;
      }
      for (const auto& [instance, time] : instances)
        if (instance.communicator == in_order[tiling.of[g]])
          add({group[static_cast<std::size_t>(instance.members.first)],
               group[static_cast<std::size_t>(instance.members.second)]});
    }
  }
  return out;
}

}  // namespace linkcast::planning
