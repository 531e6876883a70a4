// Leaf, spine and core: rail-optimised, rail-only, leaf-spine, dual-plane and k-ary fat trees are one construction
// with different rules for who shares a leaf and which leaves share spines. First all counts, then the switches.
//
//   unit   machines whose ports of one class share a leaf ("scalable unit", "segment", rack)
//   class  the ports of a machine that go to one leaf: a rail, or all of them
//   group  leaves that share spines; with a core, spine k of every group meets the others in core group k
//
// What a tier can plug in is counted in rate: a 400 Gb/s port splits into two of 200 Gb/s.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generators.hpp"

namespace linkcast::topologies {
namespace {

constexpr std::int64_t unbounded = std::int64_t{1} << 40;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Ports of `rate` that a switch has in a share of its capacity.
std::int64_t ports_at(const SwitchModel& m, sim::Rate rate, double share = 1.0) {
  if (m.radix == 0) return unbounded;
  const auto per_port =
      std::max(1.0, static_cast<double>(m.rate.bytes_per_second()) / static_cast<double>(rate.bytes_per_second()));
  return static_cast<std::int64_t>(std::floor(m.radix * std::floor(per_port) * share + 1e-9));
}

/// The fewest switches, at least `least`, over which `cables` spread evenly.
std::int64_t even(std::int64_t least, std::int64_t cables) {
  for (auto n = std::max<std::int64_t>(least, 1); n <= cables; ++n) {
    if (cables % n == 0) return n;
  }
  return 0;
}

/// Everything that is counted before anything is built. Counts are for one plane.
struct Counts {
  int planes = 1, classes = 1;
  std::int64_t units = 1, units_per_pod = 1, pods = 1;
  std::int64_t ports_per_leaf = 0;  // of machines
  std::int64_t uplinks = 0;         // of a leaf
  std::int64_t groups = 1, leaves_per_group = 1, spines_per_group = 0;
  std::int64_t spine_uplinks = 0, cores_per_group = 0;  // cores: of a core group; there are spines_per_group of those
  bool core = false;
  std::int64_t leaves() const { return units * classes; }
};

class Clos {
 public:
  explicit Clos(NetworkBuild& b) : b_{b}, p_{b.plan} {
    by_rail_ = p_.type == "rail_optimised" || p_.type == "rail_only" || p_.type == "dual_plane";
    rail_only_ = p_.type == "rail_only";
    fat_tree_ = p_.type == "fat_tree";
    for (const auto& n : p_.nics) port_rate_ = std::max(port_rate_, std::min(n.rate, p_.switches[0].rate));
    for (int t = 0; t < 2; ++t) {
      const auto both = std::min(p_.switches[t].rate, p_.switches[t + 1].rate);
      up_rate_[t] = p_.uplink_rate[t] > sim::Rate{} ? std::min(p_.uplink_rate[t], both) : both;
    }
  }

  std::shared_ptr<Network::Data> build() {
    if (!(classes() && units() && spines() && cores() && fits())) return nullptr;
    b_.add_machines();
    make_leaves();
    make_spines();
    return b_.data;
  }

 private:
  bool refuse(std::string_view key, std::string problem, std::string help) {
    b_.refuse(key, std::move(problem), std::move(help));
    return false;
  }

  int rail_of(int nic) const {
    const int rail = p_.nics[static_cast<std::size_t>(nic)].rail;
    return p_.rails > 0 ? rail % p_.rails : rail;
  }

  /// Planes, classes, and which ports of a machine each class has.
  bool classes() {
    const bool planes = p_.type == "dual_plane" || p_.planes > 1;
    for (const auto& n : p_.nics) n_.planes = planes ? std::max(n_.planes, n.ports) : 1;
    if (planes && n_.planes < 2)
      return refuse("planes", "a NIC with one port has one plane",
                    "write `planes: 2`: each NIC's rate is split over two ports");
    if (by_rail_) {
      std::vector<int> rails;
      for (std::size_t i = 0; i < p_.nics.size(); ++i) rails.push_back(rail_of(static_cast<int>(i)));
      std::ranges::sort(rails);
      rails.erase(std::ranges::unique(rails).begin(), rails.end());
      rails_ = rails;
      n_.classes = static_cast<int>(rails.size());
    }
    std::vector<std::int64_t> count(static_cast<std::size_t>(n_.classes * n_.planes), 0);
    for (std::size_t i = 0; i < p_.nics.size(); ++i) {
      for (int port = 0; port < p_.nics[i].ports; ++port) {
        const auto c = static_cast<std::size_t>(class_of(static_cast<int>(i)) * n_.planes + plane_of(port));
        place_.push_back({static_cast<int>(c), static_cast<int>(count[c]++)});
      }
    }
    per_node_ = *std::ranges::max_element(count);
    return true;
  }
  int class_of(int nic) const {
    if (!by_rail_) return 0;
    return static_cast<int>(std::ranges::lower_bound(rails_, rail_of(nic)) - rails_.begin());
  }
  int plane_of(int port) const { return n_.planes > 1 ? port % n_.planes : 0; }

  bool units() {
    const auto& leaf = p_.switches[0];
    const double o = p_.oversubscription[0];
    const auto all = std::int64_t{p_.nodes} * per_node_;
    const auto whole = ports_at(leaf, port_rate_);
    single_leaf_ = rail_only_ && p_.nodes_per_unit == 0 && all <= whole && p_.uplinks[0] == 0;
    if (p_.nodes_per_unit > 0) {
      n_.ports_per_leaf = p_.nodes_per_unit * per_node_;
    } else if (single_leaf_) {
      n_.ports_per_leaf = all;
    } else {
      const auto up =
          std::int64_t{p_.uplinks[0]} * ceil_div(up_rate_[0].bytes_per_second(), port_rate_.bytes_per_second());
      const auto down = fat_tree_           ? p_.k / 2
                        : p_.uplinks[0] > 0 ? std::max<std::int64_t>(0, whole - up)
                                            : ports_at(leaf, port_rate_, o / (1 + o));
      // Rails fill leaf after leaf where a machine has several ports on each; else a machine is never split.
      n_.ports_per_leaf = by_rail_ ? down : down / per_node_ * per_node_;
      if (n_.ports_per_leaf >= unbounded) n_.ports_per_leaf = all;
    }
    if (n_.ports_per_leaf < 1 || n_.ports_per_leaf > whole) {
      return refuse(p_.nodes_per_unit > 0 ? "nodes_per_unit" : "switch",
                    fmt::format("{} ports of each node on a leaf, but {} has {} ports of {:g} Gb/s", per_node_,
                                leaf.name, whole, port_rate_.GBps() * 8),
                    fmt::format("at most {} nodes on a leaf", whole / per_node_));
    }
    n_.units = ceil_div(all, n_.ports_per_leaf);
    const double down_rate =
        static_cast<double>(n_.ports_per_leaf) * static_cast<double>(port_rate_.bytes_per_second());
    const double up_rate = static_cast<double>(up_rate_[0].bytes_per_second());
    if (fat_tree_) {
      n_.uplinks = p_.k / 2;
    } else if (p_.uplinks[0] > 0) {
      n_.uplinks = p_.uplinks[0];
    } else if (!single_leaf_ && !(rail_only_ && n_.units == 1)) {
      n_.uplinks = static_cast<std::int64_t>(std::ceil(down_rate / (o * up_rate) - 1e-9));
    }
    const auto leaf_rate = static_cast<double>(leaf.radix) * static_cast<double>(leaf.rate.bytes_per_second());
    if (leaf.radix > 0 && down_rate + static_cast<double>(n_.uplinks) * up_rate > leaf_rate * (1 + 1e-9)) {
      return refuse(p_.uplinks[0] > 0       ? "uplinks"
                    : p_.nodes_per_unit > 0 ? "nodes_per_unit"
                                            : "switch",
                    fmt::format("a leaf needs {} ports of {:g} Gb/s for nodes and {} of {:g} Gb/s for spines, more "
                                "than {} has ({} of {:g} Gb/s)",
                                n_.ports_per_leaf, port_rate_.GBps() * 8, n_.uplinks, up_rate_[0].GBps() * 8, leaf.name,
                                leaf.radix, leaf.rate.GBps() * 8),
                    "take fewer nodes_per_unit or uplinks, or more oversubscription");
    }
    return true;
  }

  /// Which leaves share spines, and how many spines they need.
  bool spines() {
    if (n_.uplinks == 0) return true;
    const auto& spine = p_.switches[1];
    const auto all = fat_tree_ ? p_.k : ports_at(spine, up_rate_[0]);
    const auto flat_leaves = rail_only_ ? n_.units : n_.leaves();
    const auto flat = [&](std::int64_t leaves) { return leaves <= all && n_.uplinks > 0; };
    n_.core = fat_tree_ || p_.core || p_.units_per_pod > 0 || p_.cores > 0 || p_.uplinks[1] > 0 || !flat(flat_leaves);
    if (rail_only_) {
      if (!flat(flat_leaves)) {
        const auto most = all * n_.ports_per_leaf / per_node_;
        return refuse("", fmt::format("{} nodes, but the spines of one rail join at most {}", p_.nodes, most),
                      "take fewer nodes, or type rail_optimised");
      }
      n_.core = false;
    }
    n_.units_per_pod = n_.units;
    n_.leaves_per_group = rail_only_ ? n_.units : n_.leaves();
    n_.groups = rail_only_ ? n_.classes : 1;
    auto down = all;
    if (n_.core) {
      const double o = p_.oversubscription[1];
      down = fat_tree_           ? p_.k / 2
             : p_.uplinks[1] > 0 ? std::max<std::int64_t>(
                                       0, all - std::int64_t{p_.uplinks[1]} * ceil_div(up_rate_[1].bytes_per_second(),
                                                                                       up_rate_[0].bytes_per_second()))
                                 : ports_at(spine, up_rate_[0], o / (1 + o));
      by_rail_groups_ = by_rail_ && p_.spines_by_rail && n_.classes > 1;
      const auto classes = by_rail_groups_ ? 1 : n_.classes;
      const auto most = down / classes;  // units that one group of spines can serve
      if (most < 1)
        return refuse("switch", fmt::format("a spine joins {} leaves, but a unit has {}", down, classes),
                      "take a larger spine_switch");
      if (p_.units_per_pod > most) {
        return refuse("units_per_pod", fmt::format("a spine joins the leaves of at most {} units", most),
                      "take fewer, or a larger spine_switch");
      }
      n_.pods = ceil_div(n_.units, p_.units_per_pod > 0 ? p_.units_per_pod : fat_tree_ ? down : most);
      n_.units_per_pod = p_.units_per_pod > 0 ? p_.units_per_pod : fat_tree_ ? down : ceil_div(n_.units, n_.pods);
      n_.leaves_per_group = n_.units_per_pod * classes;
      n_.groups = n_.pods * (by_rail_groups_ ? n_.classes : 1);
      if (fat_tree_ && n_.pods > p_.k) return too_many(p_.k * down);
      if (n_.groups == 1 && !fat_tree_ && !p_.core && p_.cores == 0) n_.core = false;  // nothing to join
    }
    const auto total = n_.leaves_per_group * n_.uplinks;
    const auto given = p_.spines > 0 ? p_.spines / (n_.groups * n_.planes) : 0;
    if (p_.spines > 0 && given * n_.groups * n_.planes != p_.spines) {
      return refuse("spines",
                    fmt::format("{} spines do not divide among {} groups of leaves", p_.spines, n_.groups * n_.planes),
                    fmt::format("a multiple of {}", n_.groups * n_.planes));
    }
    n_.spines_per_group = fat_tree_   ? p_.k / 2
                          : given > 0 ? given
                                      : even(ceil_div(total, std::max<std::int64_t>(down, 1)), n_.uplinks);
    if (n_.spines_per_group == 0 || n_.spines_per_group > n_.uplinks) {
      return refuse(
          p_.spines > 0 ? "spines" : "uplinks",
          fmt::format("{} uplinks of a leaf do not reach the {} spines that {} leaves need", n_.uplinks,
                      given > 0 ? given : ceil_div(total, std::max<std::int64_t>(down, 1)), n_.leaves_per_group),
          "take fewer units_per_pod, or more uplinks of a lower uplink_rate");
    }
    const auto needed = ceil_div(total, n_.spines_per_group);
    if (needed > down) {
      return refuse(
          p_.spines > 0 ? "spines" : "spine_switch",
          fmt::format("each of {} spines gets {} cables from leaves, but {} has {} ports for them", n_.spines_per_group,
                      needed, spine.name, down),
          fmt::format("at least {} spines", ceil_div(total, std::max<std::int64_t>(down, 1)) * n_.groups * n_.planes));
    }
    return true;
  }

  bool too_many(std::int64_t units) {
    const auto most = units * n_.ports_per_leaf / per_node_;
    return refuse("", fmt::format("{} nodes, but this network has ports for {}", p_.nodes, most),
                  fmt::format("at most {} nodes", most));
  }

  bool cores() {
    if (!n_.core) return true;
    const double o = p_.oversubscription[1];
    const auto down = ceil_div(n_.leaves_per_group * n_.uplinks, n_.spines_per_group);
    n_.spine_uplinks = fat_tree_ ? p_.k / 2
                       : p_.uplinks[1] > 0
                           ? p_.uplinks[1]
                           : static_cast<std::int64_t>(std::ceil(
                                 static_cast<double>(down) * static_cast<double>(up_rate_[0].bytes_per_second()) /
                                     (o * static_cast<double>(up_rate_[1].bytes_per_second())) -
                                 1e-9));
    const auto ports = fat_tree_ ? p_.k : ports_at(p_.switches[2], up_rate_[1]);
    if (n_.groups > ports) {
      if (fat_tree_) return too_many(p_.k * p_.k / 2);
      const auto most = ports / (by_rail_groups_ ? n_.classes : 1) * n_.units_per_pod * n_.ports_per_leaf / per_node_;
      return refuse(
          "", fmt::format("{} nodes need {} groups of spines, but a core switch joins {}", p_.nodes, n_.groups, ports),
          fmt::format("at most {} nodes with these switches", most));
    }
    const auto core_groups = n_.spines_per_group * n_.planes;
    const auto given = p_.cores > 0 ? p_.cores / core_groups : 0;
    if (p_.cores > 0 && given * core_groups != p_.cores) {
      return refuse("cores", fmt::format("{} cores do not divide among {} core groups", p_.cores, core_groups),
                    fmt::format("a multiple of {}: one group for each spine of a pod", core_groups));
    }
    n_.cores_per_group = fat_tree_   ? p_.k / 2
                         : given > 0 ? given
                                     : even(ceil_div(n_.groups * n_.spine_uplinks, ports), n_.spine_uplinks);
    if (n_.cores_per_group == 0 || n_.cores_per_group > n_.spine_uplinks) {
      return refuse("cores",
                    fmt::format("{} uplinks of a spine do not reach {} cores", n_.spine_uplinks, n_.cores_per_group),
                    "take fewer cores");
    }
    if (ceil_div(n_.groups * n_.spine_uplinks, n_.cores_per_group) > ports) {
      return refuse("cores",
                    fmt::format("{} cores of {} ports do not take {} cables of each core group", n_.cores_per_group,
                                ports, n_.groups * n_.spine_uplinks),
                    "take more cores");
    }
    return true;
  }

  bool fits() {
    const bool bundle = p_.routing == models::Routing::adaptive || p_.routing == models::Routing::spray;
    const auto planes = static_cast<double>(n_.planes);
    const auto spines = static_cast<double>(n_.groups * n_.spines_per_group);
    const auto leaf_cables =
        static_cast<double>(n_.leaves()) * static_cast<double>(bundle ? n_.spines_per_group : n_.uplinks);
    const auto spine_cables = spines * static_cast<double>(bundle ? n_.cores_per_group : n_.spine_uplinks);
    const auto cores = static_cast<double>(n_.cores_per_group * n_.spines_per_group);
    return b_.fits(planes * (static_cast<double>(n_.leaves()) + spines + cores), planes * (leaf_cables + spine_cables));
  }

  /// Leaf of a unit, class and plane.
  std::uint32_t leaf(std::int64_t unit, std::int64_t c, int plane) const {
    return static_cast<std::uint32_t>((plane * n_.units + unit) * n_.classes + c);
  }

  void make_leaves() {
    const auto model = b_.switch_model(p_.switches[0]);
    const auto label = [&](int plane) { return n_.planes > 1 ? plane : -1; };
    for (int plane = 0; plane < n_.planes; ++plane) {
      for (std::int64_t unit = 0; unit < n_.units; ++unit) {
        for (int c = 0; c < n_.classes; ++c)
          b_.add_switch(0, model, by_rail_ ? rails_[static_cast<std::size_t>(c)] : -1, label(plane),
                        static_cast<int>(unit));
      }
    }
    const auto per_node = place_.size();
    std::vector<std::uint16_t> cable;
    for (const auto& n : p_.nics) cable.push_back(b_.cable_model(std::min(n.rate, p_.switches[0].rate), 0));
    b_.data->cables.reserve(b_.data->places.size());
    for (std::size_t port = 0; port < b_.data->places.size(); ++port) {
      const auto& at = b_.data->places[port];
      const auto& mine = place_[port % per_node];
      const auto unit = (at.node * per_node_ + mine.position) / n_.ports_per_leaf;
      const auto sw = SwitchId{leaf(unit, mine.slot / n_.planes, mine.slot % n_.planes)};
      b_.connect(static_cast<std::uint32_t>(port), b_.data->end(sw), cable[static_cast<std::size_t>(at.nic)], 1);
    }
  }

  /// `cables` from one switch over `n` others, as evenly as they go; who gets one more rotates with `turn`.
  template <typename To>
  void deal(std::uint32_t from, std::int64_t cables, std::int64_t n, std::int64_t turn, std::uint16_t model, To to) {
    const auto each = cables / n, extra = cables % n;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto count = each + ((i - turn * extra % n + n) % n < extra ? 1 : 0);
      if (count > 0) b_.connect(from, to(i), model, static_cast<int>(count));
    }
  }

  void make_spines() {
    if (n_.uplinks == 0) return;
    const auto spine_model = b_.switch_model(p_.switches[1]);
    const auto up = b_.cable_model(up_rate_[0], 1);
    std::vector<SwitchId> spines;  // by plane, group, spine
    for (int plane = 0; plane < n_.planes; ++plane) {
      for (std::int64_t g = 0; g < n_.groups; ++g) {
        const auto c = g % n_.classes;
        const bool rail = rail_only_ || by_rail_groups_;
        for (std::int64_t s = 0; s < n_.spines_per_group; ++s)
          spines.push_back(b_.add_switch(1, spine_model, rail ? rails_[static_cast<std::size_t>(c)] : -1,
                                         n_.planes > 1 ? plane : -1, static_cast<int>(rail ? g / n_.classes : g)));
      }
    }
    for (int plane = 0; plane < n_.planes; ++plane) {
      for (std::int64_t unit = 0; unit < n_.units; ++unit) {
        for (int c = 0; c < n_.classes; ++c) {
          const auto pod = unit / n_.units_per_pod;
          const auto group = rail_only_ || by_rail_groups_ ? pod * n_.classes + c : pod;
          const auto first = (plane * n_.groups + group) * n_.spines_per_group;
          deal(b_.data->end(SwitchId{leaf(unit, c, plane)}), n_.uplinks, n_.spines_per_group, unit * n_.classes + c, up,
               [&](std::int64_t s) { return b_.data->end(spines[static_cast<std::size_t>(first + s)]); });
        }
      }
    }
    if (n_.core) make_cores(spines);
  }

  void make_cores(const std::vector<SwitchId>& spines) {
    const auto model = b_.switch_model(p_.switches[2]);
    const auto up = b_.cable_model(up_rate_[1], 2);
    std::vector<SwitchId> cores;  // by plane, core group, core
    for (int plane = 0; plane < n_.planes; ++plane) {
      for (std::int64_t k = 0; k < n_.spines_per_group; ++k) {
        for (std::int64_t i = 0; i < n_.cores_per_group; ++i)
          cores.push_back(b_.add_switch(2, model, -1, n_.planes > 1 ? plane : -1, static_cast<int>(k)));
      }
    }
    for (std::size_t i = 0; i < spines.size(); ++i) {
      const auto s = static_cast<std::int64_t>(i);
      const auto plane = s / (n_.groups * n_.spines_per_group);
      const auto k = s % n_.spines_per_group;
      const auto group = s / n_.spines_per_group % n_.groups;
      const auto first = (plane * n_.spines_per_group + k) * n_.cores_per_group;
      deal(b_.data->end(spines[i]), n_.spine_uplinks, n_.cores_per_group, group, up,
           [&](std::int64_t c) { return b_.data->end(cores[static_cast<std::size_t>(first + c)]); });
    }
  }

  NetworkBuild& b_;
  const NetworkPlan& p_;
  Counts n_;
  bool by_rail_ = false, rail_only_ = false, fat_tree_ = false, single_leaf_ = false, by_rail_groups_ = false;
  sim::Rate port_rate_, up_rate_[2];
  std::vector<int> rails_;  // the rail of each class
  struct Slot {
    int slot = 0;      // class * planes + plane
    int position = 0;  // among the machine's ports there
  };
  std::vector<Slot> place_;    // by port of a machine
  std::int64_t per_node_ = 0;  // ports of a machine on one leaf
};

}  // namespace

std::shared_ptr<Network::Data> generate_clos(NetworkBuild& b) { return Clos{b}.build(); }

}  // namespace linkcast::topologies
