// See import_shape.hpp. Everything here is a breadth-first search or a count; time grows with the cables (and with the
// square of one host's NICs).
#include "import_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "natural_order.hpp"

namespace linkcast::topologies {
namespace {

using Index = std::size_t;
Index at(int i) { return static_cast<Index>(i); }

/// Sets that are merged; who is together is asked afterwards.
class Sets {
 public:
  explicit Sets(Index n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), Index{0}); }
  Index root(Index i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void merge(Index a, Index b) { parent_[root(a)] = root(b); }

 private:
  std::vector<Index> parent_;
};

class Shape {
 public:
  Shape(ImportedNetwork& network, const std::vector<int>& adapters, ImportNotes& notes)
      : net_{network}, adapters_{adapters}, notes_{notes}, beside_(network.switches.size()) {
    for (const auto& c : net_.cables) {
      if (c.from.host >= 0 || c.to.host >= 0) continue;
      beside_[at(c.from.network_switch)].push_back(c.to.network_switch);
      beside_[at(c.to.network_switch)].push_back(c.from.network_switch);
    }
    for (auto& b : beside_) {
      std::sort(b.begin(), b.end());
      b.erase(std::unique(b.begin(), b.end()), b.end());
    }
  }

  void tiers() {
    std::vector<int> front;
    for (Index s = 0; s < net_.switches.size(); ++s) {
      auto& tier = net_.switches[s].tier;
      tier = leaf(s) ? 0 : -1;
      if (tier == 0) front.push_back(static_cast<int>(s));
    }
    for (int tier = 1; !front.empty(); ++tier) {
      std::vector<int> next;
      for (const int s : front) {
        for (const int other : beside_[at(s)]) {
          if (net_.switches[at(other)].tier >= 0) continue;
          net_.switches[at(other)].tier = std::min(tier, 15);  // a topology file has no higher one
          next.push_back(other);
        }
      }
      front = std::move(next);
    }
    std::vector<std::string> lost;
    for (auto& s : net_.switches) {
      if (s.tier < 0) lost.push_back(s.name);
    }
    if (!lost.empty()) {
      notes_.lack(fmt::format("what {} {} for: no host is reached through {}", some_of(lost),
                              lost.size() == 1 ? "is" : "are", lost.size() == 1 ? "it" : "them"));
    }
  }

  void rails() {
    if (net_.nic_names.size() < 2) return;
    std::vector<std::vector<int>> per(net_.switches.size());
    for (const auto& c : net_.cables) {
      const auto& host = c.from.host >= 0 ? c.from : c.to;
      const auto& other = c.from.host >= 0 ? c.to : c.from;
      if (host.host < 0 || host.nic < 0) continue;
      auto& counts = per[at(other.network_switch)];
      counts.resize(std::max(counts.size(), at(host.nic) + 1));
      counts[at(host.nic)] += c.count;
    }
    for (Index s = 0; s < per.size(); ++s) {
      const int all = std::accumulate(per[s].begin(), per[s].end(), 0);
      const auto most = std::max_element(per[s].begin(), per[s].end());
      // Three quarters: some cables are in the wrong socket in every large room.
      if (all > 0 && net_.switches[s].tier == 0 && *most * 4 >= all * 3) {
        net_.switches[s].rail = static_cast<int>(most - per[s].begin());
      }
    }
  }

  void groups() {
    if (!groups_by_hosts()) groups_below_the_top();
    // A switch above belongs to a group when all below it do.
    std::vector<Index> order(net_.switches.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return net_.switches[a].tier < net_.switches[b].tier; });
    for (const auto s : order) {
      auto& own = net_.switches[s];
      if (own.tier <= 0 || own.group >= 0) continue;
      int group = -2;
      for (const int other : beside_[s]) {
        const auto& below = net_.switches[at(other)];
        if (below.tier >= own.tier) continue;
        group = group == -2 || group == below.group ? below.group : -1;
      }
      own.group = std::max(group, -1);
    }
  }

 private:
  /// A switch with hosts is a leaf, unless most switches around it have far more of them: a management server that is
  /// plugged into a spine makes no leaf of it.
  bool leaf(Index s) const {
    if (adapters_[s] == 0) return false;
    const auto fuller = std::count_if(beside_[s].begin(), beside_[s].end(),
                                      [&](int other) { return adapters_[at(other)] > 4 * adapters_[s]; });
    return beside_[s].empty() || 2 * fuller <= static_cast<std::ptrdiff_t>(beside_[s].size());
  }

  /// Leaves that serve the same hosts, one for each rail, are a scalable unit. Two leaves belong together when they
  /// share a quarter of the hosts of the one with fewer. False when every leaf stands alone.
  bool groups_by_hosts() {
    std::vector<std::vector<int>> leaves(net_.hosts.size());
    for (const auto& c : net_.cables) {
      const auto& host = c.from.host >= 0 ? c.from : c.to;
      const auto& other = c.from.host >= 0 ? c.to : c.from;
      if (host.host >= 0) leaves[at(host.host)].push_back(other.network_switch);
    }
    std::vector<int> hosts_of(net_.switches.size());
    std::unordered_map<std::uint64_t, int> shared;
    for (auto& l : leaves) {
      std::sort(l.begin(), l.end());
      l.erase(std::unique(l.begin(), l.end()), l.end());
      if (l.size() > most_leaves_of_a_host) l.resize(most_leaves_of_a_host);
      for (Index i = 0; i < l.size(); ++i) {
        ++hosts_of[at(l[i])];
        for (Index k = i + 1; k < l.size(); ++k) {
          ++shared[static_cast<std::uint64_t>(l[i]) << 32 | static_cast<std::uint32_t>(l[k])];
        }
      }
    }
    Sets sets{net_.switches.size()};
    bool any = false;
    for (const auto& [pair, n] : shared) {
      const auto a = static_cast<Index>(pair >> 32), b = static_cast<Index>(pair & 0xffffffffu);
      if (net_.switches[a].tier != 0 || net_.switches[b].tier != 0) continue;
      if (4 * n < std::min(hosts_of[a], hosts_of[b])) continue;
      sets.merge(a, b);
      any = true;
    }
    if (any) number(sets, [](const ImportedSwitch& s) { return s.tier == 0; });
    return any;
  }

  /// Pods: what holds together without the switches of the highest tier.
  void groups_below_the_top() {
    int top = 0;
    for (const auto& s : net_.switches) top = std::max(top, s.tier);
    if (top < 2) return;
    Sets sets{net_.switches.size()};
    for (Index s = 0; s < beside_.size(); ++s) {
      for (const int other : beside_[s]) {
        if (net_.switches[s].tier < top && net_.switches[at(other)].tier < top) sets.merge(s, at(other));
      }
    }
    number(sets, [&](const ImportedSwitch& s) { return s.tier >= 0 && s.tier < top; });
  }

  /// Groups count from 0 in the order of the names of their first switches. One group of all says nothing.
  template <class Pick>
  void number(Sets& sets, Pick pick) {
    std::vector<Index> order;
    for (Index s = 0; s < net_.switches.size(); ++s) {
      if (pick(net_.switches[s])) order.push_back(s);
    }
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return natural_less(net_.switches[a].name, net_.switches[b].name); });
    std::unordered_map<Index, int> numbers;
    for (const auto s : order) {
      net_.switches[s].group = numbers.try_emplace(sets.root(s), static_cast<int>(numbers.size())).first->second;
    }
  }

  static constexpr Index most_leaves_of_a_host = 64;  // more and the pairs of a forged file would fill the memory

  ImportedNetwork& net_;
  const std::vector<int>& adapters_;
  ImportNotes& notes_;
  std::vector<std::vector<int>> beside_;  // by switch: switches that it has cables to, each once
};

auto key(const ImportedEnd& e) { return std::tuple{e.host < 0, e.host, e.nic, e.port, e.network_switch}; }
auto key(const ImportedCable& c) { return std::tuple{key(c.from), key(c.to), std::string_view{c.rate}, c.up}; }

}  // namespace

void find_shape(ImportedNetwork& network, const std::vector<int>& adapters, ImportNotes& notes) {
  Shape shape{network, adapters, notes};
  shape.tiers();
  shape.rails();
  shape.groups();
}

void put_in_order(ImportedNetwork& network) {
  auto& switches = network.switches;
  std::vector<int> order(switches.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) {
    const auto &a = switches[at(x)], &b = switches[at(y)];
    if (a.tier != b.tier) return static_cast<unsigned>(a.tier) < static_cast<unsigned>(b.tier);  // -1 last
    return natural_less(a.name, b.name);
  });
  std::vector<int> now(switches.size());
  std::vector<ImportedSwitch> sorted;
  sorted.reserve(switches.size());
  for (const int s : order) {
    now[at(s)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(switches[at(s)]));
  }
  switches = std::move(sorted);

  for (auto& c : network.cables) {
    for (auto* e : {&c.from, &c.to}) {
      if (e->network_switch >= 0) e->network_switch = now[at(e->network_switch)];
    }
    // From the end nearer to the machines; switches are in the order of their tiers.
    if (c.to.host >= 0 || (c.from.host < 0 && c.from.network_switch > c.to.network_switch)) std::swap(c.from, c.to);
  }
  std::stable_sort(network.cables.begin(), network.cables.end(),
                   [](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<ImportedCable> merged;
  for (auto& c : network.cables) {
    if (!merged.empty() && key(merged.back()) == key(c) && merged.back().count < 4096) {
      merged.back().count += c.count;
    } else {
      merged.push_back(std::move(c));
    }
  }
  network.cables = std::move(merged);
}

std::string some_of(const std::vector<std::string>& names, std::size_t longest) {
  if (names.size() <= longest + 1) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more",
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(longest), ", "),
                     names.size() - longest);
}

std::string counted(std::size_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace linkcast::topologies
