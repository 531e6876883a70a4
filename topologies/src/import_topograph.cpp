// Models of NVIDIA's topograph: switches in a tree, hosts in blocks or capacity blocks, NVLink domains. Knows no other
// format. Three generations of the form are in use: `switches` as a list or as a map of names; hosts in `blocks` (with
// their switch), in `capacity_blocks` (a list, named by the switches, or a map) or named by the switches themselves.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "host_list.hpp"
#include "import_shape.hpp"
#include "import_slurm.hpp"
#include "import_text.hpp"
#include "import_tree.hpp"
#include "map_reader.hpp"

namespace linkcast::topologies {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The labels under which providers say which NVLink domain a host is in. "…/sub-domain" is a rack within it.
bool domain_key(std::string_view key) {
  return key == "nvlink" || ends_with(key, "/domain") || ends_with(key, "/accelerator") || ends_with(key, "/level-0") ||
         ends_with(key, "gpu.clique");
}

class Model {
 public:
  explicit Model(const ImportInput& in) : in_{in} {}

  ImportedNetwork read(const Value& root) {
    MapReader r{{&in_.problems}, root, "topograph model"};
    if (!r.sound()) return {};
    const auto* switches = r.find("switches");
    const auto* blocks = r.find("blocks");
    const auto* capacity_blocks = r.find("capacity_blocks");
    const auto* nodes = r.find("nodes");
    r.done();
    if (!switches && !blocks && !capacity_blocks) {
      in_.problems.add(root, "neither switches nor blocks", "is it a topograph model?");
      return {};
    }
    if (switches) all_switches(*switches);
    if (capacity_blocks) all_capacity_blocks(*capacity_blocks);
    if (blocks) all_blocks(*blocks);
    if (nodes) all_nodes(*nodes);
    place_capacity_blocks();
    tree_.leaves_need_no_entry = true;
    auto net = network_of(tree_, in_);
    if (!in_.problems.empty()) return {};
    domains(net);
    if (attributes_ > 0)
      in_.notes.know(fmt::format("{} of the network: skipped",
                                 counted(attributes_, "label that says nothing", "labels that say nothing")));
    in_.notes.lack("how many cables join the switches, of what rate and length: topograph's models have no cables");
    return net;
  }

 private:
  struct CapacityBlock {
    std::vector<TreeName> hosts;
    TreeName name;
    int users = 0;
  };

  void all_switches(const Value& v) {
    if (v.is_map()) {
      for (const auto& e : v.entries) one_switch(named(e.key), e.value);
    } else if (v.is_sequence()) {
      for (const auto& item : v.items) {
        const auto* name = item.is_map() ? item.get("name") : nullptr;
        if (!name || !name->is_scalar() || name->text.empty()) {
          in_.problems.add(item, "expected a switch with a name");
          continue;
        }
        one_switch(named(*name), item);
      }
    } else if (v.kind != Value::Kind::null) {
      in_.problems.add(v, "expected switches: a map of names, or a list");
    }
  }

  void one_switch(TreeName name, const Value& v) {
    if (in_.problems.full()) return;
    TreeSwitch s;
    s.name = std::move(name);
    if (v.kind != Value::Kind::null) {
      MapReader r{{&in_.problems}, v, fmt::format("switch '{}'", quoted(s.name.name))};
      if (!r.sound()) return;
      r.find("name");
      count_labels(r.find("labels"));
      count_labels(r.find("metadata"));
      count_labels(r.find("annotations"));
      if (const auto* below = r.find("switches")) names(*below, s.switches);
      if (const auto* hosts = r.find("nodes")) names(*hosts, s.hosts);
      if (const auto* cbs = r.find("capacity_blocks")) {
        std::vector<TreeName> used;
        names(*cbs, used);
        for (auto& cb : used) uses_.push_back({static_cast<std::size_t>(tree_.switches.size()), std::move(cb)});
      }
      r.done();
    }
    index_.try_emplace(s.name.name, tree_.switches.size());
    tree_.switches.push_back(std::move(s));
  }

  void all_blocks(const Value& v) {
    if (!v.is_sequence()) return in_.problems.add(v, "expected a list of blocks");
    for (const auto& item : v.items) {
      if (in_.problems.full()) return;
      MapReader r{{&in_.problems}, item, "block"};
      if (!r.sound()) continue;
      const auto* leaf = r.find("switch");
      std::vector<TreeName> hosts;
      if (const auto* list = r.need("nodes")) names(*list, hosts);
      std::string domain;
      for (const auto* key : {"labels", "annotations", "attributes"}) find_domain(r.find(key), domain);
      r.find("name");
      r.find("type");
      r.done();
      for (const auto& h : hosts) set_domain(h.name, domain);
      if (!leaf) {
        tree_.loose_hosts.insert(tree_.loose_hosts.end(), hosts.begin(), hosts.end());
        continue;
      }
      if (!leaf->is_scalar() || leaf->text.empty()) {
        r.problem(*leaf, "expected the name of a switch");
        continue;
      }
      auto& s = tree_.switches[leaf_of(*leaf)];
      s.hosts.insert(s.hosts.end(), hosts.begin(), hosts.end());
    }
  }

  /// The switch of a block; it needs no entry among the switches where one of them names it, or where there are none.
  std::size_t leaf_of(const Value& name) {
    const auto [known, added] = index_.try_emplace(name.text, tree_.switches.size());
    if (added) {
      TreeSwitch s;
      s.name = named(name);
      tree_.switches.push_back(std::move(s));
    }
    return known->second;
  }

  void all_capacity_blocks(const Value& v) {
    const auto one = [&](TreeName name, const Value& item) {
      MapReader r{{&in_.problems}, item, fmt::format("capacity block '{}'", quoted(name.name))};
      if (!r.sound()) return;
      CapacityBlock cb;
      cb.name = name;
      std::string domain;
      if (const auto* n = r.find("nvlink"); n && n->is_scalar()) domain = n->text;
      for (const auto* key : {"labels", "annotations", "attributes"}) find_domain(r.find(key), domain);
      r.find("name");
      r.find("type");
      if (const auto* list = r.find("nodes")) names(*list, cb.hosts);
      r.done();
      for (const auto& h : cb.hosts) set_domain(h.name, domain);
      if (!blocks_.try_emplace(name.name, std::move(cb)).second) {
        in_.problems.add(in_.file, name.line, name.column,
                         fmt::format("capacity block '{}' a second time", quoted(name.name)));
      }
    };
    if (v.is_map()) {
      for (const auto& e : v.entries) one(named(e.key), e.value);
    } else if (v.is_sequence()) {
      for (const auto& item : v.items) {
        const auto* name = item.is_map() ? item.get("name") : nullptr;
        if (name && name->is_scalar() && !name->text.empty()) {
          one(named(*name), item);
        } else {
          in_.problems.add(item, "expected a capacity block with a name");
        }
      }
    } else {
      in_.problems.add(v, "expected capacity blocks: a map of names, or a list");
    }
  }

  void all_nodes(const Value& v) {
    if (!v.is_map()) return in_.problems.add(v, "expected nodes: a map of names");
    for (const auto& e : v.entries) {
      if (in_.problems.full()) return;
      if (e.value.kind == Value::Kind::null) continue;
      MapReader r{{&in_.problems}, e.value, fmt::format("node '{}'", quoted(e.key.text))};
      if (!r.sound()) continue;
      std::string domain;
      for (const auto* key : {"labels", "annotations", "attributes"}) find_domain(r.find(key), domain);
      if (const auto* n = r.find("nvlink"); n && n->is_scalar()) domain = n->text;
      for (const auto* key : {"capacity_block", "type", "name", "metadata"}) r.find(key);
      r.done();
      set_domain(e.key.text, domain);
    }
  }

  /// Capacity blocks put their hosts below the switch that names them. Where switches name their hosts themselves,
  /// capacity blocks only group.
  void place_capacity_blocks() {
    for (const auto& [s, name] : uses_) {
      const auto known = blocks_.find(name.name);
      if (known == blocks_.end()) {
        std::vector<std::string> all;
        for (const auto& [n, cb] : blocks_) all.push_back(n);
        in_.problems.add(in_.file, name.line, name.column, fmt::format("no capacity block '{}'", quoted(name.name)),
                         suggest(name.name, all));
        continue;
      }
      if (known->second.users++ > 0) {
        in_.problems.add(in_.file, name.line, name.column,
                         fmt::format("capacity block '{}' below a second switch", quoted(name.name)));
        continue;
      }
      auto& hosts = tree_.switches[s].hosts;
      hosts.insert(hosts.end(), known->second.hosts.begin(), known->second.hosts.end());
    }
    bool switches_name_hosts = false;
    for (const auto& s : tree_.switches) switches_name_hosts = switches_name_hosts || !s.hosts.empty();
    if (switches_name_hosts) return;
    for (const auto& [n, cb] : blocks_) {
      tree_.loose_hosts.insert(tree_.loose_hosts.end(), cb.hosts.begin(), cb.hosts.end());
    }
  }

  void find_domain(const Value* labels, std::string& domain) {
    if (!labels || labels->kind == Value::Kind::null) return;
    if (!labels->is_map()) return in_.problems.add(*labels, "expected a map of labels");
    for (const auto& e : labels->entries) {
      if (e.value.is_scalar() && domain_key(e.key.text)) {
        domain = e.value.text;
        if (domain.size() > 256 || !std::all_of(domain.begin(), domain.end(), name_character)) {
          in_.problems.add(e.value, fmt::format("'{}' is no name of a domain", quoted(domain)));
        }
      } else {
        ++attributes_;
      }
    }
  }

  void count_labels(const Value* labels) {
    if (!labels || labels->kind == Value::Kind::null) return;
    if (!labels->is_map()) return in_.problems.add(*labels, "expected a map of labels");
    attributes_ += labels->entries.size();
  }

  void set_domain(const std::string& host, const std::string& domain) {
    if (!domain.empty()) domain_[host] = domain;
  }

  void domains(ImportedNetwork& net) {
    if (domain_.empty()) return;
    std::map<std::string, int> sizes;
    for (const auto& h : net.hosts) {
      const auto known = domain_.find(h);
      net.domains.push_back(known == domain_.end() ? std::string{} : known->second);
      if (known != domain_.end()) ++sizes[known->second];
    }
    int least = 1 << 30, most = 0;
    for (const auto& [name, n] : sizes) {
      least = std::min(least, n);
      most = std::max(most, n);
    }
    in_.notes.know(fmt::format("{} of {} hosts", counted(sizes.size(), "NVLink domain", "NVLink domains"),
                               least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most)));
  }

  static TreeName named(const Value& v) { return {v.text, v.line, v.column}; }

  void names(const Value& v, std::vector<TreeName>& out) {
    if (v.is_sequence()) {
      for (const auto& item : v.items) names(item, out);
      return;
    }
    if (v.kind == Value::Kind::null) return;
    if (!v.is_scalar()) return in_.problems.add(v, "expected names", "such as n[01-16] or a list of such");
    read_name_list(v.text, v.line, v.column + (v.quoted ? 1 : 0), in_, total_, out);
  }

  const ImportInput& in_;
  Tree tree_;
  std::unordered_map<std::string, std::size_t> index_;  // switch -> its place in tree_
  std::map<std::string, CapacityBlock> blocks_;
  std::vector<std::pair<std::size_t, TreeName>> uses_;  // switch, capacity block below it
  std::unordered_map<std::string, std::string> domain_;
  std::size_t attributes_ = 0, total_ = 0;
};

}  // namespace

ImportedNetwork import_topograph(const ImportInput& in) {
  const auto root = parse_yaml(in.file, in.problems);
  if (root.kind == Value::Kind::null && in.problems.empty()) {
    in.problems.add(in.file, 1, 1, "nothing but comments", "expected switches and blocks");
  }
  if (!in.problems.empty()) return {};
  return Model{in}.read(root);
}

}  // namespace linkcast::topologies
