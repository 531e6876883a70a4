// Which nodes of a cluster a job gets: a rule, or a list of hosts. Knows no scheduler.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "cluster_data.hpp"
#include "host_list.hpp"
#include "linkcast/topologies/slurm_export.hpp"
#include "map_reader.hpp"
#include "network_choice.hpp"

namespace linkcast::topologies {
namespace {

/// The parts between commas that stand outside brackets.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    auto item = text.substr(begin, i - begin);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    out.push_back(item);
    begin = i + 1;
  }
  return out;
}

std::vector<std::string> expanded(std::string_view item, std::string_view list) {
  std::vector<std::string> names;
  if (const auto bad = expand_host_list(item, names))
    throw sim::InputError(fmt::format("host list '{}': {}", list.substr(0, 80), bad->problem), bad->help);
  return names;
}

}  // namespace

std::vector<int> placed(const Cluster& cluster, int count, Placement placement, std::uint64_t seed) {
  if (count < 1 || count > cluster.nodes())
    throw sim::InputError(fmt::format("a job on {} nodes of {}", count, cluster.nodes()),
                          fmt::format("1 to {}", cluster.nodes()));
  std::vector<int> nodes(static_cast<std::size_t>(count));
  if (placement == Placement::fragmented) {
    std::vector<int> all(static_cast<std::size_t>(cluster.nodes()));
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto left = static_cast<std::uint64_t>(all.size() - i);
      std::swap(all[i], all[i + static_cast<std::size_t>(scramble(scramble(seed) + i) % left)]);
      nodes[i] = all[i];
    }
    std::ranges::sort(nodes);
    return nodes;
  }
  const int step = placement == Placement::strided ? cluster.nodes() / count : 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i) * step;
  return nodes;
}

std::vector<int> placed(const Cluster& cluster, std::string_view host_list) {
  std::unordered_map<std::string, int> by_name;
  std::vector<std::string> names;
  if (!cluster.data().node_names.empty()) {
    for (int i = 0; i < cluster.nodes(); ++i) {
      names.push_back(cluster.node_name(i));
      by_name.emplace(names.back(), i);
    }
  }
  std::unordered_map<int, int> by_number;  // of the whole cluster
  for (int i = 0; i < cluster.nodes(); ++i) by_number.emplace(cluster.original_node(i), i);

  std::vector<int> out;
  std::vector<bool> taken(static_cast<std::size_t>(cluster.nodes()), false);
  const auto take = [&](int node, const std::string& name) {
    if (taken[static_cast<std::size_t>(node)]) throw sim::InputError(fmt::format("'{}' is named twice", name));
    taken[static_cast<std::size_t>(node)] = true;
    out.push_back(node);
  };
  const auto take_number = [&](const std::string& digits, const std::string& name) {
    const auto n = parse_integer(digits);
    const auto at = n ? by_number.find(static_cast<int>(std::clamp<std::int64_t>(*n, -1, 1 << 30))) : by_number.end();
    if (at == by_number.end())
      throw sim::InputError(fmt::format("no node {} in {}", name, cluster.name()),
                            fmt::format("it has {} nodes, from {} to {}", cluster.nodes(), cluster.node_name(0),
                                        cluster.node_name(cluster.nodes() - 1)));
    take(at->second, name);
  };
  for (const auto item : items_of(host_list)) {
    if (item.empty())
      throw sim::InputError(fmt::format("host list '{}': a name is empty", host_list.substr(0, 80)),
                            "as in h[001-004],h9");
    const bool numbers = item.find_first_not_of("0123456789-") == std::string_view::npos && by_name.empty();
    const auto list = expanded(numbers ? fmt::format("node[{}]", item) : std::string{item}, host_list);
    for (const auto& name : list) {
      if (const auto known = by_name.find(name); known != by_name.end()) {
        take(known->second, name);
      } else if (name.starts_with("node") && name.size() > 4 &&
                 name.find_first_not_of("0123456789", 4) == std::string::npos) {
        take_number(name.substr(4), name);
      } else {
        throw sim::InputError(fmt::format("no node '{}' in {}", name, cluster.name()),
                              names.empty() ? fmt::format("its nodes are {} to {}", cluster.node_name(0),
                                                          cluster.node_name(cluster.nodes() - 1))
                                            : suggest(name, names));
      }
    }
  }
  return out;
}

std::string host_list(const Cluster& cluster, std::span<const int> nodes) {
  const bool named = !cluster.data().node_names.empty();
  std::vector<std::string> names;
  for (const int n : nodes)
    names.push_back(named ? cluster.node_name(n) : fmt::format("node{}", cluster.original_node(n)));
  auto text = host_list(names);
  if (!named && names.size() == 1) text = fmt::format("node[{}]", cluster.original_node(nodes[0]));
  return text;
}

}  // namespace linkcast::topologies
