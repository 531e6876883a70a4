// See flow_patterns.hpp: where flows begin and end, and their names.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "linkcast/workloads/flow_patterns.hpp"

namespace linkcast::workloads {
namespace {

/// "0-3,7" as (first, last) pairs; nothing where it is not so written.
std::optional<std::vector<std::pair<int, int>>> ranges_of(std::string_view text) {
  std::vector<std::pair<int, int>> out;
  const auto number = [](std::string_view s) -> std::optional<int> {
    int n = 0;
    const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (error != std::errc{} || stop != s.data() + s.size() || n < 0) return std::nullopt;
    return n;
  };
  while (true) {
    const auto comma = text.find(',');
    auto part = text.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    const auto dash = part.find('-');
    const auto a = number(part.substr(0, dash));
    const auto b = dash == part.npos ? a : number(part.substr(dash + 1));
    if (!a || !b || *a > *b) return std::nullopt;
    out.emplace_back(*a, *b);
    if (comma == text.npos) return out;
    text.remove_prefix(comma + 1);
  }
}

/// What is in the brackets of "nic[0-3]".
std::optional<std::vector<std::pair<int, int>>> indices(std::string_view text, std::string_view kind) {
  if (text.size() < kind.size() + 3 || !text.starts_with(kind) || text[kind.size()] != '[' || text.back() != ']')
    return std::nullopt;
  return ranges_of(text.substr(kind.size() + 1, text.size() - kind.size() - 2));
}

bool within(const std::vector<std::pair<int, int>>& ranges, int n) {
  return std::ranges::any_of(ranges, [&](const auto& r) { return n >= r.first && n <= r.second; });
}

}  // namespace

FlowEnds::FlowEnds(const topologies::Cluster& cluster) : cluster_{cluster} {
  const auto& network = cluster.network();
  if (network.empty()) return;
  std::vector<sim::Rate> port(network.ports(), sim::Rate{});
  for (const auto& cable : network.cables()) {
    if (!cable.up) continue;
    for (const auto end : {cable.a, cable.b})
      if (end < network.ports()) port[end] = port[end] + network.cable_models()[cable.model].payload;
  }
  for (int n = 0; n < cluster.nodes(); ++n) {
    const int node = cluster.original_node(n);
    int nics = 0;
    for (const auto& d : cluster.machine(n).devices()) nics += d.kind == topologies::DeviceKind::nic ? 1 : 0;
    for (int nic = 0; nic < nics; ++nic) {
      sim::Rate line;
      for (const auto p : network.ports_of(node, nic)) line = line + port[static_cast<std::size_t>(p)];
      if (line == sim::Rate{}) continue;
      places_.push_back({node, nic});
      node_.push_back(n);
      line_.push_back(line);
    }
  }
}

std::string FlowEnds::name(std::size_t end) const {
  return fmt::format("{}.nic[{}]", cluster_.node_name(node_[end]), places_[end].nic);
}

std::vector<std::uint32_t> FlowEnds::find(std::string_view text, std::string& problem) const {
  std::optional<std::vector<std::pair<int, int>>> nodes, nics;
  std::string_view host;
  const auto dot = text.rfind(".nic[");
  const auto node = text.starts_with("nic[") ? std::string_view{} : text.substr(0, dot);
  const auto nic = text.starts_with("nic[") ? text : dot == text.npos ? std::string_view{} : text.substr(dot + 1);
  const std::string_view help = "write all, node[0-31], nic[0] or node[3].nic[0-1]";
  if (!nic.empty() && !(nics = indices(nic, "nic"))) {
    problem = fmt::format("'{}' names no NICs: {}", text, help);
    return {};
  }
  if (!node.empty() && node != "all" && !(nodes = indices(node, "node"))) host = node;
  std::vector<std::uint32_t> out;
  std::set<int> seen_nodes, seen_nics;
  for (std::size_t e = 0; e < places_.size(); ++e) {
    if (nodes && !within(*nodes, places_[e].node)) continue;
    if (!host.empty() && cluster_.node_name(node_[e]) != host) continue;
    seen_nodes.insert(places_[e].node);
    if (nics && !within(*nics, places_[e].nic)) continue;
    seen_nics.insert(places_[e].nic);
    out.push_back(static_cast<std::uint32_t>(e));
  }
  // A range must exist from end to end: half of it is a slip.
  if (nodes)
    for (const auto& [a, b] : *nodes)
      for (const int n : {a, b})
        if (!seen_nodes.contains(n)) {
          problem = fmt::format("'{}': there is no node[{}] with a NIC on this network", text, n);
          return {};
        }
  if (nics)
    for (const auto& [a, b] : *nics)
      for (const int n : {a, b})
        if (!seen_nodes.empty() && !seen_nics.contains(n)) {
          problem = fmt::format("'{}': there is no nic[{}] on this network", text, n);
          return {};
        }
  if (out.empty()) problem = fmt::format("'{}' names no NICs: {}", text, help);
  return out;
}

}  // namespace linkcast::workloads
