// Building of the packet fabric: wiring, sites and routing tables. Knows no packet.
#include "linkcast/sim/packet/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "../mix.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim::packet {

namespace {
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
}

Fabric::Fabric(std::vector<VirtualLane> lanes) : lanes_{std::move(lanes)}, groups_(1) {
  if (lanes_.empty() || lanes_.size() > 8)
    throw InputError(fmt::format("{} virtual lanes", lanes_.size()), "a network has 1 to 8");
}

std::uint16_t Fabric::add_kind(NodeKind kind) {
  kinds_.push_back(std::move(kind));
  return static_cast<std::uint16_t>(kinds_.size() - 1);
}

NodeId Fabric::add_endpoint(std::uint16_t kind) {
  node_kind_.push_back(kind);
  endpoint_.push_back(1);
  return NodeId{static_cast<std::uint32_t>(node_kind_.size() - 1)};
}

NodeId Fabric::add_switch(std::uint16_t kind) {
  node_kind_.push_back(kind);
  endpoint_.push_back(0);
  return NodeId{static_cast<std::uint32_t>(node_kind_.size() - 1)};
}

LinkId Fabric::add_link(const LinkSpec& link) {
  if (index(link.from) >= nodes() || index(link.to) >= nodes() || link.from == link.to)
    throw InternalError("packet fabric: a link between nodes that are not there");
  link_.push_back(link);
  reverse_.push_back(no_link);
  return LinkId{static_cast<std::uint32_t>(link_.size() - 1)};
}

LinkId Fabric::add_cable(NodeId a, NodeId b, LinkSpec each) { return add_cable(a, b, each, each); }

LinkId Fabric::add_cable(NodeId a, NodeId b, LinkSpec there, LinkSpec back) {
  there.from = back.to = a;
  there.to = back.from = b;
  const LinkId first = add_link(there);
  const LinkId second = add_link(back);
  reverse_[index(first)] = second;
  reverse_[index(second)] = first;
  return first;
}

StationId Fabric::add_station(Rate rate, std::string name) {
  station_.push_back(rate);
  station_name_.push_back(std::move(name));
  return StationId{static_cast<std::uint32_t>(station_.size() - 1)};
}

std::span<const LinkId> Fabric::out_links(NodeId n) const {
  return std::span{out_}.subspan(first_out_[index(n)], first_out_[index(n) + 1] - first_out_[index(n)]);
}

std::uint32_t Fabric::group_of(std::span<const LinkId> links, std::span<const unsigned> weights) {
  if (links.empty()) return 0;
  const bool weighted = !weights.empty() && std::ranges::any_of(weights, [&](unsigned w) { return w != weights[0]; });
  std::uint64_t hash = weighted;
  for (std::size_t i = 0; i < links.size(); ++i)
    hash = mix(hash, index(links[i]) * 65'537 + (weighted ? weights[i] : 1U));
  const auto [first, last] = group_by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Group& g = groups_[it->second];
    if (g.weighted == weighted && std::ranges::equal(std::span{group_links_}.subspan(g.first, g.count), links))
      return it->second;
  }
  Group g{static_cast<std::uint32_t>(group_links_.size()), static_cast<std::uint32_t>(links.size()), weighted};
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    group_links_.push_back(links[i]);
    group_weights_.push_back(sum += weighted ? weights[i] : 1);
  }
  groups_.push_back(g);
  const auto id = static_cast<std::uint32_t>(groups_.size() - 1);
  group_by_hash_.emplace(hash, id);
  return id;
}

void Fabric::route_shortest(const std::function<unsigned(LinkId)>& weight) {
  const std::size_t n = nodes();
  first_out_.assign(n + 1, 0);
  for (const auto& l : link_) ++first_out_[index(l.from) + 1];
  for (std::size_t i = 0; i < n; ++i) first_out_[i + 1] += first_out_[i];
  out_.resize(links());
  auto fill = first_out_;
  std::vector<std::vector<LinkId>> in(n);
  for (std::uint32_t l = 0; l < links(); ++l) {
    out_[fill[index(link_[l].from)]++] = LinkId{l};
    in[index(link_[l].to)].push_back(LinkId{l});
  }

  // Sites: switches on which endpoints hang by a single link. Others (a GPU at several NVSwitches) are reached by ways
  // that are given.
  site_.assign(n, none);
  last_link_.assign(n, no_link);
  site_of_switch_.assign(n, none);
  std::vector<std::uint32_t> sites;
  for (std::uint32_t e = 0; e < n; ++e) {
    if (!endpoint_[e] || in[e].size() != 1) continue;
    const auto from = static_cast<std::uint32_t>(link_[index(in[e][0])].from);
    if (endpoint_[from]) continue;
    if (site_of_switch_[from] == none) {
      site_of_switch_[from] = static_cast<std::uint32_t>(sites.size());
      sites.push_back(from);
    }
    site_[e] = site_of_switch_[from];
    last_link_[e] = in[e][0];
  }
  sites_ = static_cast<std::uint32_t>(sites.size());

  switch_index_.assign(n, none);
  switches_ = 0;
  std::vector<std::uint32_t> queue;
  for (const auto s : sites) {
    if (switch_index_[s] == none) switch_index_[s] = switches_++, queue.push_back(s);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const auto l : in[queue[at]]) {
      const auto from = index(link_[index(l)].from);
      if (!endpoint_[from] && switch_index_[from] == none)
        switch_index_[from] = switches_++, queue.push_back(static_cast<std::uint32_t>(from));
    }
  }

  table_.assign(std::size_t{switches_} * sites_, 0);
  std::vector<std::uint32_t> distance(n);
  std::vector<LinkId> nearer;
  std::vector<unsigned> weights;
  for (std::uint32_t site = 0; site < sites_; ++site) {
    std::ranges::fill(distance, none);
    queue.assign(1, sites[site]);
    distance[sites[site]] = 0;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const auto sw = queue[at];
      for (const auto l : in[sw]) {
        const auto from = static_cast<std::uint32_t>(link_[index(l)].from);
        if (endpoint_[from] || distance[from] != none) continue;
        distance[from] = distance[sw] + 1;
        queue.push_back(from);
      }
    }
    for (std::size_t at = 1; at < queue.size(); ++at) {
      const auto sw = queue[at];
      nearer.clear();
      weights.clear();
      for (const auto l : out_links(NodeId{sw})) {
        if (distance[index(link_[index(l)].to)] != distance[sw] - 1 || endpoint_[index(link_[index(l)].to)]) continue;
        nearer.push_back(l);
        if (weight) weights.push_back(std::max(1U, weight(l)));
      }
      table_[std::size_t{switch_index_[sw]} * sites_ + site] = group_of(nearer, weights);
    }
  }
}

void Fabric::set_route(NodeId at, NodeId site, std::span<const LinkId> links, std::span<const unsigned> weights) {
  const auto s = site_of_switch_.at(index(site));
  const auto sw = switch_index_.at(index(at));
  if (s == none || sw == none) throw InternalError("packet fabric: a route between nodes that are no switches");
  for (const auto l : links)
    if (link_[index(l)].from != at) throw InternalError("packet fabric: a route over a link of another switch");
  table_[std::size_t{sw} * sites_ + s] = group_of(links, weights);
}

std::span<const LinkId> Fabric::routes(NodeId at, NodeId endpoint) const {
  const auto site = site_[index(endpoint)];
  if (site == none) return {};
  if (endpoint_[index(at)]) return out_links(at);
  if (site_of_switch_[index(at)] == site) return {&last_link_[index(endpoint)], 1};
  const auto sw = switch_index_[index(at)];
  if (sw == none) return {};
  const Group& g = groups_[table_[std::size_t{sw} * sites_ + site]];
  return std::span{group_links_}.subspan(g.first, g.count);
}

Fabric::TablePlace Fabric::tables_of(NodeId n) const {
  const auto i = index(n);
  if (switch_index_.empty()) return {0, none, none, no_link};
  const auto sw = switch_index_[i];
  return {sw == none ? 0 : std::size_t{sw} * sites_, site_of_switch_[i], site_[i], last_link_[i]};
}

std::string Fabric::name_of(LinkId l) const {
  if (link_name) return link_name(l);
  return name_of(link(l).from) + "->" + name_of(link(l).to);
}
std::string Fabric::name_of(NodeId n) const {
  if (node_name) return node_name(n);
  return fmt::format("{}[{}]", is_endpoint(n) ? "endpoint" : "switch", index(n));
}

std::size_t Fabric::estimated_memory_bytes() const {
  // Of a running network: 64 bytes of state and 96 of statistics for a link, 56 for each of its lanes
  // (state.hpp).
  return table_.size() * sizeof(std::uint32_t) + links() * (sizeof(LinkSpec) + 160 + 56 * lanes_.size()) +
         nodes() * 160;
}

}  // namespace linkcast::sim::packet
