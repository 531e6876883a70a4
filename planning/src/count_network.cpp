// See count_network.hpp. A described network is counted cable by cable; of one that is not, a tree is assumed.
#include "count_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "linkcast/topologies/cable_length.hpp"

namespace linkcast::planning {
namespace {

using topologies::Cable;
using topologies::Cluster;
using topologies::Network;

double gbps_of(sim::Rate r) { return r.GBps() * 8; }
std::string rate_text(double gbps) { return fmt::format("{:g}G", gbps); }

/// Machines that the fullest switch has cables to.
std::int64_t machines_below_one_switch(const Network& n) {
  std::vector<std::pair<std::uint32_t, int>> pairs;
  const auto ports = static_cast<std::uint32_t>(n.ports());
  for (const auto& c : n.cables()) {
    if (c.a < ports && c.b >= ports) pairs.emplace_back(c.b, n.place(topologies::PortId{c.a}).node);
  }
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::int64_t most = 0, now = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    now = i > 0 && pairs[i].first == pairs[i - 1].first ? now + 1 : 1;
    most = std::max(most, now);
  }
  return most;
}

class Counter {
 public:
  Counter(const Cluster& cluster, const Prices::Data& prices, BillOfMaterials& bom)
      : n_{cluster.network()}, p_{prices}, bom_{bom}, ports_{static_cast<std::uint32_t>(n_.ports())} {}

  void run() {
    direct_ = n_.generator() == "dragonfly" || n_.generator() == "torus";
    below_ = machines_below_one_switch(n_);
    used_.resize(n_.switches().size());
    for (const auto& c : n_.cables()) cable(c);
    switches();
    cages();
    lines();
    notes();
  }

 private:
  struct Used {
    std::int64_t ports = 0;
    double gbps = 0;  // of the fastest cable
  };
  struct CableKey {
    int low, high;  // tiers; -1: NIC
    double gbps, metres;
    bool copper;
    auto operator<=>(const CableKey&) const = default;
  };
  struct CageKey {
    std::uint32_t network_switch;
    int low, high;
    double gbps;
    auto operator<=>(const CageKey&) const = default;
  };
  struct OpticsKey {
    int low, high;
    double gbps;
    int lanes;
    auto operator<=>(const OpticsKey&) const = default;
  };

  bool is_switch(std::uint32_t end) const { return end >= ports_; }
  const topologies::NetworkSwitch& at(std::uint32_t end) const { return n_.switches()[end - ports_]; }
  int tier(std::uint32_t end) const { return is_switch(end) ? at(end).tier : -1; }
  std::string tier_name(int t) const {
    static constexpr const char* names[] = {"leaf", "spine", "core"};
    if (t < 0) return "nic";
    if (direct_) return "router";
    return t < 3 ? names[t] : fmt::format("tier{}", t);
  }
  std::string between(int low, int high) const { return tier_name(low) + "-" + tier_name(high); }

  const CopperPrice* copper(double gbps) const {
    const auto it = p_.copper.lower_bound(gbps * (1 - 1e-9));
    return it == p_.copper.end() ? nullptr : &it->second;
  }

  /// Where nobody said a length: copper inside a rack, as far as a switch's machines fit in one.
  bool is_copper(double gbps, double metres, bool to_nic) {
    const auto* price = copper(gbps);
    if (!price) return false;
    if (metres > 0) return metres <= price->up_to;
    assumed_lengths_ = true;
    return to_nic && below_ <= p_.machines_per_rack;
  }

  void cable(const Cable& c) {
    const auto gbps = gbps_of(n_.cable_models()[c.model].bare);
    const auto rate = rate_as_bought(c, gbps);
    const auto metres = topologies::length_of(n_, c);
    const auto low = std::min(tier(c.a), tier(c.b)), high = std::max(tier(c.a), tier(c.b));
    const bool cu = is_copper(rate, metres, low < 0);
    cables_[{low, high, rate, metres, cu}] += c.count;
    for (const auto end : {c.a, c.b}) {
      if (is_switch(end)) {
        auto& used = used_[end - ports_];
        used.ports += c.count;
        used.gbps = std::max(used.gbps, rate);
      }
      if (cu) continue;
      if (is_switch(end))
        cages_[{end, low, high, rate}] += c.count;
      else
        optics_[{low, high, rate, 1}] += c.count;
    }
  }

  /// A cable that an override slowed is still the cable that was bought: its alike have the most common rate.
  double rate_as_bought(const Cable& c, double gbps) const {
    constexpr std::string_view slowed = "slowed from ";
    const auto& state = n_.cable_models()[c.model].state;
    if (!state.starts_with(slowed)) return gbps;
    const auto was = std::atof(state.c_str() + slowed.size());
    return was > 0 ? was : gbps;
  }

  void switches() {
    struct Boxes {
      std::int64_t count = 0;
      double ports = 0;  // of all that are plugged in, where the model says no number
      double gbps = 0;
    };
    std::map<std::pair<int, int>, Boxes> boxes;
    for (std::size_t s = 0; s < n_.switches().size(); ++s) {
      auto& b = boxes[{n_.switches()[s].tier, n_.switches()[s].model}];
      ++b.count;
      b.ports += static_cast<double>(used_[s].ports);
      b.gbps = std::max(b.gbps, used_[s].gbps);
    }
    for (const auto& [key, b] : boxes) {
      const auto& m = n_.switch_models()[static_cast<std::size_t>(key.second)];
      const auto ports = m.radix > 0 ? static_cast<double>(m.radix) : b.ports / static_cast<double>(b.count);
      const auto gbps = m.radix > 0 ? gbps_of(m.rate) : b.gbps;
      bom_.lines.push_back(line_of(bom_, BomKind::network_switch, m.name, tier_name(key.first), b.count,
                                   price_of_switch(p_, m.name, ports, gbps)));
    }
  }

  /// How many of a switch's cables of that rate share a transceiver.
  int lanes(std::uint32_t end, double gbps) const {
    const auto& m = n_.switch_models()[at(end).model];
    if (m.radix == 0) return 1;
    const auto it = p_.switches.find(m.name);
    const int per_cage = it == p_.switches.end() ? 1 : it->second.ports_per_cage;
    return per_cage * std::max(1, static_cast<int>(gbps_of(m.rate) / gbps + 1e-9));
  }

  void cages() {
    for (const auto& [key, ends] : cages_) {
      const auto n = lanes(key.network_switch, key.gbps);
      optics_[{key.low, key.high, key.gbps, n}] += (ends + n - 1) / n;
    }
  }

  void lines() {
    for (const auto& [key, count] : optics_) {
      const auto name = key.lanes > 1 ? fmt::format("{}x{} transceiver", key.lanes, rate_text(key.gbps))
                                      : rate_text(key.gbps) + " transceiver";
      bom_.lines.push_back(line_of(bom_, BomKind::optics, name, between(key.low, key.high), count,
                                   Prices::Data::at(p_.transceivers, key.gbps * key.lanes)));
    }
    for (const auto& [key, count] : cables_) {
      const auto length = key.metres > 0 ? fmt::format(", {:g} m", key.metres) : std::string{};
      auto price = p_.fibre;
      if (key.copper) price = *copper(key.gbps);
      if (!key.copper && !price.watts) price.watts = Figure{};  // glass draws nothing
      bom_.lines.push_back(line_of(bom_, BomKind::cable,
                                   rate_text(key.gbps) + (key.copper ? " copper" : " fibre") + length,
                                   between(key.low, key.high), count, price));
    }
  }

  void notes() {
    if (!assumed_lengths_) return;
    bom_.notes.push_back(fmt::format(
        "no lengths of cables are described: {} (say `lengths: [10 m, 30 m]` in the network)",
        below_ <= p_.machines_per_rack
            ? fmt::format("copper from the {} machines of a leaf, fits a rack, and optics elsewhere", below_)
            : fmt::format("optics everywhere, as the {} machines of a leaf fill more than a rack of {}", below_,
                          p_.machines_per_rack)));
  }

 public:
  static PartPrice price_of_switch(const Prices::Data& p, const std::string& name, double ports, double gbps) {
    PartPrice out;
    if (const auto it = p.switches.find(name); it != p.switches.end()) out = it->second;
    if (out.usd && out.watts) return out;
    auto by_port = times(Prices::Data::at(p.switch_ports, gbps), ports);
    for (auto* figure : {&by_port.usd, &by_port.watts})
      if (*figure) (*figure)->source = fmt::format("{:g} ports of {}: {}", ports, rate_text(gbps), (*figure)->source);
    if (!out.usd) out.usd = by_port.usd;
    if (!out.watts) out.watts = by_port.watts;
    return out;
  }

 private:
  const Network& n_;
  const Prices::Data& p_;
  BillOfMaterials& bom_;
  std::uint32_t ports_;
  bool direct_ = false, assumed_lengths_ = false;
  std::int64_t below_ = 0;
  std::vector<Used> used_;
  std::map<CableKey, std::int64_t> cables_;
  std::map<CageKey, std::int64_t> cages_;
  std::map<OpticsKey, std::int64_t> optics_;
};

/// A tree of switches with as many ports up as down, for networks that nobody described. With radix R, one switch joins
/// R ports, two tiers R^2/2, three R^3/4 (Al-Fares et al., SIGCOMM 2008).
/// `places`: the share of the machines' places for NICs that have one.
void assume_tree(const Network& n, double places, const Prices::Data& p, BillOfMaterials& bom) {
  const auto& fabric = n.model().name;
  const auto it = p.assumed.contains(fabric) ? p.assumed.find(fabric) : p.assumed.find("ethernet");
  std::map<double, std::int64_t> by_rate;
  for (const auto& c : n.cables()) by_rate[gbps_of(n.cable_models()[c.model].bare)] += c.count;
  if (it == p.assumed.end() || it->second.empty() || by_rate.empty()) {
    bom.notes.push_back("the network is not described: its switches and cables are not counted");
    return;
  }
  for (const auto& [gbps, all] : by_rate) {
    const auto ports = std::max<std::int64_t>(1, std::llround(static_cast<double>(all) * places));
    const auto& choices = it->second;
    const auto rate = gbps;
    auto box = std::ranges::find_if(choices, [&](const AssumedSwitch& s) { return s.gbps >= rate * (1 - 1e-9); });
    if (box == choices.end()) box = choices.end() - 1;
    const std::int64_t split = std::max<std::int64_t>(1, static_cast<std::int64_t>(box->gbps / gbps + 1e-9));
    const auto radix = box->ports * split, half = radix / 2;
    std::vector<std::int64_t> boxes;
    if (ports <= radix) {
      boxes = {1};
    } else {
      const auto leaves = (ports + half - 1) / half;
      if (leaves <= radix)
        boxes = {leaves, (leaves * half + radix - 1) / radix};
      else
        boxes = {leaves, leaves, (leaves * half + radix - 1) / radix};
    }
    static constexpr const char* tiers[] = {"leaf", "spine", "core"};
    static constexpr const char* cables[] = {"nic-leaf", "leaf-spine", "spine-core"};
    const auto sw = p.switches.find(box->name);
    const auto lanes = static_cast<int>(split) * (sw == p.switches.end() ? 1 : sw->second.ports_per_cage);
    const auto box_price = Counter::price_of_switch(p, box->name, box->ports, box->gbps);
    auto fibre = p.fibre;
    if (!fibre.watts) fibre.watts = Figure{};
    for (std::size_t t = 0; t < boxes.size(); ++t) {
      bom.lines.push_back(line_of(bom, BomKind::network_switch, box->name, tiers[t], boxes[t], box_price));
      const auto ends = t == 0 ? ports : 2 * boxes[0] * half;  // at switches
      const auto name =
          lanes > 1 ? fmt::format("{}x{} transceiver", lanes, rate_text(gbps)) : rate_text(gbps) + " transceiver";
      bom.lines.push_back(line_of(bom, BomKind::optics, name, cables[t], (ends + lanes - 1) / lanes,
                                  Prices::Data::at(p.transceivers, gbps * lanes)));
      if (t == 0)
        bom.lines.push_back(line_of(bom, BomKind::optics, rate_text(gbps) + " transceiver", cables[t], ports,
                                    Prices::Data::at(p.transceivers, gbps)));
      bom.lines.push_back(
          line_of(bom, BomKind::cable, rate_text(gbps) + " fibre", cables[t], t == 0 ? ports : boxes[0] * half, fibre));
    }
    bom.notes.push_back(
        fmt::format("estimate: the network is not described; counted is a tree of {} that blocks nothing, with optics "
                    "everywhere, for {} "
                    "ports of {}",
                    box->name, ports, rate_text(gbps)));
  }
}

/// NICs of these machines in all places for them (`nics` of a scenario leaves some empty).
double filled_places(const Cluster& cluster) {
  std::int64_t all = 0, there = 0;
  for (int i = 0; i < cluster.nodes(); ++i)
    for (const auto& d : cluster.machine(i).devices())
      if (d.kind == topologies::DeviceKind::nic) ++all, there += d.attributes.contains("absent") ? 0 : 1;
  return all == 0 ? 1 : static_cast<double>(there) / static_cast<double>(all);
}

/// Ports of these machines in all ports of the network.
double share_of(const Cluster& cluster) {
  const auto& n = cluster.network();
  if (n.ports() == 0) return 1;
  std::int64_t mine = 0;
  for (int i = 0; i < cluster.nodes(); ++i) {
    const auto devices = cluster.machine(i).devices();
    const auto nics = std::ranges::count(devices, topologies::DeviceKind::nic, &topologies::Device::kind);
    for (int nic = 0; nic < static_cast<int>(nics); ++nic)
      mine += static_cast<std::int64_t>(n.ports_of(cluster.original_node(i), nic).size());
  }
  return static_cast<double>(mine) / static_cast<double>(n.ports());
}

}  // namespace

BomLine line_of(BillOfMaterials& bom, BomKind kind, std::string part, std::string tier, std::int64_t count,
                const PartPrice& price) {
  BomLine line;
  line.kind = kind;
  line.part = std::move(part);
  line.tier = std::move(tier);
  line.count = count;
  line.priced = price.usd.has_value();
  line.metered = price.watts.has_value();
  if (price.usd) {
    line.usd = price.usd->band;
    line.source = price.usd->source;
    line.date = price.usd->date;
  } else if (std::ranges::find(bom.unpriced, line.part) == bom.unpriced.end()) {
    bom.unpriced.push_back(line.part);
    bom.notes.push_back(fmt::format("no price for '{}': counted without one", line.part));
  }
  if (price.watts) {
    line.watts = price.watts->band;
    if (line.source.empty()) line.date = price.watts->date;
    if (price.watts->source != line.source && !price.watts->source.empty())
      line.source += (line.source.empty() ? "watts: " : "; watts: ") + price.watts->source;
  } else {
    bom.notes.push_back(fmt::format("no watts for '{}': counted without", line.part));
  }
  return line;
}

void count_network(const Cluster& cluster, const Prices::Data& prices, BillOfMaterials& bom) {
  const auto& n = cluster.network();
  if (n.empty()) return;
  const auto first = bom.lines.size();
  if (n.generator() == "ideal")
    assume_tree(n, filled_places(cluster), prices, bom);
  else
    Counter{cluster, prices, bom}.run();
  const auto share = share_of(cluster);
  if (share >= 1) return;
  for (auto i = first; i < bom.lines.size(); ++i) bom.lines[i].share = share;
  bom.notes.push_back(
      fmt::format("of the network {:.3g} % are counted: these machines' share of its ports", 100 * share));
}

}  // namespace linkcast::planning
