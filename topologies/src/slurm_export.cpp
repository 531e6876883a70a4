// See slurm_export.hpp.
#include "linkcast/topologies/slurm_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "host_list.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "natural_order.hpp"

namespace linkcast::topologies {
namespace {

using Index = std::size_t;

class Sets {
 public:
  explicit Sets(Index n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), Index{0}); }
  Index root(Index i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void merge(Index a, Index b) {
    const auto x = root(a), y = root(b);
    parent_[std::max(x, y)] = std::min(x, y);  // the first switch of a set stands for it
  }

 private:
  std::vector<Index> parent_;
};

class Exporter {
 public:
  explicit Exporter(const Cluster& c) : cluster_{c}, net_{c.network()}, sets_{c.network().switches().size()} {}

  std::string text() {
    if (net_.empty() || net_.switches().empty()) {
      throw sim::InputError(fmt::format("'{}' has no network between machines", cluster_.name()),
                            "topology.conf describes a cluster: add 'nodes' and 'network'");
    }
    below_ = std::vector<std::vector<Index>>(net_.switches().size());
    leaves();
    upper_tiers();
    trim();
    return write();
  }

 private:
  bool nic(std::uint32_t end) const { return end < net_.ports(); }
  Index network_switch(std::uint32_t end) const { return end - net_.ports(); }
  int tier(Index s) const { return net_.switches()[s].tier; }

  /// Leaves that share a host are one. A host on a higher switch (a management server) hangs there.
  void leaves() {
    std::vector<int> first(static_cast<Index>(cluster_.nodes()), -1);
    std::map<std::uint32_t, int> node_of;  // number in the whole cluster -> node of this job
    for (int n = 0; n < cluster_.nodes(); ++n) node_of[static_cast<std::uint32_t>(cluster_.original_node(n))] = n;
    for (const auto& c : net_.cables()) {
      const auto end = nic(c.a) ? c.a : c.b;
      const auto other = nic(c.a) ? c.b : c.a;
      if (!nic(end) || nic(other)) continue;
      const auto known = node_of.find(static_cast<std::uint32_t>(net_.place(PortId{end}).node));
      if (known == node_of.end()) continue;
      auto& leaf = first[static_cast<Index>(known->second)];
      const auto s = network_switch(other);
      if (leaf < 0) {
        leaf = static_cast<int>(s);
      } else if (tier(s) == tier(static_cast<Index>(leaf))) {
        sets_.merge(s, static_cast<Index>(leaf));
      } else if (tier(s) < tier(static_cast<Index>(leaf))) {
        leaf = static_cast<int>(s);
      }
    }
    hosts_.resize(net_.switches().size());
    for (int n = 0; n < cluster_.nodes(); ++n) {
      const auto leaf = first[static_cast<Index>(n)];
      if (leaf < 0) {
        alone_.push_back(host(n));
      } else {
        hosts_[sets_.root(static_cast<Index>(leaf))].push_back(host(n));
      }
    }
  }

  /// Tier by tier: two switches that serve the same set below are one, and a set that is served by several is theirs
  /// together. What is left is a tree.
  void upper_tiers() {
    int top = 0;
    for (const auto& s : net_.switches()) top = std::max(top, int{s.tier});
    std::vector<std::vector<std::pair<Index, Index>>> cables(static_cast<Index>(top) + 1);  // by the higher tier
    for (const auto& c : net_.cables()) {
      if (nic(c.a) || nic(c.b)) continue;
      auto low = network_switch(c.a), high = network_switch(c.b);
      if (tier(low) > tier(high)) std::swap(low, high);
      cables[static_cast<Index>(tier(high))].emplace_back(low, high);
    }
    for (Index t = 0; t < cables.size(); ++t) {
      // One parent for each set below: its switches above are one.
      std::map<Index, Index> parent;
      for (const auto& [low, high] : cables[t]) {
        if (tier(low) == tier(high)) {
          sets_.merge(low, high);  // a torus, a dragonfly group: no tree, one switch
          continue;
        }
        const auto [known, added] = parent.try_emplace(sets_.root(low), high);
        if (!added) sets_.merge(known->second, high);
      }
    }
    std::vector<std::vector<std::string>> hosts(net_.switches().size());
    for (Index s = 0; s < hosts_.size(); ++s) {
      auto& to = hosts[sets_.root(s)];
      to.insert(to.end(), hosts_[s].begin(), hosts_[s].end());
    }
    hosts_ = std::move(hosts);
    std::set<Index> has_parent;
    for (const auto& tier_cables : cables) {
      for (const auto& [low, high] : tier_cables) {
        const auto l = sets_.root(low), h = sets_.root(high);
        if (l == h || !has_parent.insert(l).second) continue;
        below_[h].push_back(l);
      }
    }
  }

  /// Without what has no host below.
  void trim() {
    std::vector<Index> order(net_.switches().size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return tier(a) < tier(b); });
    alive_.assign(net_.switches().size(), false);
    for (const auto s : order) {
      if (sets_.root(s) != s) continue;
      std::erase_if(below_[s], [&](Index b) { return !alive_[b]; });
      alive_[s] = !hosts_[s].empty() || !below_[s].empty();
    }
  }

  std::string write() const {
    std::string out = "# " + cluster_.name() + ": written by `linkcast topo export --format slurm`\n";
    std::vector<Index> order;
    for (Index s = 0; s < alive_.size(); ++s) {
      if (alive_[s]) order.push_back(s);
    }
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return tier(a) > tier(b); });
    for (const auto s : order) {
      std::vector<std::string> names;
      for (const auto b : below_[s]) names.push_back(name(b));
      std::sort(names.begin(), names.end(), natural_less);
      // A switch has either: hosts on a switch with others below it hang on a switch of their own there.
      const auto extra = name(s) + "-hosts";
      if (!names.empty()) {
        if (!hosts_[s].empty()) names.push_back(extra);
        out += fmt::format("SwitchName={} Switches={}\n", name(s), host_list(names));
      }
      if (!hosts_[s].empty()) {
        out += fmt::format("SwitchName={} Nodes={}\n", names.empty() ? name(s) : extra, host_list(hosts_[s]));
      }
    }
    for (const auto& h : alone_) out += fmt::format("# {} has no cable\n", h);
    return out;
  }

  /// "leaf[3]" is no name in Slurm, where brackets stand for many.
  static std::string plain(std::string text) {
    std::string out;
    for (const char c : text) {
      if (c == '[' || c == ']') continue;
      out += name_character(c) ? c : '-';
    }
    return out;
  }
  std::string name(Index s) const { return plain(net_.name_of(SwitchId{static_cast<std::uint32_t>(s)})); }
  std::string host(int node) const { return plain(cluster_.node_name(node)); }

  const Cluster& cluster_;
  const Network& net_;
  Sets sets_;
  std::vector<std::vector<Index>> below_;
  std::vector<std::vector<std::string>> hosts_;  // by switch that stands for its set
  std::vector<std::string> alone_;
  std::vector<bool> alive_;
};

}  // namespace

std::string to_slurm_topology(const Cluster& cluster) { return Exporter{cluster}.text(); }

}  // namespace linkcast::topologies
