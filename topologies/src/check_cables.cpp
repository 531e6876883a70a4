// See check_network.hpp: switches and the cables between them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "check_network.hpp"
#include "network_tiers.hpp"

namespace linkcast::topologies {
namespace {

/// Beyond so many odd switches of a network only their totals are told.
constexpr int most_detailed = 64;
/// A switch that differs towards more neighbours than this is told as one.
constexpr std::size_t most_pairs = 4;

std::string bits(sim::Rate r) { return fmt::format("{:g} Gb/s", r.GBps() * 8); }

class CableChecker {
 public:
  CableChecker(const Cluster& c, Findings& out)
      : c_{c}, n_{c.network()}, d_{n_.data()}, out_{out}, explained_(n_.switches().size()) {}

  void run() {
    for (std::size_t s = 0; s < d_.switches.size(); ++s) {
      if (!d_.switches[s].up) out_.add(Severity::warning, "down", name(s));
    }
    down();
    rates();
    if (is_direct(n_)) {
      neighbours();
    } else {
      uplinks();
      planes();
    }
    ports();
  }

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  std::string name(std::size_t s) const { return d_.switch_name(s); }
  std::string name(const Cable& c) const { return end_name(c_, c.a) + "-" + end_name(c_, c.b); }
  static Pair ends(const Cable& c) { return std::minmax(c.a, c.b); }
  int group(std::uint32_t end) const { return d_.switches[switch_of(n_, end)].group; }

  void down() {
    std::map<Pair, std::pair<int, int>> bundles;  // down, all
    for (const auto& c : d_.cables) {
      if (!c.up) bundles[ends(c)].first += c.count;
    }
    if (bundles.empty()) return;
    for (const auto& c : d_.cables) {
      if (const auto at = bundles.find(ends(c)); at != bundles.end()) at->second.second += c.count;
    }
    for (const auto& c : d_.cables) {
      const auto at = bundles.find(ends(c));
      if (at == bundles.end() || at->second.first == 0) continue;
      const auto [broken, all] = at->second;
      out_.add(Severity::warning, all == 1 ? "cable down" : fmt::format("{} of {} cables down", broken, all), name(c));
      at->second.first = 0;
    }
  }

  /// Peers of a cable: those between the same tiers, of the same NIC of their machines.
  std::tuple<int, int, int> peers(const Cable& c) const {
    const bool nic = !is_switch(n_, c.a);
    const bool far = !nic && is_switch(n_, c.b) && group(c.a) != group(c.b);
    return {tier_of(n_, c.a), tier_of(n_, c.b), nic ? d_.places[c.a].nic : static_cast<int>(far)};
  }
  void rates() {
    std::map<std::tuple<int, int, int>, std::map<sim::Rate, int>> times;
    for (const auto& c : d_.cables) times[peers(c)][d_.cable_models[c.model].bare] += c.count;
    for (const auto& c : d_.cables) {
      const auto& all = times[peers(c)];
      const auto& model = d_.cable_models[c.model];
      if (all.size() == 1 && model.state == "up") continue;
      const auto usual = usual_of(all);
      if (c.up && model.state != "up") {
        out_.add(Severity::warning,
                 fmt::format("{}{}, {}", c.count > 1 ? fmt::format("{} cables with ", c.count) : "", bits(model.bare),
                             model.state),
                 name(c));
      } else if (model.bare != usual) {
        out_.add(model.bare < usual ? Severity::warning : Severity::note,
                 fmt::format("{}, usually {}", bits(model.bare), bits(usual)), name(c));
      }
    }
  }

  /// Cables of a switch to those of higher tiers.
  using Uplinks = std::map<std::uint32_t, int>;
  void uplinks() {
    std::vector<Uplinks> up(d_.switches.size());
    std::vector<std::vector<std::uint32_t>> below(d_.switches.size());
    for (const auto& c : d_.cables) {
      if (!is_switch(n_, c.a) || !is_switch(n_, c.b)) continue;
      auto low = static_cast<std::uint32_t>(switch_of(n_, c.a)), high = static_cast<std::uint32_t>(switch_of(n_, c.b));
      if (d_.switches[low].tier == d_.switches[high].tier) continue;
      if (d_.switches[low].tier > d_.switches[high].tier) std::swap(low, high);
      auto& n = up[low][high];
      if (n == 0) below[high].push_back(low);
      n += c.count;
    }
    // Which spines get one more where cables do not divide evenly may differ, how many get how many may not.
    std::map<int, std::map<std::vector<int>, int>> times;
    std::vector<std::vector<int>> shape(up.size());
    for (std::size_t s = 0; s < up.size(); ++s) {
      for (const auto& [to, n] : up[s]) shape[s].push_back(n);
      std::ranges::sort(shape[s]);
      ++times[d_.switches[s].tier][shape[s]];
    }
    int odd = 0;
    for (std::uint32_t s = 0; s < up.size(); ++s) {
      const auto& usual = usual_of(times[d_.switches[s].tier]);
      if (shape[s] != usual) differs(s, usual, up, below, ++odd <= most_detailed);
    }
  }

  void differs(std::uint32_t s, const std::vector<int>& usual, const std::vector<Uplinks>& up,
               const std::vector<std::vector<std::uint32_t>>& below, bool detailed) {
    const auto sum = [](const std::vector<int>& v) {
      int total = 0;
      for (const int n : v) total += n;
      return total;
    };
    int mine = 0;
    for (const auto& [to, n] : up[s]) mine += n;
    explained_[s] = true;
    std::vector<std::pair<std::uint32_t, std::pair<int, int>>> other;  // neighbour: has, usually
    if (detailed) {
      std::set<std::uint32_t> peers;
      for (const auto& [to, n] : up[s]) {
        for (const auto p : below[to]) {
          if (p != s && d_.switches[p].tier == d_.switches[s].tier) peers.insert(p);
        }
      }
      std::map<std::uint32_t, std::map<int, int>> times;
      for (const auto p : peers) {
        for (const auto& [to, n] : up[p]) ++times[to][n];
      }
      for (const auto& [to, n] : up[s]) times.try_emplace(to);
      for (auto& [to, counts] : times) {
        int said = 0;
        for (const auto& [n, t] : counts) said += t;
        if (said < static_cast<int>(peers.size())) counts[0] = static_cast<int>(peers.size()) - said;
        const auto at = up[s].find(to);
        const int has = at == up[s].end() ? 0 : at->second;
        if (counts.empty()) continue;
        if (const int expected = usual_of(counts); has != expected) other.push_back({to, {has, expected}});
      }
    }
    const auto higher = tier_name(n_, d_.switches[s].tier + 1);
    if (!other.empty() && other.size() <= most_pairs) {
      for (const auto& [to, n] : other) {
        explained_[to] = true;
        out_.add(Severity::warning, fmt::format("{} cable{}, usually {}", n.first, n.first == 1 ? "" : "s", n.second),
                 name(s) + "-" + name(to));
      }
    } else if (const int expected = sum(usual); mine != expected) {
      for (const auto& [to, n] : up[s]) explained_[to] = true;
      out_.add(Severity::warning, fmt::format("{} cables to {}s, usually {}", mine, higher, expected), name(s));
    } else {
      for (const auto& [to, n] : up[s]) explained_[to] = true;
      out_.add(Severity::warning,
               fmt::format("{} cables to {} {}s, usually to {}", mine, up[s].size(), higher, usual.size()), name(s));
    }
  }

  /// Torus and dragonfly: cables of a router to its neighbours, and between groups.
  void neighbours() {
    std::vector<int> degree(d_.switches.size(), 0);
    std::map<std::pair<int, int>, int> far;
    std::set<int> groups;
    for (const auto& s : d_.switches) groups.insert(s.group);
    for (const auto& c : d_.cables) {
      if (!is_switch(n_, c.a) || !is_switch(n_, c.b)) continue;
      if (group(c.a) != group(c.b)) {
        far[std::minmax(group(c.a), group(c.b))] += c.count;
      } else {
        degree[switch_of(n_, c.a)] += c.count;
        degree[switch_of(n_, c.b)] += c.count;
      }
    }
    std::map<int, int> times, far_times;
    for (const int n : degree) ++times[n];
    for (std::size_t s = 0; s < degree.size(); ++s) {
      if (const int usual = usual_of(times); degree[s] != usual)
        out_.add(Severity::warning, fmt::format("{} cables to neighbours, usually {}", degree[s], usual), name(s));
    }
    if (groups.size() < 2 || groups.size() > 1000) return;
    for (auto a = groups.begin(); a != groups.end(); ++a)
      for (auto b = std::next(a); b != groups.end(); ++b) ++far_times[far[{*a, *b}]];
    const int usual = usual_of(far_times);
    for (const auto& [pair, n] : far) {
      if (n != usual)
        out_.add(Severity::warning, fmt::format("{} cables, usually {}", n, usual),
                 fmt::format("group {}-group {}", pair.first, pair.second));
    }
  }

  void planes() {
    std::int64_t mixed = 0, all = 0;
    const auto planes = [&](const Cable& c) -> std::pair<int, int> {
      if (!is_switch(n_, c.a) || !is_switch(n_, c.b)) return {-1, -1};
      return {d_.switches[switch_of(n_, c.a)].plane, d_.switches[switch_of(n_, c.b)].plane};
    };
    const auto mixes = [](std::pair<int, int> p) { return p.first >= 0 && p.second >= 0 && p.first != p.second; };
    for (const auto& c : d_.cables) {
      const auto p = planes(c);
      if (p.first < 0 || p.second < 0) continue;
      all += c.count;
      mixed += mixes(p) ? c.count : 0;
    }
    if (mixed == 0 || mixed * 2 > all) return;
    for (const auto& c : d_.cables) {
      if (const auto p = planes(c); mixes(p))
        out_.add(Severity::warning,
                 fmt::format("joins planes {} and {}", std::min(p.first, p.second), std::max(p.first, p.second)),
                 name(c));
    }
  }

  void ports() {
    std::vector<int> used(d_.switches.size(), 0);
    std::vector<double> split(d_.switches.size(), 0);  // where a port of 400 Gb/s can be two of 200 Gb/s
    for (const auto& c : d_.cables) {
      for (const auto end : {c.a, c.b}) {
        if (!is_switch(n_, end)) continue;
        const auto s = switch_of(n_, end);
        const auto port = d_.switch_models[d_.switches[s].model].rate.GBps();
        used[s] += c.count;
        split[s] += c.count * std::min(1.0, d_.cable_models[c.model].bare.GBps() / port);
      }
    }
    std::map<std::pair<int, int>, std::map<int, int>> times;
    const auto kind = [&](std::size_t s) { return std::pair<int, int>{d_.switches[s].tier, d_.switches[s].model}; };
    for (std::size_t s = 0; s < used.size(); ++s) {
      if (!explained_[s]) ++times[kind(s)][used[s]];
    }
    for (std::size_t s = 0; s < used.size(); ++s) {
      const auto& m = d_.switch_models[d_.switches[s].model];
      if (m.radix > 0 && split[s] > m.radix + 1e-6) {
        out_.add(Severity::warning, fmt::format("{} ports used, but {} has {}", used[s], m.name, m.radix), name(s));
      } else if (d_.switches[s].tier > 0 && m.radix > 0 && !explained_[s]) {
        if (const int usual = usual_of(times[kind(s)]); used[s] != usual && mostly(times[kind(s)]))
          out_.add(Severity::note, fmt::format("{} ports used, usually {}", used[s], usual), name(s));
      }
    }
  }

  const Cluster& c_;
  const Network& n_;
  const Network::Data& d_;
  Findings& out_;
  std::vector<bool> explained_;  // by switch: its number of ports follows from a finding
};

}  // namespace

void check_cables(const Cluster& cluster, Findings& out) { CableChecker{cluster, out}.run(); }

}  // namespace linkcast::topologies
