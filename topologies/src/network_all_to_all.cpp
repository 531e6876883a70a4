// Uniform traffic: every NIC or port to every other one, as expected loads. Senders under the same switches are one
// group; then one search from each destination switch carries the traffic of all senders at once, because what a
// switch does with it depends on the destination alone. Cost: destination switches times cables near them.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "network_choice.hpp"
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
