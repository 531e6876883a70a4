// ibnetdiscover -> ImportedNetwork: which adapters are hosts', which number they have in their host, what the switches
// are called. The lines are read by ib_text.cpp; tiers, rails and groups are found by import_shape.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "host_list.hpp"
#include "ib_text.hpp"
#include "import_parts.hpp"
#include "import_shape.hpp"
#include "import_text.hpp"
#include "natural_order.hpp"

namespace linkcast::topologies {
namespace {

using Index = std::size_t;

enum class Role : unsigned char { network_switch, host, nameless, aggregation, router };

/// "node001 mlx5_5", "node018 HCA-6", "gpu-12 ibp24s0".
struct AdapterName {
  std::string host, device;
  std::string key;  // the same for mlx5_5 and HCA-6: both are the sixth
};

std::optional<std::uint32_t> number_after(std::string_view text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
  text.remove_prefix(prefix.size());
  if (text.empty() || text.size() > 4) return std::nullopt;
  std::uint32_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return n;
}

std::string key_of(std::string_view device) {
  for (const auto* prefix : {"mlx5_", "mlx4_"}) {
    if (const auto n = number_after(device, prefix)) return fmt::format("hca {}", *n);
  }
  if (const auto n = number_after(device, "HCA-"); n && *n > 0) return fmt::format("hca {}", *n - 1);
  return std::string{device};
}

/// Nothing where the description is the vendor's: the driver of that adapter has not been told its host's name.
std::optional<AdapterName> adapter_name(std::string_view description) {
  const auto space = description.find(' ');
  const auto host = description.substr(0, space);
  auto device = space == std::string_view::npos ? std::string_view{} : trimmed(description.substr(space));
  if (host.empty() || host == "localhost" || host == "(none)" || host == "localhost.localdomain") return std::nullopt;
  for (const auto* vendor : {"Mellanox Technologies", "NVIDIA Corporation", "ConnectX", "Connect-IB", "InfiniHost"}) {
    if (description.find(vendor) != std::string_view::npos) return std::nullopt;
  }
  if (number_after(host, "MT") || host == "Quantum" || host == "Quantum-2") return std::nullopt;
  if (host.size() > 256 || !std::all_of(host.begin(), host.end(), name_character)) return std::nullopt;
  device = device.substr(0, device.find(' '));
  return AdapterName{std::string{host}, std::string{device}, key_of(device)};
}

bool aggregates(const IbNode& n) {
  // 0xcf09: device id of the SHARP aggregation node inside a switch.
  return n.kind == 'H' && (n.device == 0xcf09 || n.description.find("Aggregation Node") != std::string_view::npos);
}

/// The part of the catalog that a switch is, or nothing.
std::string_view part_of(const IbNode& n) {
  struct Kind {
    std::uint32_t device;  // PCI device id (pci.ids)
    std::uint16_t ports;
    std::string_view part;
  };
  static constexpr Kind kinds[] = {
      {0xcb20, 36, "edr-36"},   // Switch-IB
      {0xcf08, 36, "edr-36"},   // Switch-IB 2
      {0xd2f0, 80, "qm8790"},   // Quantum
      {0xd2f2, 128, "qm9700"},  // Quantum-2
      {0xd2f4, 144, "q3400"},   // Quantum-3
  };
  for (const auto& k : kinds) {
    // One port more is the one inside, of the aggregation node. With many more it is a larger box on the same chips.
    if (k.device == n.device && n.ports <= k.ports + 1) return k.part;
  }
  return {};
}

class Importer {
 public:
  Importer(const ImportInput& in, IbFabric fabric) : in_{in}, ib_{std::move(fabric)} {}

  ImportedNetwork import() {
    roles();
    if (hosts_.empty()) {
      in_.problems.add(in_.file, ib_.nodes.front().line, ib_.nodes.front().column,
                       "no host: no adapter's description names one, as \"node001 mlx5_0\" does",
                       "run ibnetdiscover when the hosts' rdma-ndd has set the descriptions, or with --node-name-map");
      return {};
    }
    number_nics();
    switches();
    cables();
    find_shape(net_, adapters_, in_.notes);
    put_in_order(net_);
    tell();
    return std::move(net_);
  }

 private:
  struct Adapter {
    std::uint32_t node;
    std::string device, key;
    int nic = 0;
  };
  struct Host {
    std::vector<Adapter> adapters;
  };

  void roles() {
    role_.resize(ib_.nodes.size());
    for (Index i = 0; i < ib_.nodes.size(); ++i) {
      const auto& n = ib_.nodes[i];
      auto& role = role_[i];
      if (n.kind == 'S') {
        role = Role::network_switch;
      } else if (n.kind == 'R') {
        role = Role::router;
      } else if (aggregates(n)) {
        role = Role::aggregation;
      } else if (auto name = adapter_name(n.description)) {
        role = Role::host;
        hosts_[std::move(name->host)].adapters.push_back(
            {static_cast<std::uint32_t>(i), std::move(name->device), std::move(name->key), 0});
      } else {
        role = Role::nameless;
      }
    }
  }

  /// A host's NICs are numbered by the names of its devices. Hosts that lack one keep the numbers of the others: the
  /// set of names that most hosts have says where the gap is.
  void number_nics() {
    std::map<std::vector<std::string>, int> sets;
    for (auto& [name, host] : hosts_) {
      std::sort(host.adapters.begin(), host.adapters.end(), [&](const Adapter& a, const Adapter& b) {
        if (a.key != b.key) return natural_less(a.key, b.key);
        return ib_.nodes[a.node].guid < ib_.nodes[b.node].guid;
      });
      sets[keys(host)]++;
    }
    std::vector<std::pair<std::vector<std::string>, int>> order{sets.begin(), sets.end()};
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    // For each set the first (most frequent) larger set that contains it; else it stands for itself. At most so many
    // are compared, that a file with ten thousand different sets costs no more than one with a hundred.
    std::vector<const std::vector<std::string>*> patterns;
    std::map<std::vector<std::string>, const std::vector<std::string>*> pattern_of;
    auto larger_first = order;
    std::stable_sort(larger_first.begin(), larger_first.end(),
                     [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    for (const auto& [set, n] : larger_first) {
      const std::vector<std::string>* found = nullptr;
      int best = 0;
      for (Index i = 0; i < std::min(patterns.size(), Index{100}); ++i) {
        if (patterns[i]->size() <= set.size() || sets[*patterns[i]] <= best) continue;
        const auto inside = [&](const std::string& k) {
          return std::find(patterns[i]->begin(), patterns[i]->end(), k) != patterns[i]->end();
        };
        if (std::all_of(set.begin(), set.end(), inside)) {
          found = patterns[i];
          best = sets[*found];
        }
      }
      const auto own = sets.find(set);
      pattern_of[set] = found ? found : &own->first;
      if (!found) patterns.push_back(&own->first);
    }
    usual_ = *pattern_of[order.front().first];
    std::vector<std::map<std::string, int>> names;
    for (auto& [name, host] : hosts_) {
      const auto& pattern = *pattern_of[keys(host)];
      names.resize(std::max(names.size(), pattern.size()));
      for (auto& a : host.adapters) {
        a.nic = static_cast<int>(std::find(pattern.begin(), pattern.end(), a.key) - pattern.begin());
        if (pattern == usual_) names[static_cast<Index>(a.nic)][a.device]++;
      }
    }
    for (const auto& n : names) {
      const auto most =
          std::max_element(n.begin(), n.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      net_.nic_names.push_back(most == n.end() ? fmt::format("nic {}", net_.nic_names.size()) : most->first);
    }
    if (net_.nic_names.size() == 1 && net_.nic_names[0].empty()) net_.nic_names.clear();
  }

  static std::vector<std::string> keys(const Host& host) {
    std::vector<std::string> out;
    for (const auto& a : host.adapters) {
      if (out.empty() || out.back() != a.key) out.push_back(a.key);
    }
    return out;
  }

  /// "MF0;leaf01:MQM9701/U1" is leaf01; the chips of one chassis are told apart by what follows: "sw00/L01".
  struct SwitchName {
    std::string base, chip;
  };
  static SwitchName switch_name(const IbNode& n) {
    auto text = n.description;
    if (text.substr(0, 4) == "MF0;") {
      text.remove_prefix(4);
      const auto colon = text.find(':');
      auto base = text.substr(0, colon);
      auto chip = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
      const auto slash = chip.find('/');
      chip = slash == std::string_view::npos ? std::string_view{} : chip.substr(slash + 1);
      if (const auto u1 = chip.find("/U1"); u1 != std::string_view::npos) chip = chip.substr(0, u1);
      return {clean(base), clean(chip)};
    }
    // The vendor's own description, the same on every box.
    if (text.empty() || text.find("Technologies") != std::string_view::npos) return {"switch-" + ib_guid(n.guid), {}};
    const auto space = text.find(' ');
    return {clean(text.substr(0, space)), {}};
  }

  static std::string clean(std::string_view text) {
    std::string out;
    for (const char c : text) {
      const auto u = static_cast<unsigned char>(c);
      const bool plain = (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z') || c == '-' ||
                         c == '_' || c == '.' || c == '/';
      out += plain ? c : '-';
    }
    return out;
  }

  void switches() {
    std::vector<SwitchName> names;
    std::unordered_map<std::string, int> bases, full;
    switch_of_.assign(ib_.nodes.size(), -1);
    for (Index i = 0; i < ib_.nodes.size(); ++i) {
      if (role_[i] != Role::network_switch) continue;
      switch_of_[i] = static_cast<int>(names.size());
      names.push_back(switch_name(ib_.nodes[i]));
      bases[names.back().base]++;
    }
    for (auto& n : names) {
      if (bases[n.base] > 1 && !n.chip.empty()) n.base += "/" + n.chip;
      full[n.base]++;
    }
    for (Index i = 0; i < ib_.nodes.size(); ++i) {
      if (switch_of_[i] < 0) continue;
      auto& base = names[static_cast<Index>(switch_of_[i])].base;
      ImportedSwitch s;
      s.name = full[base] > 1 || base.empty() ? fmt::format("{}-{}", base, ib_guid(ib_.nodes[i].guid)) : base;
      s.model = part_of(ib_.nodes[i]);
      if (s.model.empty()) ++strange_models_;
      net_.switches.push_back(std::move(s));
    }
    adapters_.assign(net_.switches.size(), 0);
    for (const auto& l : ib_.links) {
      for (const auto& [end, other] : {std::pair{l.a, l.b}, std::pair{l.b, l.a}}) {
        const auto r = role_[other.node];
        if (switch_of_[end.node] >= 0 && (r == Role::host || r == Role::nameless)) {
          adapters_[static_cast<Index>(switch_of_[end.node])]++;
        }
      }
    }
  }

  void cables() {
    // What each node of the file is on our side.
    std::vector<std::pair<int, int>> place(ib_.nodes.size(), {-1, 0});  // host, NIC
    std::vector<std::string> names;
    for (const auto& [name, host] : hosts_) names.push_back(name);
    std::sort(names.begin(), names.end(), natural_less);
    for (Index h = 0; h < names.size(); ++h) {
      for (const auto& a : hosts_[names[h]].adapters) place[a.node] = {static_cast<int>(h), a.nic};
    }
    net_.hosts = names;

    std::map<double, int> rates;
    for (const auto& l : ib_.links) {
      if (l.speed.lanes && usable(l.a) && usable(l.b)) rates[l.speed.gbps]++;
    }
    const auto usual =
        std::max_element(rates.begin(), rates.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const double usual_rate = usual == rates.end() ? 0 : usual->first;
    std::map<double, std::vector<std::string>> slower;
    for (const auto& l : ib_.links) {
      if (!usable(l.a) || !usable(l.b)) {
        ++left_out_;
        continue;
      }
      ImportedCable c;
      c.from = end(l.a, place);
      c.to = end(l.b, place);
      if (c.from.host >= 0 && c.to.host >= 0) {
        ++back_to_back_;
        continue;
      }
      if (!l.speed.lanes) ++silent_;
      const double rate = l.speed.lanes ? l.speed.gbps : usual_rate;
      if (rate > 0) c.rate = fmt::format("{} Gb/s", rate);
      if (rate < usual_rate) slower[rate].push_back(named(l.a, place) + " - " + named(l.b, place));
      net_.cables.push_back(std::move(c));
    }
    number_ports();
    for (const auto& [rate, ends] : slower) {
      in_.notes.know(fmt::format("{} at {} Gb/s where most have {}: kept ({})", counted(ends.size(), "cable", "cables"),
                                 rate, usual_rate, some_of(ends)));
    }
    if (silent_ > 0) {
      const auto cables = counted(static_cast<Index>(silent_), "cable", "cables");
      if (usual_rate > 0) {
        in_.notes.assume(fmt::format("{} without a speed in the file: {} Gb/s, as most have", cables, usual_rate));
      } else {
        in_.notes.assume(fmt::format("{} without a speed in the file: that of their ports in the catalog", cables));
      }
    }
    if (usual_rate > 0) usual_rate_ = usual_rate;
  }

  bool usable(IbPort p) const { return role_[p.node] == Role::network_switch || role_[p.node] == Role::host; }
  ImportedEnd end(IbPort p, const std::vector<std::pair<int, int>>& place) const {
    ImportedEnd e;
    if (switch_of_[p.node] >= 0) {
      e.network_switch = switch_of_[p.node];
    } else {
      e.host = place[p.node].first;
      e.nic = place[p.node].second;
      e.port = p.port;
    }
    return e;
  }
  std::string named(IbPort p, const std::vector<std::pair<int, int>>& place) const {
    if (switch_of_[p.node] >= 0) return net_.switches[static_cast<Index>(switch_of_[p.node])].name;
    const auto [host, nic] = place[p.node];
    return net_.nic_names.empty()
               ? net_.hosts[static_cast<Index>(host)]
               : net_.hosts[static_cast<Index>(host)] + " " + net_.nic_names[static_cast<Index>(nic)];
  }

  /// Ports of one NIC count from 0 in the order of the file's numbers; where no NIC has several, none has a number.
  void number_ports() {
    std::map<std::pair<int, int>, std::vector<Index>> of_nic;
    for (Index i = 0; i < net_.cables.size(); ++i) {
      const auto& e = net_.cables[i].from.host >= 0 ? net_.cables[i].from : net_.cables[i].to;
      if (e.host >= 0) of_nic[{e.host, e.nic}].push_back(i);
    }
    const bool several = std::any_of(of_nic.begin(), of_nic.end(), [](const auto& n) { return n.second.size() > 1; });
    for (auto& [nic, cables] : of_nic) {
      int port = several ? 0 : -1;
      for (const auto i : cables) {
        auto& e = net_.cables[i].from.host >= 0 ? net_.cables[i].from : net_.cables[i].to;
        e.port = port;
        if (port >= 0) ++port;
      }
      if (cables.size() > 1) ++many_ports_;
    }
  }

  void tell() {
    auto& notes = in_.notes;
    net_.fabric = "ib";
    // Hosts by how many of the usual NICs have a cable.
    std::vector<std::set<int>> wired(net_.hosts.size());
    std::vector<std::string> wrong;
    std::map<int, Index> tiers;
    Index between = 0, to_hosts = 0;
    for (const auto& s : net_.switches) tiers[s.tier]++;
    for (const auto& c : net_.cables) {
      if (c.from.host < 0) {
        between += static_cast<Index>(c.count);
        continue;
      }
      to_hosts += static_cast<Index>(c.count);
      wired[static_cast<Index>(c.from.host)].insert(c.from.nic);
      const auto& leaf = net_.switches[static_cast<Index>(c.to.network_switch)];
      if (leaf.rail >= 0 && leaf.rail != c.from.nic) {
        wrong.push_back(fmt::format("{} {} on {}", net_.hosts[static_cast<Index>(c.from.host)],
                                    net_.nic_names[static_cast<Index>(c.from.nic)], leaf.name));
      }
    }
    std::vector<std::string> counts;
    for (const auto& [tier, n] : tiers) {
      counts.push_back(tier == 0   ? counted(n, "leaf", "leaves")
                       : tier == 1 ? counted(n, "spine", "spines")
                       : tier == 2 ? counted(n, "core", "cores")
                       : tier < 0  ? counted(n, "that serves no host", "that serve no host")
                                   : fmt::format("{} of tier {}", n, tier));
    }
    notes.know(fmt::format("{} with {} cabled; {}", counted(net_.hosts.size(), "host", "hosts"),
                           counted(to_hosts, "adapter port", "adapter ports"),
                           net_.nic_names.empty() ? "one adapter each"
                                                  : "adapters " + fmt::format("{}", fmt::join(net_.nic_names, ", "))));
    notes.know(fmt::format("{} ({}), {} between them", counted(net_.switches.size(), "switch", "switches"),
                           fmt::join(counts, ", "), counted(between, "cable", "cables")));
    if (usual_rate_ > 0) notes.know(fmt::format("most cables carry {} Gb/s", usual_rate_));
    std::set<int> groups;
    for (const auto& s : net_.switches) {
      if (s.group >= 0) groups.insert(s.group);
    }
    if (!groups.empty())
      notes.know(fmt::format("{} of leaves that share hosts or spines", counted(groups.size(), "group", "groups")));

    std::map<Index, std::vector<std::string>> lacking;
    for (Index h = 0; h < net_.hosts.size(); ++h) {
      if (wired[h].size() < usual_.size()) lacking[wired[h].size()].push_back(net_.hosts[h]);
    }
    for (const auto& [n, names] : lacking) {
      notes.know(fmt::format("{} with {} of {} adapters cabled: kept ({})", counted(names.size(), "host", "hosts"), n,
                             usual_.size(), some_of(names)));
    }
    if (!wrong.empty()) {
      notes.know(fmt::format("{} on a leaf of another rail: kept ({})", counted(wrong.size(), "adapter", "adapters"),
                             some_of(wrong)));
    }
    Index nameless = 0, aggregation = 0, routers = 0;
    for (const auto r : role_) {
      nameless += r == Role::nameless;
      aggregation += r == Role::aggregation;
      routers += r == Role::router;
    }
    if (aggregation > 0) {
      notes.know(fmt::format("{} in the switches, which are no hosts",
                             counted(aggregation, "SHARP aggregation node", "SHARP aggregation nodes")));
    }
    if (nameless > 0) {
      notes.lack(fmt::format("the hosts of {}, whose descriptions name none (\"{}\"): left out",
                             counted(nameless, "adapter", "adapters"), quoted(an_example(Role::nameless))));
    }
    if (routers > 0) notes.lack(fmt::format("what is behind {}: left out", counted(routers, "router", "routers")));
    if (back_to_back_ > 0)
      notes.lack(
          fmt::format("{} from host to host: left out", counted(static_cast<Index>(back_to_back_), "cable", "cables")));
    if (many_ports_ > 0)
      notes.know(fmt::format("{} with several ports", counted(static_cast<Index>(many_ports_), "adapter", "adapters")));
    if (ib_.uneven > 0)
      notes.know(fmt::format("{} whose ends tell different speeds: the slower is taken",
                             counted(static_cast<Index>(ib_.uneven), "cable", "cables")));
    if (ib_.one_sided > 0)
      notes.know(fmt::format("{} that only one end tells of: kept",
                             counted(static_cast<Index>(ib_.one_sided), "cable", "cables")));
    if (ib_.loops > 0)
      notes.know(fmt::format("{} from a switch to itself: left out",
                             counted(static_cast<Index>(ib_.loops), "cable", "cables")));
    if (ib_.noise > 0)
      notes.know(fmt::format("{} of the tools' error messages skipped",
                             counted(static_cast<Index>(ib_.noise), "line", "lines")));
    if (strange_models_ > 0)
      notes.lack(fmt::format("the model of {}", counted(static_cast<Index>(strange_models_), "switch", "switches")));
    notes.lack("how long the cables are");
  }

  std::string_view an_example(Role role) const {
    // The least, so that the order of the sections does not show.
    std::string_view least;
    for (Index i = 0; i < role_.size(); ++i) {
      const auto text = ib_.nodes[i].description;
      if (role_[i] == role && (least.empty() || text < least)) least = text;
    }
    return least;
  }

  const ImportInput& in_;
  IbFabric ib_;
  ImportedNetwork net_;
  std::vector<Role> role_;
  std::map<std::string, Host> hosts_;
  std::vector<std::string> usual_;  // adapters that most hosts have
  std::vector<int> switch_of_;      // by node of the file; -1: no switch
  std::vector<int> adapters_;       // by switch
  double usual_rate_ = 0;
  int silent_ = 0, left_out_ = 0, back_to_back_ = 0, many_ports_ = 0, strange_models_ = 0;
};

}  // namespace

ImportedNetwork import_ibnetdiscover(const ImportInput& in) {
  auto fabric = parse_ibnetdiscover(in.file, in.problems);
  if (!in.problems.empty()) return {};
  return Importer{in, std::move(fabric)}.import();
}

}  // namespace linkcast::topologies
