// `topo export` of a cluster: Graphviz of its sketch, and YAML. See describe_cluster.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cluster_data.hpp"
#include "draw_cluster.hpp"
#include "linkcast/topologies/describe_cluster.hpp"
#include "network_tiers.hpp"
#include "sketch.hpp"

namespace linkcast::topologies {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

bool has_key(const std::string& yaml, const std::string& key) {
  return yaml.starts_with(key + ":") || yaml.find("\n" + key + ":") != std::string::npos;
}

}  // namespace

std::string to_dot(const Cluster& cluster) {
  const auto& n = cluster.network();
  if (n.empty() && cluster.nodes() == 1) return to_dot(cluster.kind(0));
  const auto s = sketch(cluster);
  std::string out = fmt::format(
      "graph {} {{\n  layout=dot; rankdir=BT; ranksep=1.2; node [fontname=sans, shape=box, style=filled]; "
      "edge [fontname=sans];\n",
      quoted(cluster.name()));
  for (std::size_t i = 0; i < s.boxes.size(); ++i) {
    const auto& b = s.boxes[i];
    out += fmt::format("  b{} [label={}, fillcolor=\"{}\"{}{}];\n", i,
                       quoted(b.name + "\n" + b.model + (b.rail >= 0 ? fmt::format(", rail {}", b.rail) : "")),
                       b.tier < 0 ? "#b6e3a8" : "#eef3f8", b.count > 1 ? ", peripheries=2" : "",
                       b.up ? "" : ", style=dashed, color=red");
  }
  const auto rank = [&](int tier) {
    std::string list;
    for (std::size_t i = 0; i < s.boxes.size(); ++i) {
      if (s.boxes[i].tier == tier) list += fmt::format(" b{};", i);
    }
    out += fmt::format("  {{rank=same;{}}}\n", list);
  };
  rank(-1);
  for (const int t : s.tiers) rank(t);
  // The NICs of the first machine apart are for pictures that show them.
  std::vector<Sketch::Bundle> bundles;
  for (const auto& b : s.bundles) {
    const auto same = std::ranges::find_if(
        bundles, [&](const auto& other) { return other.low == b.low && other.high == b.high && other.rail == b.rail; });
    if (same == bundles.end()) {
      bundles.push_back(b);
      continue;
    }
    same->count += b.count;
    same->down += b.down;
    same->slow += b.slow;
    same->rate = std::max(same->rate, b.rate);
  }
  for (const auto& b : bundles) {
    const auto broken = b.down + b.slow;
    const auto width =
        std::clamp(1 + 0.7 * std::log2(static_cast<double>(std::max<std::int64_t>(b.count, 1))), 1.0, 7.0);
    out += fmt::format("  b{} -- b{} [label={}, penwidth={:.1f}, color=\"{}\"{}];\n", b.low, b.high,
                       quoted(fmt::format("{} x {:g} Gb/s{}", b.count, b.rate.GBps() * 8,
                                          broken > 0 ? fmt::format("\n{} down or slowed", broken) : "")),
                       width,
                       broken > 0    ? "red"
                       : b.rail >= 0 ? rail_colour(b.rail)
                                     : "#5b6b7b",
                       broken > 0 ? ", style=dashed" : "");
  }
  return out + "}\n";
}

std::string to_yaml(const Cluster& cluster) {
  const auto& data = cluster.data();
  // An importer's machine has no text of its own.
  auto text = data.text.empty() ? to_yaml(cluster.kind(0)) : data.text;
  if (cluster.network().empty()) return text;
  if (!text.ends_with('\n')) text += '\n';
  const auto all = static_cast<int>(cluster.network().data().first_nic.size()) - 1;
  if (cluster.nodes() < all)
    text = fmt::format("# {} of the {} nodes were asked for: the network stays whole, --nodes {} takes them\n",
                       cluster.nodes(), all, cluster.nodes()) +
           text;
  if (!has_key(text, "nodes") && !has_key(text, "network"))
    return text + fmt::format("nodes: {}\nnetwork: {{fabric: {}, type: ideal}}\n", cluster.nodes(),
                              cluster.network().model().name);
  if (!has_key(text, "network"))
    return text + fmt::format("network: {{fabric: {}, type: ideal}}\n", cluster.network().model().name);
  // A network that says itself how many machines it joins, or the number that was asked for.
  if (!has_key(text, "nodes") && text.find("\n  hosts:") == std::string::npos &&
      cluster.network().generator() != "explicit")
    text += fmt::format("nodes: {}\n", all);
  return text;
}

}  // namespace linkcast::topologies
