// See import_tree.hpp.
#include "import_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "host_list.hpp"
#include "import_shape.hpp"
#include "import_text.hpp"

namespace linkcast::topologies {
namespace {

using Index = std::size_t;
Index at(int i) { return static_cast<Index>(i); }

class Reader {
 public:
  Reader(const Tree& tree, const ImportInput& in) : tree_{tree}, in_{in} {}

  ImportedNetwork read() {
    name_all();
    children();
    const auto roots = order();
    hosts();
    if (net_.hosts.empty() && in_.problems.empty()) {
      in_.problems.add(in_.file, 1, 1, "no host is below any switch", "expected Nodes=… in a line of a switch");
    }
    if (!in_.problems.empty()) return {};
    heights(roots);
    groups();
    net_.only_order = true;
    put_in_order(net_);
    std::vector<Index> tiers(1);
    for (const auto& sw : net_.switches) {
      tiers.resize(std::max(tiers.size(), at(sw.tier) + 1));
      ++tiers[at(sw.tier)];
    }
    if (!net_.switches.empty()) {
      in_.notes.know(fmt::format("{} below {} (by tier: {})", counted(net_.hosts.size(), "host", "hosts"),
                                 counted(net_.switches.size(), "switch", "switches"), fmt::join(tiers, ", ")));
    }
    if (roots.size() > 1) {
      std::vector<std::string> names;
      for (const int r : roots) names.push_back(nodes_[at(r)].name->name);
      in_.notes.know(fmt::format("{} separate trees ({}): nothing joins their hosts", roots.size(), some_of(names)));
    }
    return std::move(net_);
  }

 private:
  struct Node {
    const TreeName* name;
    const TreeSwitch* described = nullptr;
    const TreeName* parent_word = nullptr;  // where it is named as a child
    int parent = -1;
    std::vector<int> children;
    bool seen = false;
    long hosts = 0;  // below
  };

  void problem(const TreeName& where, std::string text, std::string help = {}) {
    in_.problems.add(in_.file, where.line, where.column, std::move(text), std::move(help));
  }

  void sound(const TreeName& n) {
    if (n.name.empty() || n.name.size() > 256 || !std::all_of(n.name.begin(), n.name.end(), name_character)) {
      problem(n, fmt::format("'{}' is no name of a switch", quoted(n.name)),
              "letters, digits, '-', '_', '.' and the like");
    }
  }

  void name_all() {
    for (const auto& s : tree_.switches) {
      sound(s.name);
      const auto [known, added] = index_.try_emplace(s.name.name, static_cast<int>(nodes_.size()));
      if (!added) {
        problem(s.name, fmt::format("switch '{}' a second time", quoted(s.name.name)),
                fmt::format("the first is in line {}", nodes_[at(known->second)].name->line));
        continue;
      }
      nodes_.push_back({&s.name, &s, nullptr, -1, {}, false, 0});
    }
  }

  void children() {
    std::vector<std::string> names;
    for (const auto& s : tree_.switches) names.push_back(s.name.name);
    for (const auto& s : tree_.switches) {
      const int parent = index_.at(s.name.name);
      if (nodes_[at(parent)].described != &s) continue;
      for (const auto& c : s.switches) {
        if (in_.problems.full()) return;
        auto known = index_.find(c.name);
        if (known == index_.end()) {
          if (!tree_.leaves_need_no_entry) {
            const auto near = names.size() <= 2000 ? sim::nearest(c.name, names) : std::string{};
            problem(c, fmt::format("switch '{}' is not described", quoted(c.name)),
                    near.empty() ? "a line of its own must say what is below it" : "did you mean '" + near + "'?");
            continue;
          }
          sound(c);
          known = index_.emplace(c.name, static_cast<int>(nodes_.size())).first;
          nodes_.push_back({&c, nullptr, nullptr, -1, {}, false, 0});
        }
        auto& child = nodes_[at(known->second)];
        if (child.parent >= 0) {
          problem(c,
                  child.parent == parent
                      ? fmt::format("switch '{}' twice below '{}'", quoted(c.name), quoted(s.name.name))
                      : fmt::format("switch '{}' is below '{}' and below '{}'", quoted(c.name),
                                    quoted(nodes_[at(child.parent)].name->name), quoted(s.name.name)),
                  fmt::format("it is named before in line {}", child.parent_word->line));
          continue;
        }
        child.parent = parent;
        child.parent_word = &c;
        nodes_[at(parent)].children.push_back(known->second);
      }
    }
  }

  /// Switches from the roots down, each before what is below it. What no root reaches is in a circle.
  std::vector<int> order() {
    std::vector<int> roots;
    for (Index i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].parent < 0) roots.push_back(static_cast<int>(i));
    }
    std::vector<int> stack{roots.rbegin(), roots.rend()};
    while (!stack.empty()) {
      const int i = stack.back();
      stack.pop_back();
      order_.push_back(i);
      nodes_[at(i)].seen = true;
      const auto& below = nodes_[at(i)].children;
      stack.insert(stack.end(), below.rbegin(), below.rend());
    }
    for (Index i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].seen) continue;
      std::vector<std::string> names;
      for (int k = static_cast<int>(i); !nodes_[at(k)].seen; k = nodes_[at(k)].parent) {
        nodes_[at(k)].seen = true;
        names.push_back(quoted(nodes_[at(k)].name->name));
      }
      problem(*nodes_[i].name,
              fmt::format("a circle of switches: each of {} is below another one of them", some_of(names)));
    }
    return roots;
  }

  void hosts() {
    std::unordered_map<std::string_view, const TreeName*> named;
    const auto add = [&](const TreeName& h, int leaf) {
      const auto [known, added] = named.try_emplace(h.name, &h);
      if (!added) {
        if (!in_.problems.full()) {
          problem(h, fmt::format("host '{}' a second time", quoted(h.name)),
                  fmt::format("the first is in line {}", known->second->line));
        }
        return;
      }
      if (leaf >= 0) {
        ImportedCable c;
        c.from.host = static_cast<int>(net_.hosts.size());
        c.from.nic = -1;
        c.to.network_switch = leaf;
        net_.cables.push_back(std::move(c));
        ++nodes_[at(leaf)].hosts;
      }
      net_.hosts.push_back(h.name);
    };
    for (const int i : order_) {
      const auto* s = nodes_[at(i)].described;
      if (!s) continue;
      for (const auto& h : s->hosts) add(h, i);
    }
    for (const auto& h : tree_.loose_hosts) add(h, -1);
    if (!tree_.loose_hosts.empty()) {
      in_.notes.lack(
          fmt::format("which switch {} below", tree_.loose_hosts.size() == 1
                                                   ? fmt::format("host {} is", quoted(tree_.loose_hosts[0].name))
                                                   : fmt::format("{} hosts are", tree_.loose_hosts.size())));
    }
  }

  /// A switch is one tier above the highest of its children.
  void heights(const std::vector<int>&) {
    net_.switches.resize(nodes_.size());
    for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
      auto& n = nodes_[at(*i)];
      auto& s = net_.switches[at(*i)];
      s.name = n.name->name;
      s.tier = 0;
      for (const int c : n.children) {
        s.tier = std::min(15, std::max(s.tier, net_.switches[at(c)].tier + 1));
        n.hosts += nodes_[at(c)].hosts;
      }
      for (const int c : n.children) {
        if (nodes_[at(c)].hosts == 0) continue;
        // As many cables as there are below; the count of NICs comes later. A count is at most 16 bits wide there.
        ImportedCable up;
        up.from.network_switch = c;
        up.to.network_switch = *i;
        up.count = static_cast<int>(nodes_[at(c)].hosts);
        net_.cables.push_back(std::move(up));
      }
    }
  }

  /// Pods: the trees below the children of a root of at least three tiers.
  void groups() {
    int group = 0;
    for (const int i : order_) {
      auto& s = net_.switches[at(i)];
      const int parent = nodes_[at(i)].parent;
      if (parent < 0) continue;
      const bool below_root = nodes_[at(parent)].parent < 0;
      s.group = below_root ? (net_.switches[at(parent)].tier >= 2 ? group++ : -1) : net_.switches[at(parent)].group;
    }
  }

  const Tree& tree_;
  const ImportInput& in_;
  ImportedNetwork net_;
  std::vector<Node> nodes_;
  std::vector<int> order_;
  std::unordered_map<std::string, int> index_;
};

}  // namespace

ImportedNetwork network_of(const Tree& tree, const ImportInput& in) { return Reader{tree, in}.read(); }

void cable_tree(ImportedNetwork& network, const ImportedMachine& machine, ImportNotes& notes) {
  const int nics = std::max(machine.nics / std::max(machine.trays, 1), 0);
  std::vector<ImportedCable> cables;
  cables.reserve(network.cables.size() + network.hosts.size() * at(nics));
  for (auto& c : network.cables) {
    if (c.from.host >= 0 && c.from.nic < 0) {
      for (int nic = 0; nic < nics; ++nic) {
        cables.push_back(c);
        cables.back().from.nic = nic;
        cables.back().rate = machine.nic_rate;
      }
      continue;
    }
    constexpr long most = 4096;  // what one line of a topology file may say
    for (long left = static_cast<long>(c.count) * nics; left > 0; left -= most) {
      cables.push_back(c);
      cables.back().count = static_cast<int>(std::min(left, most));
      cables.back().rate = machine.nic_rate;
    }
  }
  network.cables = std::move(cables);
  if (network.switches.empty()) return;
  notes.assume("every NIC of a host is cabled to the host's leaf switch");
  notes.assume(
      fmt::format("every switch has as many cables up as down, each at the NICs' rate{}: nothing is oversubscribed",
                  machine.nic_rate.empty() ? "" : " (" + machine.nic_rate + ")"));
}

void join_domains(ImportedNetwork& network, const ImportedMachine& machine, const std::string& file,
                  ImportNotes& notes) {
  if (machine.trays <= 1) return;
  const auto refuse = [&](std::string problem, std::string help) {
    throw sim::InputError({{{file, 0, 0, 1}, std::move(problem), std::move(help)}}, {});
  };
  if (network.domains.size() != network.hosts.size()) {
    refuse(fmt::format("does not say which hosts share an NVLink domain; the machine spans {}", machine.trays),
           "give a topograph model or a Slurm block topology of the same hosts as a further file");
  }
  const int nics = machine.nics / machine.trays;
  std::vector<std::string> names, alone;
  std::unordered_map<std::string, int> index;
  std::vector<int> size, node(network.hosts.size()), tray(network.hosts.size());
  for (Index h = 0; h < network.hosts.size(); ++h) {
    const auto& domain = network.domains[h];
    if (domain.empty()) {
      alone.push_back(network.hosts[h]);
      continue;
    }
    const auto [known, added] = index.try_emplace(domain, static_cast<int>(names.size()));
    if (added) {
      names.push_back(domain);
      size.push_back(0);
    }
    node[h] = known->second;
    tray[h] = size[at(known->second)]++;
  }
  if (!alone.empty())
    refuse(fmt::format("hosts in no NVLink domain: {}", some_of(alone)), "name a machine of one host");
  std::vector<std::string> short_of;
  for (Index d = 0; d < names.size(); ++d) {
    if (size[d] > machine.trays) {
      refuse(fmt::format("NVLink domain '{}' has {} hosts, the machine {}", quoted(names[d]), size[d], machine.trays),
             "name a machine that spans as many");
    }
  }
  const int trays = *std::ranges::max_element(size);
  for (Index d = 0; d < names.size(); ++d) {
    if (size[d] < trays) short_of.push_back(fmt::format("{} has {}", quoted(names[d]), size[d]));
  }
  if (!short_of.empty()) {
    notes.assume(fmt::format("every NVLink domain has {} hosts ({}): the missing ones have no cables", trays,
                             some_of(short_of)));
  }
  if (trays < machine.trays) {
    network.trays = trays;
    notes.assume(fmt::format("the machine has {} of its {} hosts", trays, machine.trays));
  }
  for (auto& c : network.cables) {
    for (auto* e : {&c.from, &c.to}) {
      if (e->host < 0) continue;
      const auto h = at(e->host);
      e->host = node[h];
      if (e->nic >= nics) {
        refuse(fmt::format("host '{}' has a cable on NIC {}, each host of the machine has {} NICs",
                           quoted(network.hosts[h]), e->nic, nics),
               "name another machine with --machine");
      }
      e->nic += tray[h] * nics;
    }
  }
  notes.know(fmt::format("{} make {} of up to {}", counted(network.hosts.size(), "host", "hosts"),
                         counted(names.size(), "NVLink domain", "NVLink domains"), trays));
  network.hosts = std::move(names);
  network.domains.clear();
  network.nic_names.clear();
}

}  // namespace linkcast::topologies
