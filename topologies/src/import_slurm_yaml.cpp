// Slurm's topology.yaml (25.05 and later): a list of topologies, of which one is read. Knows no other format.
#include <fmt/format.h>

#include "import_slurm.hpp"
#include "import_text.hpp"
#include "map_reader.hpp"

namespace linkcast::topologies {
namespace {

class YamlTopology {
 public:
  explicit YamlTopology(const ImportInput& in) : in_{in} {}

  /// The one that jobs use unless a partition names another: the first with cluster_default, else the first.
  const Value* chosen(const Value& root) {
    if (!root.is_sequence() || root.items.empty()) {
      in_.problems.add(root, "expected a list of topologies",
                       "such as '- topology: NAME' with 'tree:' or 'block:' below");
      return nullptr;
    }
    const Value* first = nullptr;
    std::vector<std::string> names;
    for (const auto& t : root.items) {
      MapReader r{{&in_.problems}, t, "topology"};
      if (!r.sound()) continue;
      const auto name = r.word("topology", true);
      const bool is_default = r.boolean("cluster_default").value_or(false);
      int kinds = 0;
      for (const auto* kind : {"tree", "block", "flat", "ring", "torus3d"}) kinds += r.find(kind) != nullptr;
      r.done();
      if (kinds != 1) r.problem(t, "expected one of tree, block, flat, ring and torus3d in a topology");
      names.push_back(name.value_or("?"));
      if (is_default && !default_) {
        default_ = true;
        first = &t;
        name_ = names.back();
      }
      if (!first) {
        first = &t;
        name_ = names.back();
      }
    }
    if (names.size() > 1) {
      in_.notes.know(
          fmt::format("of {} topologies the one that is the cluster's default: {}", names.size(), quoted(name_)));
    }
    return first;
  }

  SlurmTopology read(const Value& topology) {
    if (const auto* tree = topology.get("tree")) {
      MapReader r{{&in_.problems}, *tree, "tree"};
      if (r.sound()) switches(r);
      r.done();
    } else if (const auto* block = topology.get("block")) {
      MapReader r{{&in_.problems}, *block, "block"};
      if (r.sound()) blocks(r);
      r.done();
    } else {
      in_.problems.add(topology, fmt::format("topology '{}' has neither a tree nor blocks", quoted(name_)),
                       "flat, ring and torus3d say nothing of switches that could be read");
    }
    return std::move(out_);
  }

 private:
  const Value* sequence(MapReader& r, std::string_view key) {
    const auto* v = r.need(key);
    if (!v) return nullptr;
    if (v->is_sequence()) return v;
    r.problem(*v, fmt::format("expected a list of {}", key));
    return nullptr;
  }

  void switches(MapReader& r) {
    const auto* list = sequence(r, "switches");
    if (!list) return;
    for (const auto& v : list->items) {
      if (in_.problems.full()) return;
      MapReader s{{&in_.problems}, v, "switch"};
      if (!s.sound()) continue;
      TreeSwitch out;
      const auto* name = s.need("switch");
      const auto* children = s.find("children");
      const auto* nodes = s.find("nodes");
      if (children) names(*children, out.switches);
      if (nodes) names(*nodes, out.hosts);
      s.done();
      if (!name) continue;
      if (!name->is_scalar() || name->text.empty()) {
        s.problem(*name, "expected the name of a switch");
        continue;
      }
      out.name = {name->text, name->line, name->column};
      if ((children != nullptr) == (nodes != nullptr)) {
        s.problem(v, fmt::format("switch '{}' needs either children or nodes", quoted(name->text)));
      }
      out_.tree.switches.push_back(std::move(out));
    }
  }

  void blocks(MapReader& r) {
    if (const auto* sizes = r.find("block_sizes")) {
      if (!sizes->is_sequence()) r.problem(*sizes, "expected a list of numbers");
      for (const auto& v : sizes->items) {
        const auto n = v.is_scalar() ? parse_integer(v.text) : std::nullopt;
        if (n && *n > 0 && *n <= 1'000'000) {
          out_.block_sizes.push_back(static_cast<int>(*n));
        } else {
          r.problem(v, "expected a number of nodes");
        }
      }
    }
    const auto* list = sequence(r, "blocks");
    if (!list) return;
    for (const auto& v : list->items) {
      if (in_.problems.full()) return;
      MapReader b{{&in_.problems}, v, "block"};
      if (!b.sound()) continue;
      SlurmBlock out;
      const auto* name = b.need("block");
      const auto* nodes = b.need("nodes");
      if (nodes) names(*nodes, out.hosts);
      b.done();
      if (!name || !name->is_scalar() || name->text.empty()) {
        if (name) b.problem(*name, "expected the name of a block");
        continue;
      }
      out.name = {name->text, name->line, name->column};
      out_.blocks.push_back(std::move(out));
    }
  }

  /// "n[1-4],m1", or a list of such.
  void names(const Value& v, std::vector<TreeName>& out) {
    if (v.is_sequence()) {
      for (const auto& item : v.items) names(item, out);
      return;
    }
    if (!v.is_scalar()) {
      in_.problems.add(v, "expected names", "such as n[01-16] or a list of such");
      return;
    }
    read_name_list(v.text, v.line, v.column + (v.quoted ? 1 : 0), in_, total_, out);
  }

  const ImportInput& in_;
  SlurmTopology out_;
  std::string name_;
  bool default_ = false;
  std::size_t total_ = 0;
};

}  // namespace

ImportedNetwork import_slurm_yaml(const ImportInput& in) {
  const auto root = parse_yaml(in.file, in.problems);
  if (root.kind == Value::Kind::null && in.problems.empty()) {
    in.problems.add(in.file, 1, 1, "nothing but comments", "expected a list of topologies");
  }
  if (!in.problems.empty()) return {};
  YamlTopology reader{in};
  const auto* topology = reader.chosen(root);
  if (!topology) return {};
  const auto read = reader.read(*topology);
  auto network = network_of(read, in);
  return in.problems.empty() ? std::move(network) : ImportedNetwork{};
}

}  // namespace linkcast::topologies
