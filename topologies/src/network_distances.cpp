// See network_distances.hpp. NICs with the same leaf and the same cable are one spot; a search by breadth from a spot's
// leaf gives the way to all others. A NIC with several ports is represented by its first one that works.
#include "network_distances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "cluster_data.hpp"
#include "network_bisection.hpp"
#include "network_choice.hpp"
#include "network_tiers.hpp"
#include "network_ways.hpp"

namespace linkcast::topologies {
namespace {

/// Steps of all searches together; beyond, one leaf of each kind stands for the others.
constexpr double most_steps = 2e7;

struct Spot {
  std::uint32_t leaf = 0;
  sim::Time cable;
  std::int64_t nics = 0;
  NicPlace first, second;  // on different machines (the second only where there is one)
  bool several = false;    // machines
};

struct Reach {
  int switches = 0;  // 0: not reached
  int top = 0;       // the highest tier on the way
  sim::Time latency;
};

enum Relation : int { same_leaf = 1, same_group = 2, has_group = 4, same_rail = 8, has_rail = 16, other_plane = 32 };

class Counter {
 public:
  explicit Counter(const Cluster& c) : cluster_{c}, net_{c.network()}, d_{c.network().data()} {}

  Distances run() {
    find_spots();
    choose();
    for (std::size_t i = 0; i < chosen_.size(); ++i) from(chosen_[i], weight_[i]);
    write();
    straight_cables();
    return std::move(out_);
  }

 private:
  void find_spots() {
    std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint32_t> known;
    for (int i = 0; i < cluster_.nodes(); ++i) {
      const int node = cluster_.original_node(i);
      std::map<std::uint32_t, std::int64_t> mine;
      const auto nics = d_.first_nic[static_cast<std::size_t>(node) + 1] - d_.first_nic[static_cast<std::size_t>(node)];
      for (int nic = 0; nic < static_cast<int>(nics); ++nic) {
        const auto plugged = plug_of(node, nic);
        if (!plugged) continue;
        const auto& cable = d_.cables[plugged->arc / 2];
        const auto leaf = plugged->to - static_cast<std::uint32_t>(d_.places.size());
        const auto [at, fresh] = known.try_emplace({leaf, cable.model}, static_cast<std::uint32_t>(spots_.size()));
        if (fresh) spots_.push_back({leaf, d_.cable_models[cable.model].latency, 0, {node, nic}, {}, false});
        auto& spot = spots_[at->second];
        ++spot.nics;
        if (!spot.several && node != spot.first.node) spot.second = {node, nic}, spot.several = true;
        ++mine[at->second];
      }
      on_machine_.emplace_back(mine.begin(), mine.end());
    }
  }
  std::optional<Plug> plug_of(int node, int nic) const {
    for (const auto port : net_.ports_of(node, nic)) {
      const auto p = plug(d_, port);
      if (p && is_switch(net_, p->to)) return p;
    }
    return std::nullopt;
  }

  /// Every spot, or one of each kind with the number of its like.
  void choose() {
    chosen_.clear();
    const auto steps = static_cast<double>(spots_.size()) * static_cast<double>(d_.trunks.size() + d_.switches.size());
    if (steps <= most_steps) {
      for (std::uint32_t s = 0; s < spots_.size(); ++s) chosen_.push_back(s);
      weight_.assign(spots_.size(), 1.0);
      return;
    }
    out_.exact = false;
    std::vector<std::uint64_t> labels(d_.switches.size());
    for (std::size_t s = 0; s < labels.size(); ++s) labels[s] = d_.switches[s].tier;
    for (const auto& s : spots_)
      labels[s.leaf] +=
          scramble(static_cast<std::uint64_t>(s.nics) * 1'000'003 + static_cast<std::uint64_t>(s.cable.ps()));
    const auto classes = alike_switches(d_, std::move(labels));
    std::map<std::pair<std::uint32_t, sim::Time>, std::size_t> known;
    for (std::uint32_t s = 0; s < spots_.size(); ++s) {
      const auto [at, fresh] = known.try_emplace({classes[spots_[s].leaf], spots_[s].cable}, chosen_.size());
      if (fresh) chosen_.push_back(s), weight_.push_back(0);
      weight_[at->second] += 1;
    }
  }

  void search(std::uint32_t leaf) {
    reach_.assign(d_.switches.size(), {});
    const auto transit = [&](std::uint32_t s) { return d_.switch_models[d_.switches[s].model].latency; };
    reach_[leaf] = {1, d_.switches[leaf].tier, transit(leaf)};
    queue_.assign(1, leaf);
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const auto at = queue_[i];
      const auto here = reach_[at];
      for (const auto& t : d_.trunks_of(at)) {
        auto& there = reach_[t.to];
        const auto latency = here.latency + d_.cable_models[d_.cables[t.arc / 2].model].latency + transit(t.to);
        if (there.switches == 0) {
          there = {here.switches + 1, std::max<int>(here.top, d_.switches[t.to].tier), latency};
          queue_.push_back(t.to);
        } else if (there.switches == here.switches + 1) {
          there.latency = std::min(there.latency, latency);
        }
      }
    }
  }

  void from(std::uint32_t from, double weight) {
    search(spots_[from].leaf);
    std::unordered_map<std::uint32_t, std::int64_t> same_machine;  // pairs that do not need the network
    for (const auto& machine : on_machine_) {
      const auto mine = std::ranges::find(machine, from, &std::pair<std::uint32_t, std::int64_t>::first);
      if (mine == machine.end()) continue;
      for (const auto& [spot, nics] : machine) same_machine[spot] += mine->second * nics;
    }
    const auto& a = spots_[from];
    for (std::uint32_t to = 0; to < spots_.size(); ++to) {
      const auto& b = spots_[to];
      const auto same = same_machine.find(to);
      const auto pairs = a.nics * b.nics - (same == same_machine.end() ? 0 : same->second);
      if (pairs <= 0) continue;
      const auto& reach = reach_[b.leaf];
      const auto latency = reach.switches > 0 ? a.cable + reach.latency + b.cable : sim::Time{};
      const auto [at, fresh] =
          rows_.try_emplace({reach.switches == 0, reach.switches, latency, -relation(a, b), reach.top});
      at->second.first += static_cast<double>(pairs) * weight / 2;  // each pair is seen from both ends
      if (fresh) at->second.second = example(a, b);
    }
  }

  int relation(const Spot& a, const Spot& b) const {
    const auto& x = d_.switches[a.leaf];
    const auto& y = d_.switches[b.leaf];
    if (a.leaf == b.leaf) return same_leaf;
    int out = 0;
    if (x.group >= 0 && y.group >= 0) out |= has_group | (x.group == y.group ? same_group : 0);
    if (x.rail >= 0 && y.rail >= 0) out |= has_rail | (x.rail == y.rail ? same_rail : 0);
    if (x.plane >= 0 && y.plane >= 0 && x.plane != y.plane) out |= other_plane;
    return out;
  }
  std::string name(NicPlace p) const {
    const auto port = end_name(cluster_, static_cast<std::uint32_t>(net_.ports_of(p.node, p.nic).front()));
    return port.substr(0, port.find(".port["));
  }
  std::string example(const Spot& a, const Spot& b) {
    const auto& to = b.first.node != a.first.node ? b.first : b.second;
    return name(a.first.node != to.node ? a.first : a.second) + " - " + name(to);
  }

  std::string name(int relation, int top) const {
    const auto leaf = tier_name(net_, 0);
    if ((relation & same_leaf) != 0) return "same " + leaf;
    std::vector<std::string> parts;
    const bool rails = (relation & has_rail) != 0;
    const bool dragonfly = net_.generator() == "dragonfly";
    // Where machines have one leaf, a unit is that leaf.
    if ((relation & has_group) != 0 && (rails || dragonfly))
      parts.push_back(
          fmt::format("{} {}", (relation & same_group) != 0 ? "same" : "other", dragonfly ? "group" : "unit"));
    if (rails) parts.emplace_back((relation & same_rail) != 0 ? "same rail" : "other rail");
    if ((relation & other_plane) != 0) parts.emplace_back("other plane");
    if (parts.empty()) parts.push_back("other " + leaf);
    if (top > 0) parts.push_back("over " + tier_name(net_, top));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  void write() {
    for (const auto& [key, value] : rows_) {
      const auto& [unreachable, switches, latency, relation, top] = key;
      DistanceRow row;
      row.way = name(-relation, top);
      row.pairs = value.first;
      row.example = value.second;
      row.reachable = !unreachable;
      row.switches = switches;
      row.latency = latency;
      out_.rows.push_back(std::move(row));
    }
  }

  void straight_cables() {
    std::map<sim::Time, DistanceRow> rows;
    for (const auto& c : d_.cables) {
      if (is_switch(net_, c.a) || is_switch(net_, c.b) || !c.up) continue;
      const auto latency = d_.cable_models[c.model].latency;
      auto& row = rows[latency];
      if (row.pairs == 0) row.example = end_name(cluster_, c.a) + " - " + end_name(cluster_, c.b);
      row.pairs += 1;
      row.way = "one cable";
      row.reachable = true;
      row.latency = latency;
    }
    for (auto& [latency, row] : rows) out_.rows.push_back(std::move(row));
  }

  const Cluster& cluster_;
  const Network& net_;
  const Network::Data& d_;
  std::vector<Spot> spots_;
  std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> on_machine_;
  std::vector<std::uint32_t> chosen_, queue_;
  std::vector<double> weight_;
  std::vector<Reach> reach_;
  /// By (no way, switches, latency, -relation, top): pairs and an example. The more two leaves share, the earlier.
  std::map<std::tuple<bool, int, sim::Time, int, int>, std::pair<double, std::string>> rows_;
  Distances out_;
};

}  // namespace

Distances distances_of(const Cluster& cluster) {
  if (cluster.network().empty()) return {};
  return Counter{cluster}.run();
}

}  // namespace linkcast::topologies
