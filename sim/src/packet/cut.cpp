// See cut.hpp.
#include "cut.hpp"

#include <algorithm>

namespace linkcast::sim::packet {

Cut cut_into(const Fabric& fabric, int parts, std::span<const std::pair<std::uint32_t, std::uint32_t>> together) {
  Cut cut;
  const auto nodes = static_cast<std::uint32_t>(fabric.nodes());
  cut.part_of.assign(nodes, 0);
  if (parts <= 1) return cut;
  constexpr std::uint32_t none = 0xFFFFFFFF;
  // Switches on which endpoints hang, joined into blocks that must stay whole: block[switch] is the first of its block.
  std::vector<std::uint32_t> block(nodes, none), endpoints(nodes, 0), site_of(nodes, none);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const auto last = fabric.tables_of(NodeId{n}).last_link;
    if (last == no_link) continue;
    site_of[n] = static_cast<std::uint32_t>(fabric.link(last).from);
    block[site_of[n]] = site_of[n];
  }
  const auto first = [&](std::uint32_t site) {
    while (block[site] != site) site = block[site] = block[block[site]];
    return site;
  };
  for (const auto& [a, b] : together) {
    if (site_of[a] == none || site_of[b] == none) continue;
    const auto x = first(site_of[a]), y = first(site_of[b]);
    block[std::max(x, y)] = std::min(x, y);
  }
  std::uint32_t all = 0, blocks = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (block[n] == n) ++blocks;
    if (site_of[n] != none) ++endpoints[first(site_of[n])], ++all;
  }
  parts = std::min({parts, 64, static_cast<int>(blocks)});
  if (parts <= 1) return cut;

  // By the number of endpoints, so that parts have equally many.
  std::uint32_t before = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (block[n] != n) continue;
    cut.part_of[n] = static_cast<std::uint8_t>(std::uint64_t{before} * static_cast<unsigned>(parts) / all);
    before += endpoints[n];
  }
  std::vector<std::uint8_t> known(nodes, 0);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (block[n] == none) continue;
    cut.part_of[n] = cut.part_of[first(n)];
    known[n] = 1;
  }
  std::uint32_t turn = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (site_of[n] != none) {
      cut.part_of[n] = cut.part_of[site_of[n]];
    } else if (known[n] == 0 && !fabric.is_endpoint(NodeId{n})) {
      cut.part_of[n] = static_cast<std::uint8_t>(turn++ % static_cast<unsigned>(parts));
    }
  }
  for (std::uint32_t l = 0; l < fabric.links(); ++l) {
    const auto& link = fabric.link(LinkId{l});
    if (cut.part_of[static_cast<std::size_t>(link.from)] == cut.part_of[static_cast<std::size_t>(link.to)]) continue;
    cut.lookahead = std::min(cut.lookahead, link.delay);
  }
  if (cut.lookahead <= Time{}) {
    cut.part_of.assign(nodes, 0);
    cut.lookahead = Time::max();
    return cut;
  }
  cut.parts = parts;
  return cut;
}

}  // namespace linkcast::sim::packet
