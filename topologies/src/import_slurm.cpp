// Slurm's topology.conf: a tree of switches, or blocks. Knows no other format. The grammar is that of Slurm's
// configuration files: KEY=VALUE words on a line, keys in any case, '#' to the end of the line, a backslash joins
// lines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "host_list.hpp"
#include "import_parts.hpp"
#include "import_shape.hpp"
#include "import_slurm.hpp"
#include "import_text.hpp"
#include "map_reader.hpp"

namespace linkcast::topologies {
namespace {

struct Word {
  std::string key;  // in lower case
  std::string value;
  int line = 0, key_column = 1, value_column = 1;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class Conf {
 public:
  explicit Conf(const ImportInput& in) : in_{in} {}

  SlurmTopology read() {
    std::vector<Word> words;
    for (const auto& line : lines_of(in_.text())) {
      if (in_.problems.full()) break;
      if (!split(line, words)) continue;
      record(words);
      words.clear();
    }
    if (!words.empty()) record(words);  // a backslash at the very end
    if (out_.tree.switches.empty() && out_.blocks.empty() && in_.problems.empty()) {
      in_.problems.add(in_.file, 1, 1, "neither a switch nor a block", "expected SwitchName=… or BlockName=…");
    }
    if (!out_.tree.switches.empty() && !out_.blocks.empty()) {
      const auto& b = out_.blocks.front().name;
      in_.problems.add(in_.file, b.line, b.column, "a block in a file of switches",
                       "Slurm reads one kind: topology/tree or topology/block");
    }
    return std::move(out_);
  }

 private:
  void problem(int line, int column, std::string text, std::string help = {}) {
    in_.problems.add(in_.file, line, column, std::move(text), std::move(help));
  }

  /// Appends the words of one line. True where the record ends with it.
  bool split(const TextLine& line, std::vector<Word>& words) {
    auto text = line.text;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '#' && (i == 0 || text[i - 1] != '\\')) text = text.substr(0, i);
    }
    const auto last = text.find_last_not_of(" \t");
    const bool joined = last != std::string_view::npos && text[last] == '\\';
    if (joined) text = text.substr(0, last);
    std::size_t at = line.number == 1 && text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;
    while (true) {
      at = text.find_first_not_of(" \t", at);
      if (at == std::string_view::npos) break;
      Word w;
      w.line = line.number;
      w.key_column = static_cast<int>(at) + 1;
      const auto equals = text.find_first_of("= \t", at);
      if (equals == std::string_view::npos || text[equals] != '=') {
        const auto word = text.substr(at, equals == std::string_view::npos ? equals : equals - at);
        problem(line.number, w.key_column, fmt::format("expected KEY=VALUE, found '{}'", quoted(word)),
                lowered(word) == "include" ? "included files are not followed: put their lines here"
                                           : "lists have no blanks: Nodes=a,b");
        at += word.size();
        continue;
      }
      w.key = lowered(text.substr(at, equals - at));
      auto begin = equals + 1, end = begin;
      if (begin < text.size() && text[begin] == '"') {
        ++begin;
        end = text.find('"', begin);
        if (end == std::string_view::npos) {
          problem(line.number, static_cast<int>(begin), "a quote that is not closed");
          end = text.size();
        }
        at = std::min(end + 1, text.size());
      } else {
        end = std::min(text.find_first_of(" \t", begin), text.size());
        at = end;
      }
      w.value = std::string{text.substr(begin, end - begin)};
      w.value_column = static_cast<int>(begin) + 1;
      if (w.value.empty()) {
        problem(line.number, w.value_column, fmt::format("'{}=' without a value", quoted(w.key)),
                "is the file cut off here?");
      }
      words.push_back(std::move(w));
    }
    return !joined;
  }

  static std::string lowered(std::string_view text) {
    std::string out{text};
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
  }

  void record(const std::vector<Word>& words) {
    static const std::vector<std::string> keys{"SwitchName", "Switches",  "Nodes",
                                               "LinkSpeed",  "BlockName", "BlockSizes"};
    std::map<std::string, const Word*> found;
    for (const auto& w : words) {
      const auto known = std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return lowered(k) == w.key; });
      if (known == keys.end()) {
        std::vector<std::string> lower_keys;
        for (const auto& k : keys) lower_keys.push_back(lowered(k));
        const auto near = sim::nearest(w.key, lower_keys);
        const auto index = std::find(lower_keys.begin(), lower_keys.end(), near) - lower_keys.begin();
        problem(w.line, w.key_column, fmt::format("unknown key '{}'", quoted(w.key)),
                near.empty() ? fmt::format("the keys are {}", fmt::join(keys, ", "))
                             : fmt::format("did you mean '{}'?", keys[static_cast<std::size_t>(index)]));
      } else if (!found.emplace(w.key, &w).second) {
        problem(w.line, w.key_column, fmt::format("'{}' twice in one line", *known));
      }
    }
    const auto get = [&](const char* key) {
      const auto f = found.find(key);
      return f == found.end() ? nullptr : f->second;
    };
    if (found.empty()) return;
    if (const auto* sizes = get("blocksizes")) block_sizes(*sizes, found.size());
    const auto* name = get("switchname");
    const auto* block = get("blockname");
    if (get("linkspeed")) out_.link_speeds = true;
    if (name && block) return problem(block->line, block->key_column, "a switch and a block in one line");
    if (name) return one_switch(*name, get("switches"), get("nodes"));
    if (block) return one_block(*block, get("nodes"));
    if (const auto* other = get("nodes") ? get("nodes") : get("switches")) {
      problem(other->line, other->key_column, "says of no switch or block what is below it",
              "expected SwitchName=… or BlockName=… in the same line");
    }
  }

  void one_switch(const Word& name, const Word* switches, const Word* nodes) {
    TreeSwitch s;
    std::vector<TreeName> names;
    list(name, names);
    if (names.size() > 1) return problem(name.line, name.value_column, "a list where one switch is described");
    if (names.empty()) return;
    s.name = std::move(names.front());
    if (switches) list(*switches, s.switches);
    if (nodes) list(*nodes, s.hosts);
    if (switches && nodes) {
      problem(nodes->line, nodes->key_column, fmt::format("switch '{}' has Switches= and Nodes=", quoted(s.name.name)),
              "a switch has either, as in Slurm");
    }
    if (!switches && !nodes) {
      problem(name.line, name.key_column, fmt::format("switch '{}' has nothing below it", quoted(s.name.name)),
              "expected Switches=… or Nodes=…");
    }
    out_.tree.switches.push_back(std::move(s));
  }

  void one_block(const Word& name, const Word* nodes) {
    SlurmBlock b;
    b.name = {name.value, name.line, name.value_column};
    if (name.value.empty()) return;
    if (nodes) {
      list(*nodes, b.hosts);
    } else {
      problem(name.line, name.key_column, fmt::format("block '{}' has no Nodes=", quoted(name.value)));
    }
    out_.blocks.push_back(std::move(b));
  }

  void block_sizes(const Word& w, std::size_t words) {
    if (words > 1) problem(w.line, w.key_column, "BlockSizes= stands in a line of its own");
    if (!out_.block_sizes.empty()) problem(w.line, w.key_column, "BlockSizes= a second time");
    std::size_t at = 0;
    while (at <= w.value.size() && !w.value.empty()) {
      const auto end = std::min(w.value.find(',', at), w.value.size());
      const auto n = parse_integer(std::string_view{w.value}.substr(at, end - at));
      if (!n || *n < 1 || *n > 1'000'000) {
        problem(w.line, w.value_column + static_cast<int>(at), "expected a number of nodes",
                "such as BlockSizes=18,36");
        return;
      }
      out_.block_sizes.push_back(static_cast<int>(*n));
      at = end + 1;
    }
  }

  void list(const Word& w, std::vector<TreeName>& out) {
    if (w.value.empty()) return;
    read_name_list(w.value, w.line, w.value_column, in_, total_, out);
  }

  const ImportInput& in_;
  SlurmTopology out_;
  std::size_t total_ = 0;
};

}  // namespace

void read_name_list(std::string_view text, int line, int column, const ImportInput& in, std::size_t& total,
                    std::vector<TreeName>& out) {
  std::vector<std::string> names;
  const auto limit = max_listed_names - std::min(total, max_listed_names);
  if (auto p = expand_host_list(text, names, limit)) {
    in.problems.add(in.file, line, column + static_cast<int>(p->offset), std::move(p->problem), std::move(p->help));
  }
  total += names.size();
  for (auto& n : names) out.push_back({std::move(n), line, column});
}

ImportedNetwork network_of(const SlurmTopology& topology, const ImportInput& in) {
  if (topology.link_speeds) in.notes.lack("what LinkSpeed= means: Slurm does not use it, and neither does the import");
  if (topology.blocks.empty()) {
    auto network = network_of(topology.tree, in);
    in.notes.lack("how many cables join the switches, of what rate and length: Slurm's topology has no cables");
    return network;
  }
  // Blocks: each is a leaf, and one switch joins them.
  Tree tree;
  TreeSwitch top;
  std::string top_name = "blocks";
  for (const auto& b : topology.blocks) top_name += b.name.name == top_name ? "_" : "";
  top.name = {top_name, topology.blocks.front().name.line, 1};
  std::map<std::string, std::string> domain;
  for (const auto& b : topology.blocks) {
    TreeSwitch leaf;
    leaf.name = b.name;
    leaf.hosts = b.hosts;
    for (const auto& h : b.hosts) domain[h.name] = b.name.name;
    top.switches.push_back(b.name);
    tree.switches.push_back(std::move(leaf));
  }
  tree.switches.push_back(std::move(top));
  auto network = network_of(tree, in);
  for (const auto& h : network.hosts) network.domains.push_back(domain[h]);
  if (!network.hosts.empty()) {
    in.notes.know(fmt::format("{} with {}{}", counted(topology.blocks.size(), "block", "blocks"),
                              counted(network.hosts.size(), "host", "hosts"),
                              topology.block_sizes.empty()
                                  ? std::string{}
                                  : fmt::format(", planned in sizes of {}", fmt::join(topology.block_sizes, ", "))));
    in.notes.assume("one switch above all blocks");
    in.notes.assume("a block is an NVLink domain where the machine spans several hosts");
    in.notes.lack("what joins the blocks, with how many cables, of what rate and length");
  }
  return network;
}

ImportedNetwork import_slurm_conf(const ImportInput& in) {
  const auto topology = Conf{in}.read();
  if (!in.problems.empty()) {
    network_of(topology.tree, in);  // for what is wrong with the tree as well
    return {};
  }
  return network_of(topology, in);
}

}  // namespace linkcast::topologies
