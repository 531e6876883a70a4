// Networks of one tier, whose switches are joined to each other: dragonfly (Kim, Dally, Scott, Abts, ISCA 2008) and
// torus. Machines are plugged in in order, all NICs of one on the same router.
#include <fmt/format.h>

#include <algorithm>

#include "generators.hpp"

namespace linkcast::topologies {
namespace {

struct Routers {
  std::int64_t count = 0;
  std::int64_t links = 0;  // of each, to other routers
};

/// False after a refusal: ports of a router, room for all nodes.
bool check(NetworkBuild& b, const Routers& r) {
  const auto& p = b.plan;
  const auto nodes = r.count * p.nodes_per_router;
  if (p.nodes > nodes) {
    b.refuse("",
             fmt::format("{} nodes, but {} routers of {} take at most {}", p.nodes, r.count, p.nodes_per_router, nodes),
             "take fewer nodes, more routers or more nodes_per_router");
    return false;
  }
  const auto& model = p.switches[0];
  const auto ports = std::int64_t{p.nodes_per_router} * b.ports_per_node() + r.links;
  if (model.radix > 0 && ports > model.radix) {
    b.refuse("switch",
             fmt::format("a router needs {} ports ({} for NICs, {} for routers), but {} has {}", ports, ports - r.links,
                         r.links, model.name, model.radix),
             "take fewer nodes_per_router or fewer links");
    return false;
  }
  return b.fits(static_cast<double>(r.count), static_cast<double>(r.count) * static_cast<double>(r.links));
}

void add_routers(NetworkBuild& b, std::int64_t count, int per_group) {
  const auto model = b.switch_model(b.plan.switches[0]);
  b.add_machines();
  for (std::int64_t i = 0; i < count; ++i)
    b.add_switch(0, model, -1, -1, per_group > 0 ? static_cast<int>(i / per_group) : -1);
  for (std::size_t port = 0; port < b.data->places.size(); ++port) {
    const auto& place = b.data->places[port];
    const auto router = SwitchId{static_cast<std::uint32_t>(place.node / b.plan.nodes_per_router)};
    const auto rate = std::min(b.plan.nics[static_cast<std::size_t>(place.nic)].rate, b.plan.switches[0].rate);
    b.connect(static_cast<std::uint32_t>(port), b.data->end(router), b.cable_model(rate, 0), 1);
  }
}

}  // namespace

std::shared_ptr<Network::Data> generate_dragonfly(NetworkBuild& b) {
  const auto& p = b.plan;
  const std::int64_t a = p.routers_per_group;
  const auto per_group = a * p.nodes_per_router;
  const std::int64_t g = p.groups > 0 ? p.groups : std::max<std::int64_t>(1, (p.nodes + per_group - 1) / per_group);
  const std::int64_t between = p.global_links;
  const auto per_router = g > 1 ? (between * (g - 1) + a - 1) / a : 0;  // global cables of a router, at most
  if (!check(b, {g * a, (a - 1) * p.local_links + per_router})) return nullptr;

  add_routers(b, g * a, static_cast<int>(a));
  const auto router = [&](std::int64_t group, std::int64_t i) {
    return b.data->end(SwitchId{static_cast<std::uint32_t>(group * a + i)});
  };
  const auto local = b.cable_model(p.switches[0].rate, 1);
  const auto global = b.cable_model(p.switches[0].rate, 2);
  for (std::int64_t group = 0; group < g; ++group) {
    for (std::int64_t i = 0; i < a; ++i)
      for (auto j = i + 1; j < a; ++j) b.connect(router(group, i), router(group, j), local, p.local_links);
  }
  // The global cables of a group are dealt to its routers in the order of the distance to the other group, so that each
  // router has nearly as many.
  const auto owner = [&](std::int64_t from, std::int64_t to, std::int64_t cable) {
    const auto distance = (to - from + g) % g;
    return ((distance - 1) * between + cable) % a;
  };
  for (std::int64_t i = 0; i < g; ++i) {
    for (auto j = i + 1; j < g; ++j) {
      for (std::int64_t c = 0; c < between; ++c)
        b.connect(router(i, owner(i, j, c)), router(j, owner(j, i, c)), global, 1);
    }
  }
  return b.data;
}

std::shared_ptr<Network::Data> generate_torus(NetworkBuild& b) {
  const auto& p = b.plan;
  std::int64_t routers = 1, links = 0;
  for (const int n : p.dims) {
    routers = std::min<std::int64_t>(routers * n, 1 << 30);
    links += (n > 2 ? 2 : n - 1) * p.local_links;
  }
  if (!check(b, {routers, links})) return nullptr;

  add_routers(b, routers, 0);
  const auto model = b.cable_model(p.switches[0].rate, 1);
  for (std::int64_t r = 0; r < routers; ++r) {
    std::int64_t stride = 1;
    for (const int n : p.dims) {
      const auto at = r / stride % n;
      // The last of a row closes the ring; of a row of two, both ways would be the same cable.
      if (n > 1 && (at + 1 < n || n > 2)) {
        const auto to = r + ((at + 1) % n - at) * stride;
        b.connect(b.data->end(SwitchId{static_cast<std::uint32_t>(r)}),
                  b.data->end(SwitchId{static_cast<std::uint32_t>(to)}), model, p.local_links);
      }
      stride *= n;
    }
  }
  return b.data;
}

}  // namespace linkcast::topologies
