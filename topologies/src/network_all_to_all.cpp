// Uniform traffic: every NIC or port to every other one, as expected loads. Senders under the same switches are one
// group; then one search from each destination switch carries the traffic of all senders at once, because what a
// switch does with it depends on the destination alone. Cost: destination switches times cables near them. In a
// dragonfly all traffic between two groups goes round alike: what depends on its ends is only the first and the last
// cable. Adaptive routing mixes the two by load.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "network_choice.hpp"
#include "network_detours.hpp"
#include "network_tiers.hpp"
#include "network_ways.hpp"

namespace linkcast::topologies {
namespace {

struct Sender {
  int node = 0;
  int group = 0;
  std::vector<std::uint32_t> out;  // arc of each of its ports, in the order of the group's switches
  std::vector<PortId> ports;
};

/// Senders whose ports are on the same switches.
struct Group {
  std::vector<std::uint32_t> leaves;
  double size = 0;
};

/// One tree towards one destination switch.
class Towards {
 public:
  explicit Towards(const Network::Data& d)
      : d_{d}, distance_(d.switches.size(), far), inflow_(d.switches.size(), 0.0) {}

  static constexpr std::uint32_t far = ~0u;
  struct Next {
    std::uint32_t arc, to;
  };

  /// Searches until all of `sources` are reached (as far as they can be).
  void aim(std::uint32_t destination, std::span<const std::uint32_t> sources) {
    for (const auto u : order_) distance_[u] = far;
    order_.assign(1, destination);
    distance_[destination] = 0;
    std::size_t missing = 0;
    for (const auto s : sources) missing += distance_[s] == far ? 1 : 0;
    std::uint32_t last_level = far;  // the level at which the last source was found: nothing beyond is needed
    if (missing == 0) last_level = 0;
    wanted_.resize(d_.switches.size(), false);
    for (const auto s : sources) wanted_[s] = true;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto u = order_[i];
      if (distance_[u] >= last_level) break;
      for (const auto& t : d_.trunks_of(u)) {
        if (distance_[t.to] != far) continue;
        distance_[t.to] = distance_[u] + 1;
        order_.push_back(t.to);
        if (wanted_[t.to] && --missing == 0) last_level = distance_[t.to];
      }
    }
    for (const auto s : sources) wanted_[s] = false;
  }

  bool reached(std::uint32_t sw) const { return distance_[sw] != far; }
  std::uint32_t distance(std::uint32_t sw) const { return distance_[sw]; }
  void put(std::uint32_t sw, double bytes) { inflow_[sw] += bytes; }

  /// Sends on what was put in, farthest first, and empties it. `spread(switch, next hops, bytes)` returns nothing and
  /// calls `take(arc, to, bytes)`.
  template <typename Spread>
  void flow(Spread spread) {
    for (auto i = order_.size(); i-- > 0;) {
      const auto u = order_[i];
      if (inflow_[u] <= 0 || distance_[u] == 0) continue;
      next_.clear();
      for (const auto& t : d_.trunks_of(u)) {
        if (distance_[t.to] != far && distance_[t.to] + 1 == distance_[u]) next_.push_back({t.arc, t.to});
      }
      spread(u, next_, inflow_[u]);
      inflow_[u] = 0;
    }
    inflow_[order_[0]] = 0;
  }

 private:
  const Network::Data& d_;
  std::vector<std::uint32_t> distance_;
  std::vector<double> inflow_;
  std::vector<std::uint32_t> order_;
  std::vector<bool> wanted_;
  std::vector<Next> next_;
};

class AllToAll {
 public:
  AllToAll(const Network::Data& d, std::vector<Sender> senders) : d_{d}, senders_{std::move(senders)} {}

  bool run(double weight, const Network::Sink& sink) {
    load_.assign(2 * d_.cables.size(), 0.0);
    group();
    if (!shares()) return false;
    own_node();
    Towards towards{d_};
    for (const auto leaf : leaves_) {
      if (d_.routing == models::Routing::by_destination) {
        by_destination(towards, leaf);
      } else {
        evenly(towards, leaf);
      }
    }
    if (splits(d_.routing)) {
      if (const auto detours = Detours::of(d_)) go_round(*detours);
    }
    ports();
    for (std::size_t arc = 0; arc < load_.size(); ++arc) {
      if (load_[arc] > 0) sink(CableId{static_cast<std::uint32_t>(arc / 2)}, (arc & 1) == 0, weight * load_[arc]);
    }
    return true;
  }

 private:
  void group() {
    std::map<std::vector<std::uint32_t>, int> known;
    for (auto& s : senders_) {
      std::vector<std::uint32_t> key;
      for (const auto arc : s.out) {
        const auto& c = d_.cables[arc / 2];
        key.push_back(((arc & 1) == 0 ? c.b : c.a) - static_cast<std::uint32_t>(d_.places.size()));
      }
      const auto [it, fresh] = known.emplace(key, static_cast<int>(groups_.size()));
      if (fresh) groups_.push_back({key, 0});
      s.group = it->second;
      groups_[static_cast<std::size_t>(s.group)].size += 1;
      leaves_.insert(leaves_.end(), key.begin(), key.end());
    }
    std::ranges::sort(leaves_);
    leaves_.erase(std::ranges::unique(leaves_).begin(), leaves_.end());
    single_ = std::ranges::all_of(groups_, [](const Group& g) { return g.leaves.size() == 1; });
  }

  /// Where ports have a choice: how traffic between two groups splits over pairs of their ports. False when two groups
  /// are not connected.
  bool shares() {
    Towards search{d_};
    if (single_) {
      search.aim(leaves_.front(), leaves_);
      return std::ranges::all_of(leaves_, [&](auto l) { return search.reached(l); });
    }
    const auto n = leaves_.size();
    std::vector<std::uint32_t> distance(n * n);
    for (std::size_t to = 0; to < n; ++to) {
      search.aim(leaves_[to], leaves_);
      for (std::size_t from = 0; from < n; ++from) distance[from * n + to] = search.distance(leaves_[from]);
    }
    const auto at = [&](std::uint32_t leaf) {
      return static_cast<std::size_t>(std::ranges::lower_bound(leaves_, leaf) - leaves_.begin());
    };
    share_.resize(groups_.size() * groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t h = 0; h < groups_.size(); ++h) {
        const auto& from = groups_[g].leaves;
        const auto& to = groups_[h].leaves;
        auto& share = share_[g * groups_.size() + h];
        share.assign(from.size() * to.size(), 0.0);
        double reaching = 0;
        for (std::size_t p = 0; p < from.size(); ++p) {
          const auto row = [&](std::size_t q) { return distance[at(from[p]) * n + at(to[q])]; };
          auto nearest = Towards::far;
          for (std::size_t q = 0; q < to.size(); ++q) nearest = std::min(nearest, row(q));
          if (nearest == Towards::far) continue;
          double ends = 0;
          for (std::size_t q = 0; q < to.size(); ++q) ends += row(q) == nearest ? 1 : 0;
          for (std::size_t q = 0; q < to.size(); ++q) share[p * to.size() + q] = row(q) == nearest ? 1 / ends : 0;
          reaching += 1;
        }
        if (reaching == 0) return false;
        for (auto& s : share) s /= reaching;
      }
    }
    return true;
  }

  double share(int g, int h, std::size_t p, std::size_t q) const {
    if (single_) return 1;
    const auto& of = share_[static_cast<std::size_t>(g) * groups_.size() + static_cast<std::size_t>(h)];
    return of[p * groups_[static_cast<std::size_t>(h)].leaves.size() + q];
  }
  /// Of what a sender of g sends to one of h: what leaves by port p, what arrives at port q.
  double leaving(int g, int h, std::size_t p) const {
    double sum = 0;
    for (std::size_t q = 0; q < groups_[static_cast<std::size_t>(h)].leaves.size(); ++q) sum += share(g, h, p, q);
    return sum;
  }
  double arriving(int g, int h, std::size_t q) const {
    double sum = 0;
    for (std::size_t p = 0; p < groups_[static_cast<std::size_t>(g)].leaves.size(); ++p) sum += share(g, h, p, q);
    return sum;
  }

  /// Pairs of senders of two groups that share a machine: they send nothing to each other.
  void own_node() {
    for (const auto& s : senders_) ++on_node_[s.node][s.group];
    for (const auto& [node, counts] : on_node_) {
      for (const auto& [g, n] : counts) {
        for (const auto& [h, m] : counts) same_node_[key(g, h)] += static_cast<double>(n) * m;
      }
    }
  }
  static std::uint64_t key(int g, int h) {
    return (std::uint64_t{static_cast<std::uint32_t>(g)} << 32) | static_cast<std::uint32_t>(h);
  }
  double pairs(int g, int h) const {
    const auto own = same_node_.find(key(g, h));
    return groups_[static_cast<std::size_t>(g)].size * groups_[static_cast<std::size_t>(h)].size -
           (own == same_node_.end() ? 0 : own->second);
  }

  void evenly(Towards& towards, std::uint32_t leaf) {
    towards.aim(leaf, leaves_);
    const auto groups = static_cast<int>(groups_.size());
    for (int h = 0; h < groups; ++h) {
      const auto& to = groups_[static_cast<std::size_t>(h)].leaves;
      for (std::size_t q = 0; q < to.size(); ++q) {
        if (to[q] != leaf) continue;
        for (int g = 0; g < groups; ++g) {
          const auto bytes = pairs(g, h);
          const auto& from = groups_[static_cast<std::size_t>(g)].leaves;
          for (std::size_t p = 0; p < from.size(); ++p) {
            const auto part = bytes * share(g, h, p, q);
            if (part > 0) towards.put(from[p], part);
          }
        }
      }
    }
    towards.flow([&](std::uint32_t, const std::vector<Towards::Next>& next, double bytes) {
      double cables = 0;
      for (const auto& n : next) cables += d_.cables[n.arc / 2].count;
      for (const auto& n : next) {
        const auto part = bytes * d_.cables[n.arc / 2].count / cables;
        load_[n.arc] += part;
        towards.put(n.to, part);
      }
    });
  }

  /// What the same traffic puts on cables when all of it is spread over detours too.
  std::vector<double> spread_out(const Detours& detours) const {
    std::vector<double> load(load_.size(), 0.0);
    const auto n = detours.groups();
    std::vector<double> leaving(d_.switches.size() * n, 0.0), arriving(d_.switches.size() * n, 0.0), all(n * n, 0.0);
    std::vector<std::optional<std::shared_ptr<const Detours::Between>>> ways(n * n);
    const auto way_of = [&](std::size_t from, std::size_t to) -> const std::shared_ptr<const Detours::Between>& {
      auto& way = ways[from * n + to];
      if (!way) way = detours.between(static_cast<std::int32_t>(from), static_cast<std::int32_t>(to));
      return *way;
    };
    std::vector<Detours::Hop> hops;
    const auto put = [&](double bytes) {
      for (const auto& hop : hops) load[hop.arc] += bytes * hop.share;
    };
    const auto add = [&](std::uint32_t a, std::uint32_t b, double bytes) {
      if (a == b || bytes <= 0) return;
      const auto from = static_cast<std::size_t>(detours.group(a)), to = static_cast<std::size_t>(detours.group(b));
      if (from != to && way_of(from, to)) {
        leaving[a * n + to] += bytes;
        arriving[b * n + from] += bytes;
        all[from * n + to] += bytes;
        return;
      }
      if (!detours.spread(a, b, hops)) detours.walk(a, b, 1.0, hops);
      put(bytes);
    };
    for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
      for (int h = 0; h < static_cast<int>(groups_.size()); ++h) {
        const auto bytes = pairs(g, h);
        const auto& from = groups_[static_cast<std::size_t>(g)].leaves;
        const auto& to = groups_[static_cast<std::size_t>(h)].leaves;
        for (std::size_t p = 0; p < from.size(); ++p)
          for (std::size_t q = 0; q < to.size(); ++q) add(from[p], to[q], bytes * share(g, h, p, q));
      }
    }
    std::vector<double> to_exits(d_.switches.size(), 0.0), from_entries(d_.switches.size(), 0.0);
    std::vector<std::uint32_t> gates;  // of the leaf's group: a few for all other groups together
    for (const auto leaf : leaves_) {
      const auto here = static_cast<std::size_t>(detours.group(leaf));
      for (std::size_t there = 0; there < n; ++there) {
        const auto gather = [&](double bytes, const std::vector<Detours::Gate>& at, std::vector<double>& sum) {
          for (const auto& gate : at) {
            sum[gate.sw] += bytes * gate.share;
            gates.push_back(gate.sw);
          }
        };
        if (const auto out = leaving[leaf * n + there]; out > 0) gather(out, way_of(here, there)->exits, to_exits);
        if (const auto in = arriving[leaf * n + there]; in > 0) gather(in, way_of(there, here)->entries, from_entries);
      }
      hops.clear();
      for (const auto gate : gates) {
        if (to_exits[gate] > 0) detours.walk(leaf, gate, std::exchange(to_exits[gate], 0.0), hops);
        if (from_entries[gate] > 0) detours.walk(gate, leaf, std::exchange(from_entries[gate], 0.0), hops);
      }
      gates.clear();
      put(1.0);
    }
    std::unordered_map<std::uint64_t, double> inner;  // by two routers of a third group, for all pairs of groups
    for (std::size_t from = 0; from < n; ++from) {
      for (std::size_t to = 0; to < n; ++to) {
        const auto bytes = all[from * n + to];
        if (bytes <= 0) continue;
        const auto& way = way_of(from, to);
        for (const auto& hop : way->hops) load[hop.arc] += bytes * hop.share;
        for (const auto& hop : way->inner) inner[(std::uint64_t{hop.from} << 32) | hop.to] += bytes * hop.share;
      }
    }
    hops.clear();
    for (const auto& [ends, bytes] : inner)
      detours.walk(static_cast<std::uint32_t>(ends >> 32), static_cast<std::uint32_t>(ends), bytes, hops);
    put(1.0);
    return load;
  }

  /// So much of all traffic goes round as loads the fullest cable least: uniform traffic of a whole dragonfly hardly
  /// any, of a few routers or groups nearly all. The fullest cable's load is convex in that part: a ternary search.
  void go_round(const Detours& detours) {
    const auto round = spread_out(detours);
    std::vector<std::uint32_t> arcs;
    std::vector<double> per_rate;
    for (std::uint32_t arc = 0; arc < load_.size(); ++arc) {
      if (load_[arc] <= 0 && round[arc] <= 0) continue;
      arcs.push_back(arc);
      per_rate.push_back(1 / static_cast<double>(std::max<std::int64_t>(1, rate_of(d_, d_.cables[arc / 2]))));
    }
    const auto fullest = [&](double part) {
      double most = 0;
      for (std::size_t i = 0; i < arcs.size(); ++i)
        most = std::max(most, ((1 - part) * load_[arcs[i]] + part * round[arcs[i]]) * per_rate[i]);
      return most;
    };
    double low = 0, high = 1;
    for (int step = 0; step < 36; ++step) {
      const auto third = (high - low) / 3;
      if (fullest(low + third) <= fullest(high - third)) {
        high -= third;
      } else {
        low += third;
      }
    }
    if (fullest(0) <= fullest(low)) low = 0;
    for (const auto arc : arcs) load_[arc] = (1 - low) * load_[arc] + low * round[arc];
  }

  /// One forwarding decision for each switch and destination port.
  void by_destination(Towards& towards, std::uint32_t leaf) {
    towards.aim(leaf, leaves_);
    const auto groups = static_cast<int>(groups_.size());
    for (const auto& s : senders_) {
      const auto& to = groups_[static_cast<std::size_t>(s.group)].leaves;
      for (std::size_t q = 0; q < to.size(); ++q) {
        if (to[q] != leaf) continue;
        const auto& own = on_node_.at(s.node);
        for (int g = 0; g < groups; ++g) {
          const auto here = own.find(g);
          const auto bytes = groups_[static_cast<std::size_t>(g)].size - (here == own.end() ? 0 : here->second);
          const auto& from = groups_[static_cast<std::size_t>(g)].leaves;
          for (std::size_t p = 0; p < from.size(); ++p) {
            const auto part = bytes * share(g, s.group, p, q);
            if (part > 0) towards.put(from[p], part);
          }
        }
        const Chooser chooser{d_, s.ports[q], s.ports[q], 0};
        towards.flow([&](std::uint32_t at, const std::vector<Towards::Next>& next, double bytes) {
          const auto& n = chooser.choose(at, next);
          load_[n.arc] += bytes;
          towards.put(n.to, bytes);
        });
      }
    }
  }

  /// The ports' own cables.
  void ports() {
    const auto groups = static_cast<int>(groups_.size());
    std::vector<std::vector<double>> out(groups_.size()), in(groups_.size());  // without minding one's own machine
    for (int g = 0; g < groups; ++g) {
      const auto n = groups_[static_cast<std::size_t>(g)].leaves.size();
      auto& o = out[static_cast<std::size_t>(g)];
      auto& i = in[static_cast<std::size_t>(g)];
      o.assign(n, 0.0);
      i.assign(n, 0.0);
      for (int h = 0; h < groups; ++h) {
        const auto size = groups_[static_cast<std::size_t>(h)].size;
        for (std::size_t p = 0; p < n; ++p) {
          o[p] += size * leaving(g, h, p);
          i[p] += size * arriving(h, g, p);
        }
      }
    }
    for (const auto& s : senders_) {
      for (std::size_t p = 0; p < s.out.size(); ++p) {
        auto leaves = out[static_cast<std::size_t>(s.group)][p];
        auto arrives = in[static_cast<std::size_t>(s.group)][p];
        for (const auto& [h, n] : on_node_.at(s.node)) {
          leaves -= n * leaving(s.group, h, p);
          arrives -= n * arriving(h, s.group, p);
        }
        load_[s.out[p]] += leaves;
        load_[s.out[p] ^ 1] += arrives;
      }
    }
  }

  const Network::Data& d_;
  std::vector<Sender> senders_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> leaves_;  // of all groups, sorted
  bool single_ = true;
  std::vector<std::vector<double>> share_;  // by (g, h): [p][q]
  std::unordered_map<int, std::map<int, int>> on_node_;
  std::unordered_map<std::uint64_t, double> same_node_;
  std::vector<double> load_;  // by arc
};

/// `senders`: the ports of each. Cables from port to port know no leaves: such networks are tiny.
template <typename Pairwise>
bool all_to_all(const Network::Data& d, std::vector<Sender> senders, double weight, const Network::Sink& sink,
                Pairwise pairwise) {
  if (senders.empty()) return true;
  const bool one_machine = std::ranges::all_of(senders, [&](const Sender& s) { return s.node == senders[0].node; });
  if (one_machine) return true;
  bool direct = false;
  for (auto& s : senders) {
    std::vector<PortId> live;
    for (const auto p : s.ports) {
      const auto out = plug(d, p);
      if (!out) continue;
      direct = direct || out->to < d.places.size();
      s.out.push_back(out->arc);
      live.push_back(p);
    }
    if (live.empty()) return false;
    s.ports = std::move(live);
  }
  return direct ? pairwise() : AllToAll{d, std::move(senders)}.run(weight, sink);
}

}  // namespace

bool Network::add_all_to_all(std::span<const PortId> ports, double weight, const Sink& sink) const {
  std::vector<Sender> senders(ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    senders[i].node = place(ports[i]).node;
    senders[i].ports = {ports[i]};
  }
  return all_to_all(*data_, std::move(senders), weight, sink, [&] {
    bool all = true;
    for (const auto p : ports) {
      for (const auto q : ports) {
        if (place(p).node != place(q).node) all = add(p, q, weight, 0, sink) && all;
      }
    }
    return all;
  });
}

bool Network::add_all_to_all(std::span<const NicPlace> nics, double weight, const Sink& sink) const {
  std::vector<Sender> senders(nics.size());
  for (std::size_t i = 0; i < nics.size(); ++i) {
    const auto ports = ports_of(nics[i].node, nics[i].nic);
    senders[i].node = nics[i].node;
    senders[i].ports.assign(ports.begin(), ports.end());
  }
  return all_to_all(*data_, std::move(senders), weight, sink, [&] {
    bool all = true;
    for (const auto& p : nics) {
      for (const auto& q : nics) {
        if (p.node != q.node) all = add(p, q, weight, 0, sink) && all;
      }
    }
    return all;
  });
}

}  // namespace linkcast::topologies
