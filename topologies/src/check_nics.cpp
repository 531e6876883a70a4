// See check_network.hpp: where NICs are plugged in. What is right is what most machines do.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check_network.hpp"
#include "cluster_data.hpp"
#include "network_tiers.hpp"

namespace linkcast::topologies {
namespace {

/// Where fewer machines agree than this there is no "usual".
constexpr double most = 0.6;
struct Plugged {
  int node, nic, port;
  int leaf = -1;     // switch; -1: no cable to one
  bool any = false;  // has a cable
};

class NicChecker {
 public:
  NicChecker(const Cluster& c, Findings& out) : c_{c}, n_{c.network()}, d_{c.network().data()}, out_{out} {}

  void run() {
    collect();
    without_cable();
    wrong_tier();
    label_leaves();
    compare("rail", [&](std::size_t leaf) { return rail_[leaf]; });
    compare("plane", [&](std::size_t leaf) { return static_cast<int>(d_.switches[leaf].plane); });
    units();
    machines();
  }

 private:
  std::string name(const Plugged& p) const {
    return end_name(c_, static_cast<std::uint32_t>(n_.ports_of(p.node, p.nic)[static_cast<std::size_t>(p.port)]));
  }
  std::string node_name(int original) const {
    const auto& hosts = c_.data().node_names;
    return hosts.empty() ? fmt::format("node[{}]", original) : hosts.at(static_cast<std::size_t>(original));
  }
  std::string place(const Plugged& p) const { return name(p) + "-" + d_.switch_name(static_cast<std::size_t>(p.leaf)); }

  void collect() {
    for (int i = 0; i < c_.nodes(); ++i) {
      const auto node = static_cast<std::size_t>(c_.original_node(i));
      for (auto nic = d_.first_nic[node]; nic < d_.first_nic[node + 1]; ++nic) {
        for (auto port = d_.first_port[nic]; port < d_.first_port[nic + 1]; ++port) {
          Plugged p{d_.places[port].node, d_.places[port].nic, d_.places[port].port};
          for (auto a = d_.first_arc[port]; a < d_.first_arc[port + 1]; ++a) {
            const auto& cable = d_.cables[d_.arcs[a] / 2];
            const auto to = cable.a == port ? cable.b : cable.a;
            p.any = true;
            if (is_switch(n_, to)) p.leaf = static_cast<int>(switch_of(n_, to));
          }
          all_.push_back(p);
        }
      }
    }
  }

  using Slot = std::pair<int, int>;  // NIC and port of each machine
  static Slot slot(const Plugged& p) { return {p.nic, p.port}; }

  void without_cable() {
    std::map<Slot, std::pair<int, int>> plugged;  // with a cable, all
    for (const auto& p : all_) {
      auto& [with, number] = plugged[slot(p)];
      with += p.any ? 1 : 0;
      ++number;
    }
    for (const auto& [s, n] : plugged) {
      if (n.first == 0 && n.second > 0)
        out_.add(Severity::note, "no cable", fmt::format("nic[{}] of every machine", s.first));
    }
    for (const auto& p : all_) {
      const auto [with, number] = plugged[slot(p)];
      if (p.any || with == 0) continue;
      out_.add(2 * with >= number ? Severity::warning : Severity::note,
               fmt::format("no cable, {} of {} peers have one", with, number - 1), name(p));
    }
  }

  void wrong_tier() {
    std::map<int, int> times;
    const auto tier = [&](const Plugged& p) {
      return static_cast<int>(d_.switches[static_cast<std::size_t>(p.leaf)].tier);
    };
    for (const auto& p : all_) {
      if (p.leaf >= 0) ++times[tier(p)];
    }
    if (times.empty()) return;
    const auto usual = tier_ = usual_of(times);
    for (const auto& p : all_) {
      if (p.leaf >= 0 && tier(p) != usual)
        out_.add(Severity::note, fmt::format("on a {}, usually on a {}", tier_name(n_, tier(p)), tier_name(n_, usual)),
                 place(p));
    }
  }

  /// The rail of a leaf: what the file says, else the lowest of the rails that many of its NICs are on.
  void label_leaves() {
    rail_.assign(d_.switches.size(), -1);
    std::vector<std::map<int, int>> rails(d_.switches.size());
    std::vector<std::vector<int>> of_kind;
    for (int k = 0; k < c_.kinds(); ++k) {
      std::vector<int> list;
      for (const auto& f : nics_of(c_.kind(k))) list.push_back(f.rail);
      of_kind.push_back(std::move(list));
    }
    std::map<int, int> kind;  // by original node
    for (int i = 0; i < c_.nodes(); ++i) kind[c_.original_node(i)] = c_.kind_of(i);
    for (const auto& p : all_) {
      if (p.leaf < 0) continue;
      const auto& list = of_kind[static_cast<std::size_t>(kind[p.node])];
      const auto nic = static_cast<std::size_t>(p.nic);
      ++rails[static_cast<std::size_t>(p.leaf)][nic < list.size() ? list[nic] : p.nic];
    }
    bool several = false;
    int first = -1;
    for (std::size_t s = 0; s < rails.size(); ++s) {
      int largest = 0;
      for (const auto& [rail, n] : rails[s]) largest = std::max(largest, n);
      for (const auto& [rail, n] : rails[s]) {
        if (rail_[s] < 0 && 2 * n >= largest) rail_[s] = rail;  // half as many: strays are fewer
      }
      if (d_.switches[s].rail >= 0) rail_[s] = d_.switches[s].rail;
      if (rail_[s] >= 0 && first < 0) first = rail_[s];
      several |= rail_[s] >= 0 && rail_[s] != first;
    }
    // Where all leaves serve every rail, nothing can be on the wrong one.
    if (!several) std::ranges::fill(rail_, -1);
  }

  template <typename Of>
  void compare(std::string_view what, Of of) {
    std::map<Slot, std::map<int, int>> times;
    for (const auto& p : all_) {
      if (p.leaf >= 0) ++times[slot(p)][of(static_cast<std::size_t>(p.leaf))];
    }
    for (const auto& p : all_) {
      if (p.leaf < 0) continue;
      const auto& counts = times[slot(p)];
      if (counts.size() < 2) continue;
      const int usual = usual_of(counts), is = of(static_cast<std::size_t>(p.leaf));
      int sum = 0;
      for (const auto& [value, n] : counts) sum += n;
      if (is == usual || is < 0 || usual < 0 || counts.at(usual) < most * sum) continue;
      out_.add(Severity::warning, fmt::format("on {0} {1}, usually {0} {2}", what, is, usual), place(p));
    }
  }

  /// Where machines have all their NICs in one unit, one that does not is miswired.
  void units() {
    std::map<int, std::map<int, int>> of_node;  // NICs by unit
    for (const auto& p : all_) {
      if (p.leaf < 0) continue;
      const auto unit = d_.switches[static_cast<std::size_t>(p.leaf)].group;
      if (unit >= 0) ++of_node[p.node][unit];
    }
    const auto split = std::ranges::count_if(of_node, [](const auto& n) { return n.second.size() > 1; });
    if (split == 0 || static_cast<double>(split) > (1 - most) * static_cast<double>(of_node.size())) return;
    for (const auto& [node, units] : of_node) {
      if (units.size() < 2) continue;
      int sum = 0;
      for (const auto& [unit, n] : units) sum += n;
      const int usual = usual_of(units);
      if (2 * units.at(usual) <= sum) {
        std::vector<int> list;
        for (const auto& [unit, n] : units) list.push_back(unit);
        out_.add(Severity::warning,
                 fmt::format("NICs in units {}, those of other machines are in one", fmt::join(list, " and ")),
                 node_name(node));
        continue;
      }
      for (const auto& p : all_) {
        if (p.leaf < 0 || p.node != node) continue;
        const auto unit = d_.switches[static_cast<std::size_t>(p.leaf)].group;
        if (unit >= 0 && unit != usual)
          out_.add(Severity::warning, fmt::format("in unit {}, the machine's other NICs are in unit {}", unit, usual),
                   place(p));
      }
    }
  }

  /// Machines of a unit, or of a leaf where leaves have no rails.
  void machines() {
    std::map<std::pair<bool, int>, std::set<int>> of;
    for (const auto& p : all_) {
      if (p.leaf < 0) continue;
      const auto& leaf = d_.switches[static_cast<std::size_t>(p.leaf)];
      if (leaf.tier != tier_) continue;
      const bool unit = leaf.group >= 0 && leaf.rail >= 0;
      of[{unit, unit ? leaf.group : p.leaf}].insert(p.node);
    }
    std::map<int, int> times;
    for (const auto& [place, nodes] : of) ++times[static_cast<int>(nodes.size())];
    if (times.size() < 2 || !mostly(times)) return;
    const int usual = usual_of(times);
    for (const auto& [place, nodes] : of) {
      const auto n = static_cast<int>(nodes.size());
      if (n == usual) continue;
      out_.add(
          Severity::note, fmt::format("{} machine{}, usually {}", n, n == 1 ? "" : "s", usual),
          place.first ? fmt::format("unit {}", place.second) : d_.switch_name(static_cast<std::size_t>(place.second)));
    }
  }

  const Cluster& c_;
  const Network& n_;
  const Network::Data& d_;
  Findings& out_;
  std::vector<Plugged> all_;
  std::vector<int> rail_;  // by switch
  int tier_ = 0;           // of the switches that most NICs are plugged into
};

}  // namespace

void check_nics(const Cluster& cluster, Findings& out) { NicChecker{cluster, out}.run(); }

}  // namespace linkcast::topologies
