// See sketch.hpp.
#include "sketch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "check_network.hpp"
#include "cluster_data.hpp"
#include "machine_kinds.hpp"
#include "network_tiers.hpp"

namespace linkcast::topologies {
namespace {

/// Broken things that are drawn by themselves, of each tier.
constexpr std::size_t most_odd = 3;

std::string plural(const std::string& tier, int n) {
  if (n == 1) return tier;
  if (tier == "leaf") return "leaves";
  return tier == "switch" ? "switches" : tier + "s";
}

class Folder {
 public:
  Folder(const Cluster& c, const SketchLimits& limits) : c_{c}, n_{c.network()}, d_{n_.data()}, limits_{limits} {}

  Sketch run() {
    find_odd();
    machines();
    if (!n_.empty()) {
      neighbours();
      std::set<int> tiers;
      for (const auto& s : d_.switches) tiers.insert(s.tier);
      for (const int t : tiers) switches(t);
      out_.tiers.assign(tiers.begin(), tiers.end());
      bundles();
    }
    return std::move(out_);
  }

 private:
  bool slow(const Cable& c) const { return d_.cable_models[c.model].state != "up"; }

  void find_odd() {
    odd_node_.assign(static_cast<std::size_t>(c_.nodes()), false);
    odd_switch_.assign(d_.switches.size(), false);
    const int usual = usual_kind(c_);
    for (int i = 0; i < c_.nodes(); ++i) {
      node_of_[c_.original_node(i)] = i;
      odd_node_[static_cast<std::size_t>(i)] = c_.kind_of(i) != usual;
    }
    for (std::size_t s = 0; s < d_.switches.size(); ++s) odd_switch_[s] = !d_.switches[s].up;
    for (const auto& c : d_.cables) {
      if (c.up && !slow(c)) continue;
      if (is_switch(n_, c.a)) {
        odd_switch_[switch_of(n_, c.a)] = true;
        if (is_switch(n_, c.b)) odd_switch_[switch_of(n_, c.b)] = true;
      } else if (const auto at = node_of_.find(d_.places[c.a].node); at != node_of_.end()) {
        odd_node_[static_cast<std::size_t>(at->second)] = true;
      }
    }
  }

  void machines() {
    std::vector<int> shown;
    std::size_t odd = 0;
    const bool all = c_.nodes() <= limits_.machines;
    for (int i = 0; i < c_.nodes(); ++i) {
      const bool is_odd = odd_node_[static_cast<std::size_t>(i)];
      if (all || i < 2 || (is_odd && odd++ < most_odd)) shown.push_back(i);
    }
    box_of_node_.assign(static_cast<std::size_t>(c_.nodes()), 0);
    for (const int i : shown) {
      Sketch::Box b;
      b.first = i;
      b.name = c_.node_name(i);
      b.odd = odd_node_[static_cast<std::size_t>(i)];
      b.model = fmt::format("{} GPUs", c_.gpus_per_node());
      box_of_node_[static_cast<std::size_t>(i)] = out_.boxes.size();
      out_.boxes.push_back(std::move(b));
    }
    const int rest = c_.nodes() - static_cast<int>(shown.size());
    if (rest == 0) return;
    Sketch::Box b;
    b.count = rest;
    b.name = fmt::format("{} more machines", rest);
    b.model = fmt::format("{} GPUs", rest * c_.gpus_per_node());
    int next = 0;
    for (int i = 0; i < c_.nodes(); ++i) {
      if (next < static_cast<int>(shown.size()) && shown[static_cast<std::size_t>(next)] == i) {
        ++next;
        continue;
      }
      if (b.first == 0) b.first = i;
      box_of_node_[static_cast<std::size_t>(i)] = out_.boxes.size();
    }
    if (rest == 1) b.name = c_.node_name(b.first);
    out_.boxes.push_back(std::move(b));
  }

  /// Switches above (or beside) each one, and those that shown machines are plugged into.
  void neighbours() {
    wanted_.assign(d_.switches.size(), false);
    above_.resize(d_.switches.size());
    for (const auto& c : d_.cables) {
      if (!is_switch(n_, c.b)) continue;
      const auto b = switch_of(n_, c.b);
      if (is_switch(n_, c.a)) {
        auto low = switch_of(n_, c.a), high = b;
        if (d_.switches[low].tier > d_.switches[high].tier) std::swap(low, high);
        above_[low].push_back(high);
        if (d_.switches[low].tier == d_.switches[high].tier) above_[high].push_back(low);
      } else if (const auto at = node_of_.find(d_.places[c.a].node); at != node_of_.end()) {
        const auto box = box_of_node_[static_cast<std::size_t>(at->second)];
        if (out_.boxes[box].count == 1) wanted_[b] = true;
      }
    }
  }

  void switches(int tier) {
    std::vector<std::size_t> all, shown;
    for (std::size_t s = 0; s < d_.switches.size(); ++s) {
      if (d_.switches[s].tier == tier) all.push_back(s);
    }
    // Leaves of the machines that are drawn: twice the limit, as two planes of eight rails have 16.
    const auto limit = static_cast<std::size_t>(limits_.switches);
    const auto most = tier == 0 ? 2 * limit : limit;
    std::size_t odd = 0;
    for (const auto s : all) {
      if (odd_switch_[s] && odd++ < most_odd) shown.push_back(s);
    }
    for (const auto s : all) {
      const bool take = all.size() <= limit || wanted_[s];
      const auto room = all.size() <= most ? most : tier == 0 ? most : limit / 2 + odd;
      if (take && shown.size() < room && std::ranges::find(shown, s) == shown.end()) shown.push_back(s);
    }
    std::ranges::sort(shown);
    if (shown.size() + 1 == all.size()) shown = all;
    for (const auto s : shown) {
      for (const auto up : above_[s]) {
        if (d_.switches[up].tier > tier) wanted_[up] = true;
      }
    }
    box_of_switch_.resize(d_.switches.size());
    for (const auto s : shown) {
      const auto& sw = d_.switches[s];
      Sketch::Box b;
      b.tier = tier;
      b.first = static_cast<int>(s);
      b.rail = sw.rail;
      b.plane = sw.plane;
      b.group = sw.group;
      b.up = sw.up;
      b.odd = odd_switch_[s];
      b.name = d_.switch_name(s);
      b.model = d_.switch_models[sw.model].name;
      box_of_switch_[s] = out_.boxes.size();
      out_.boxes.push_back(std::move(b));
    }
    fold(tier, all, shown);
  }

  /// The rest of a tier; of a dragonfly the rest of the group, and the other groups.
  void fold(int tier, const std::vector<std::size_t>& all, const std::vector<std::size_t>& shown) {
    const bool dragonfly = n_.generator() == "dragonfly";
    std::set<int> groups;
    for (const auto s : shown) groups.insert(d_.switches[s].group);
    std::map<bool, std::size_t> box;
    for (const auto s : all) {
      if (std::ranges::binary_search(shown, s)) continue;
      const bool near = dragonfly && groups.contains(d_.switches[s].group);
      const auto [at, fresh] = box.try_emplace(near, out_.boxes.size());
      if (fresh) {
        Sketch::Box b;
        b.tier = tier;
        b.count = 0;
        b.first = static_cast<int>(s);
        b.group = near ? d_.switches[s].group : -1;
        b.model = d_.switch_models[d_.switches[s].model].name;
        out_.boxes.push_back(std::move(b));
      }
      auto& b = out_.boxes[at->second];
      ++b.count;
      b.name = fmt::format("{} more {}", b.count, plural(tier_name(n_, tier), b.count));
      box_of_switch_[s] = at->second;
    }
    for (const auto& [near, at] : box) {
      if (dragonfly) out_.boxes[at].model = near ? "same group" : "other groups";
    }
  }

  std::optional<std::size_t> box_of(std::uint32_t end) const {
    if (is_switch(n_, end)) return box_of_switch_[switch_of(n_, end)];
    const auto at = node_of_.find(d_.places[end].node);
    if (at == node_of_.end()) return std::nullopt;  // not of this job
    return box_of_node_[static_cast<std::size_t>(at->second)];
  }

  void bundles() {
    std::map<std::tuple<std::size_t, std::size_t, int, int>, std::size_t> known;  // boxes, NIC, rail
    for (std::size_t i = 0; i < d_.cables.size(); ++i) {
      const auto& c = d_.cables[i];
      auto a = box_of(c.a), b = box_of(c.b);
      if (!a || !b || *a == *b) continue;
      auto low = *a, high = *b;
      const bool nic = !is_switch(n_, c.a);
      if (out_.boxes[low].tier > out_.boxes[high].tier || (!nic && low > high)) std::swap(low, high);
      const int number = nic && low == 0 && out_.boxes[0].count == 1 ? d_.places[c.a].nic : -1;
      int rail = -1;
      for (const auto end : {c.a, c.b}) {
        if (is_switch(n_, end) && d_.switches[switch_of(n_, end)].tier == 0)
          rail = d_.switches[switch_of(n_, end)].rail;
      }
      const auto [at, fresh] = known.try_emplace({low, high, number, rail}, out_.bundles.size());
      if (fresh) out_.bundles.push_back({low, high, number, 0, 0, 0, {}, rail});
      auto& bundle = out_.bundles[at->second];
      bundle.count += c.count;
      bundle.cables.push_back(static_cast<std::uint32_t>(i));
      if (!works(n_, c)) bundle.down += c.count;
      if (c.up && slow(c)) bundle.slow += c.count;
      bundle.rate = std::max(bundle.rate, d_.cable_models[c.model].bare);
    }
  }

  const Cluster& c_;
  const Network& n_;
  const Network::Data& d_;
  SketchLimits limits_;
  Sketch out_;
  std::map<int, int> node_of_;  // original number -> node of this cluster
  std::vector<bool> odd_node_, odd_switch_, wanted_;
  std::vector<std::vector<std::size_t>> above_;
  std::vector<std::size_t> box_of_node_, box_of_switch_;
};

}  // namespace

Sketch sketch(const Cluster& cluster, const SketchLimits& limits) { return Folder{cluster, limits}.run(); }

}  // namespace linkcast::topologies
