// See cut.hpp.
#include "cut.hpp"

#include <algorithm>

namespace linkcast::sim::packet {

Cut cut_into(const Fabric& fabric, int parts) {
  Cut cut;
  const auto nodes = static_cast<std::uint32_t>(fabric.nodes());
  cut.part_of.assign(nodes, 0);
  parts = std::min(parts, 64);
  std::vector<std::uint32_t> sites;
  for (std::uint32_t n = 0; n < nodes; ++n)
    if (placed(fabric, n).site != 0xFFFFFFFF) sites.push_back(n);
  parts = std::min(parts, static_cast<int>(sites.size()));
  if (parts <= 1) return cut;

  // By the number of endpoints, so that parts have equally many.
  std::vector<std::uint32_t> endpoints(nodes, 0);
  std::uint32_t all = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const auto place = placed(fabric, n);
    if (place.last_link == 0xFFFFFFFF) continue;
    ++endpoints[static_cast<std::size_t>(fabric.link(LinkId{place.last_link}).from)];
    ++all;
  }
  std::uint32_t before = 0;
  std::vector<std::uint8_t> known(nodes, 0);
  for (const auto s : sites) {
    cut.part_of[s] = static_cast<std::uint8_t>(std::uint64_t{before} * static_cast<unsigned>(parts) / all);
    known[s] = 1;
    before += endpoints[s];
  }
  std::uint32_t turn = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const auto place = placed(fabric, n);
    if (place.last_link != 0xFFFFFFFF) {
      cut.part_of[n] = cut.part_of[static_cast<std::size_t>(fabric.link(LinkId{place.last_link}).from)];
      known[n] = 1;
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

Place placed(const Fabric& fabric, std::uint32_t node) {
  const auto tables = fabric.tables_of(NodeId{node});
  return {tables.row, tables.site, tables.hangs_on, static_cast<std::uint32_t>(tables.last_link)};
}

}  // namespace linkcast::sim::packet
