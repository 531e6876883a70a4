// See network_ways.hpp.
#include "network_ways.hpp"

#include <algorithm>

namespace linkcast::topologies {
namespace {

using Cache = Network::Data::WayCache;

/// 64 MB of kept ways.
constexpr std::size_t max_kept_arcs = std::size_t{4} << 20;

class Search {
 public:
  Search(const Network::Data& d, Cache& cache) : d_{d}, c_{cache}, id_{++cache.search} {
    for (auto* side : {&c_.from_a, &c_.from_b, &c_.on_way}) {
      side->stamp.resize(d.switches.size(), 0);
      side->level.resize(d.switches.size());
      side->levels.clear();
    }
    c_.position.resize(d.switches.size());
  }

  std::shared_ptr<const Ways> run(std::uint32_t a, std::uint32_t b) {
    start(c_.from_a, a);
    start(c_.from_b, b);
    if (a != b && !meet()) return nullptr;
    mark();
    return graph();
  }

 private:
  void start(Cache::Side& side, std::uint32_t sw) {
    side.levels.push_back({sw});
    side.stamp[sw] = id_;
    side.level[sw] = 0;
  }

  void expand(Cache::Side& side) {
    std::vector<std::uint32_t> next;
    const auto level = static_cast<std::uint32_t>(side.levels.size());
    for (const auto u : side.levels.back()) {
      for (const auto& t : d_.trunks_of(u)) {
        if (side.stamp[t.to] == id_) continue;
        side.stamp[t.to] = id_;
        side.level[t.to] = level;
        next.push_back(t.to);
      }
    }
    side.levels.push_back(std::move(next));
  }

  /// Whole levels from the side with fewer switches to go on from. Before a level is added no switch has been reached
  /// from both sides, so that the first that has lies at the last level of either: the distance is their sum.
  bool meet() {
    for (;;) {
      auto& side = c_.from_a.levels.back().size() <= c_.from_b.levels.back().size() ? c_.from_a : c_.from_b;
      const auto& other = &side == &c_.from_a ? c_.from_b : c_.from_a;
      expand(side);
      const auto& reached = side.levels.back();
      if (reached.empty()) return false;
      if (std::ranges::any_of(reached, [&](auto u) { return other.stamp[u] == id_; })) return true;
    }
  }

  bool on_way(std::uint32_t sw, std::uint32_t level) const {
    return c_.on_way.stamp[sw] == id_ && c_.on_way.level[sw] == level;
  }

  /// The switches on a shortest way, by distance from a: from the meeting level back to a, then on to b.
  void mark() {
    const auto to_meeting = static_cast<std::uint32_t>(c_.from_a.levels.size() - 1);
    const auto length = to_meeting + static_cast<std::uint32_t>(c_.from_b.levels.size() - 1);
    auto& way = c_.on_way;
    way.levels.resize(length + 1);
    const auto take = [&](std::uint32_t u, std::uint32_t level) {
      if (way.stamp[u] == id_) return;
      way.stamp[u] = id_;
      way.level[u] = level;
      way.levels[level].push_back(u);
    };
    const auto last_b = static_cast<std::uint32_t>(c_.from_b.levels.size() - 1);
    for (const auto u : c_.from_a.levels.back()) {
      if (c_.from_b.stamp[u] == id_ && c_.from_b.level[u] == last_b) take(u, to_meeting);
    }
    const auto follow = [&](std::uint32_t level, std::uint32_t next_level, const Cache::Side& side,
                            std::uint32_t wanted) {
      for (const auto u : way.levels[level]) {
        for (const auto& t : d_.trunks_of(u)) {
          if (side.stamp[t.to] == id_ && side.level[t.to] == wanted) take(t.to, next_level);
        }
      }
    };
    for (auto l = to_meeting; l > 0; --l) follow(l, l - 1, c_.from_a, l - 1);
    for (auto l = to_meeting; l < length; ++l) follow(l, l + 1, c_.from_b, length - l - 1);
  }

  std::shared_ptr<const Ways> graph() {
    auto ways = std::make_shared<Ways>();
    for (const auto& level : c_.on_way.levels) {
      for (const auto u : level) {
        c_.position[u] = static_cast<std::uint32_t>(ways->nodes.size());
        ways->nodes.push_back({u, 0});
      }
    }
    std::vector<double> inflow(ways->nodes.size(), 0.0);
    std::vector<sim::Time> latency(ways->nodes.size(), sim::Time::max());
    const auto transit = [&](std::uint32_t sw) { return d_.switch_models[d_.switches[sw].model].latency; };
    inflow[0] = 1.0;
    latency[0] = transit(ways->nodes[0].sw);
    for (std::size_t n = 0; n < ways->nodes.size(); ++n) {
      auto& node = ways->nodes[n];
      node.first = static_cast<std::uint32_t>(ways->arcs.size());
      const auto level = c_.on_way.level[node.sw];
      int cables = 0;
      for (const auto& t : d_.trunks_of(node.sw)) {
        if (!on_way(t.to, level + 1)) continue;
        const auto& cable = d_.cables[t.arc / 2];
        cables += cable.count;
        ways->arcs.push_back({t.arc, c_.position[t.to], static_cast<double>(cable.count)});
        const auto at = latency[n] + d_.cable_models[cable.model].latency + transit(t.to);
        latency[c_.position[t.to]] = std::min(latency[c_.position[t.to]], at);
      }
      for (auto i = node.first; i < ways->arcs.size(); ++i) {
        auto& arc = ways->arcs[i];
        arc.share = inflow[n] * arc.share / cables;
        inflow[arc.to] += arc.share;
      }
    }
    ways->way = {static_cast<int>(c_.on_way.levels.size()), latency.back()};
    return ways;
  }

  const Network::Data& d_;
  Cache& c_;
  std::uint32_t id_;
};

}  // namespace

std::shared_ptr<const Ways> ways_between(const Network::Data& d, std::uint32_t a, std::uint32_t b) {
  auto& cache = *d.cache;
  const std::scoped_lock lock{cache.mutex};
  const auto key = (std::uint64_t{a} << 32) | b;
  if (const auto known = cache.between.find(key); known != cache.between.end()) return known->second;
  auto ways = Search{d, cache}.run(a, b);
  const auto size = 8 + (ways ? ways->arcs.size() + ways->nodes.size() : 0);
  if (cache.arcs + size > max_kept_arcs) {
    cache.between.clear();
    cache.arcs = 0;
  }
  cache.arcs += size;
  cache.between.emplace(key, ways);
  return ways;
}

std::optional<Plug> plug(const Network::Data& d, PortId port) {
  const auto end = d.end(port);
  for (auto i = d.first_arc[end]; i < d.first_arc[end + 1]; ++i) {
    const auto& c = d.cables[d.arcs[i] / 2];
    const auto to = (d.arcs[i] & 1) != 0 ? c.a : c.b;
    if (!c.up || (to >= d.places.size() && !d.switches[to - d.places.size()].up)) continue;
    return Plug{d.arcs[i], to};
  }
  return std::nullopt;
}

}  // namespace linkcast::topologies
