// Which nodes jobs get: by rule, or so that they stay together. See jobs.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "linkcast/planning/jobs.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {
namespace {

constexpr int unreachable = 1 << 20;

/// Switches between the first NICs of two machines: of one rail where rails have leaves of their own.
int switches_between(const topologies::Cluster& cluster, int a, int b) {
  const auto way = cluster.network().way(topologies::NicPlace{cluster.original_node(a), 0},
                                         topologies::NicPlace{cluster.original_node(b), 0});
  return way ? way->switches : unreachable;
}

/// Free nodes in the tree of parts, filled from the top.
class Compactor {
 public:
  explicit Compactor(const topologies::Cluster& cluster) : parts_{network_parts(cluster)} {
    free_.resize(static_cast<std::size_t>(cluster.nodes()));
    std::iota(free_.begin(), free_.end(), 0);
  }

  std::vector<int> take(int count) { return give(best(free_, parts_.size(), count)); }

  /// One node after the other, each of the leaf that has most left.
  std::vector<int> take_spread(int count) {
    std::map<int, std::vector<int>> leaves;
    for (const int n : free_) leaves[parts_.empty() ? 0 : parts_.front()[index(n)]].push_back(n);
    std::vector<int> chosen;
    for (int i = 0; i < count; ++i) {
      auto& leaf = std::ranges::max_element(leaves, {}, [](const auto& l) { return l.second.size(); })->second;
      chosen.push_back(leaf.front());
      leaf.erase(leaf.begin());
    }
    return give(std::move(chosen));
  }

 private:
  static std::size_t index(int n) { return static_cast<std::size_t>(n); }

  /// Takes them out, in the order of the tree.
  std::vector<int> give(std::vector<int> chosen) {
    std::ranges::sort(chosen, {}, [&](int n) {
      std::vector<int> key;
      for (auto level = parts_.rbegin(); level != parts_.rend(); ++level) key.push_back((*level)[index(n)]);
      key.push_back(n);
      return key;
    });
    std::set<int> gone(chosen.begin(), chosen.end());
    std::erase_if(free_, [&](int n) { return gone.contains(n); });
    return chosen;
  }

  /// `count` of the nodes: in the smallest part of the level below that has room; where none has, whole parts, the
  /// largest first, and for the rest the smallest that has room for it.
  std::vector<int> best(const std::vector<int>& nodes, std::size_t level, int count) const {
    if (static_cast<int>(nodes.size()) <= count) return nodes;
    if (level == 0) return {nodes.begin(), nodes.begin() + count};
    std::map<int, std::vector<int>> below;
    for (const int n : nodes) below[parts_[level - 1][index(n)]].push_back(n);
    std::vector<int> out;
    while (count > 0) {
      const std::vector<int>* fits = nullptr;
      const std::vector<int>* largest = nullptr;
      for (const auto& [part, free] : below) {
        if (static_cast<int>(free.size()) >= count && (fits == nullptr || free.size() < fits->size())) fits = &free;
        if (largest == nullptr || free.size() > largest->size()) largest = &free;
      }
      const auto& from = fits != nullptr ? *fits : *largest;
      const auto some = best(from, level - 1, std::min(count, static_cast<int>(from.size())));
      out.insert(out.end(), some.begin(), some.end());
      count -= static_cast<int>(some.size());
      below.erase(parts_[level - 1][index(from.front())]);
    }
    return out;
  }

  std::vector<std::vector<int>> parts_;
  std::vector<int> free_;
};

}  // namespace

std::vector<std::vector<int>> network_parts(const topologies::Cluster& cluster) {
  std::vector<std::vector<int>> out;
  if (cluster.network().empty()) return out;
  // Distances of a Clos network are those in a tree: what is as near to a part's first node as to be one with it is as
  // near to all of it. Elsewhere (a torus) parts are neighbourhoods.
  std::vector<int> firsts;            // of each part
  std::vector<std::vector<int>> far;  // by first node: switches to every node
  std::set<int> distances;
  const auto nodes = static_cast<std::size_t>(cluster.nodes());
  std::vector<int> leaf(nodes, -1);
  const auto distances_from = [&](int first) {
    std::vector<int> row(nodes);
    for (std::size_t n = 0; n < nodes; ++n)
      row[n] = static_cast<int>(n) == first ? 0 : switches_between(cluster, first, static_cast<int>(n));
    return row;
  };
  int nearest = unreachable;
  for (std::size_t n = 0; n < nodes; ++n) {
    if (leaf[n] >= 0) continue;
    const auto row = distances_from(static_cast<int>(n));
    for (std::size_t m = 0; m < nodes; ++m)
      if (m != n) nearest = std::min(nearest, row[m]);
    const auto part = static_cast<int>(firsts.size());
    for (std::size_t m = n; m < nodes; ++m)
      if (leaf[m] < 0 && (m == n || row[m] == nearest)) leaf[m] = part;
    for (std::size_t m = 0; m < nodes; ++m)
      if (m != n) distances.insert(row[m]);
    firsts.push_back(static_cast<int>(n));
    far.push_back(row);
  }
  if (firsts.size() < 2) return out;
  out.push_back(leaf);
  for (const int d : distances) {
    if (d <= nearest) continue;
    std::vector<int> of(firsts.size(), -1);
    int parts = 0;
    for (std::size_t p = 0; p < firsts.size(); ++p) {
      if (of[p] >= 0) continue;
      for (std::size_t q = p; q < firsts.size(); ++q)
        if (of[q] < 0 && far[p][static_cast<std::size_t>(firsts[q])] <= d) of[q] = parts;
      ++parts;
    }
    if (parts < 2) break;
    auto& level = out.emplace_back(nodes);
    for (std::size_t n = 0; n < nodes; ++n) level[n] = of[static_cast<std::size_t>(leaf[n])];
  }
  return out;
}

std::vector<std::vector<int>> place_jobs(const topologies::Cluster& cluster, std::span<const Wanted> jobs,
                                         std::span<const int> taken) {
  std::vector<bool> busy(static_cast<std::size_t>(cluster.nodes()), false);
  for (const int n : taken) busy[static_cast<std::size_t>(n)] = true;
  std::vector<std::vector<int>> out;
  for (const auto& job : jobs) {
    std::vector<int> free;
    for (int n = 0; n < cluster.nodes(); ++n)
      if (!busy[static_cast<std::size_t>(n)]) free.push_back(n);
    if (job.count > static_cast<int>(free.size()))
      throw sim::InputError(fmt::format("{} nodes of {} that are free", job.count, free.size()));
    auto& nodes = out.emplace_back();
    for (const int i : topologies::placed(cluster.job(free), job.count, job.placement, job.seed)) {
      nodes.push_back(free[static_cast<std::size_t>(i)]);
      busy[static_cast<std::size_t>(nodes.back())] = true;
    }
  }
  return out;
}

std::vector<std::vector<int>> compact_jobs(const topologies::Cluster& cluster, std::span<const int> counts,
                                           std::optional<std::size_t> spread) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return counts[i]; });
  Compactor compactor{cluster};
  std::vector<std::vector<int>> out(counts.size());
  for (const auto i : order)
    if (i != spread) out[i] = compactor.take(counts[i]);
  if (spread) out[*spread] = compactor.take_spread(counts[*spread]);
  return out;
}

}  // namespace linkcast::planning
