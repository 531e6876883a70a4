// A link that is stopped or has no credit waits for the packets that came over it and still are in the node behind it;
// those wait in the queues of that node's links. A circle among such links is a deadlock.
#include "waits.hpp"

#include <algorithm>

namespace linkcast::sim::packet {

std::vector<LinkId> waiting_cycle(const World& world, const std::vector<const Partition*>& parts) {
  const auto links = static_cast<std::uint32_t>(world.outs.size());
  std::vector<std::vector<std::uint32_t>> waits(links);  // for what waits behind them
  for (std::uint32_t out = 0; out < links; ++out) {
    if (world.outs[out].packets == 0 || world.outs[out].blocked_since < 0) continue;
    const Partition& part = *parts[world.wires[out].from_part];
    for (std::uint32_t v = 0; v < world.lanes; ++v) {
      const LaneQueue& q = world.queues[out * world.lanes + v];
      for (std::uint32_t i = 0; i < q.count; ++i) {
        const auto in = part.packet(q.at(i).packet).link;
        if (in == nil || world.outs[in].blocked_since < 0) continue;
        if (waits[in].empty() || waits[in].back() != out) waits[in].push_back(out);
      }
    }
  }
  std::vector<std::uint8_t> seen(links);  // 1: on the path, 2: leads nowhere
  std::vector<std::pair<std::uint32_t, std::size_t>> path;
  for (std::uint32_t start = 0; start < links; ++start) {
    if (seen[start] != 0) continue;
    path.assign(1, {start, 0});
    seen[start] = 1;
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (next == waits[at].size()) {
        seen[at] = 2;
        path.pop_back();
        continue;
      }
      const auto to = waits[at][next++];
      if (seen[to] == 2) continue;
      if (seen[to] == 1) {
        std::vector<LinkId> cycle;
        const auto from = std::ranges::find(path, to, [](const auto& x) { return x.first; });
        for (auto it = from; it != path.end(); ++it) cycle.push_back(LinkId{it->first});
        return cycle;
      }
      seen[to] = 1;
      path.emplace_back(to, 0);
    }
  }
  return {};
}

}  // namespace linkcast::sim::packet
