// A machine with other NICs than its catalog entry: clouds and sites put what they like into the same board. Where the
// NICs sit stays as it is.
#include <fmt/format.h>

#include <algorithm>

#include "fabric_data.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace linkcast::topologies {

Fabric Fabric::with_nics(int count, sim::Rate rate, bool as_ports) const {
  auto copy = std::make_shared<Data>(*data_);
  copy->cache = std::make_shared<Data::RouteCache>();
  std::vector<DeviceId> nics;
  for (std::size_t d = 0; d < copy->devices.size(); ++d)
    if (copy->devices[d].kind == DeviceKind::nic) nics.push_back(DeviceId{static_cast<std::uint32_t>(d)});
  const auto own = static_cast<int>(nics.size());
  if (own == 0) throw sim::InputError(fmt::format("'{}' has no NIC whose place others could take", name()));
  if (count < 1 || (count > own && count % own != 0))
    throw sim::InputError(fmt::format("{} NICs do not spread over the {} places of '{}'", count, own, name()),
                          fmt::format("at most {}, or a multiple of it", own));
  const int ports = as_ports && count > own ? count / own : 1;
  if (ports > 1) {
    count = own;
    rate = rate * ports;
  }
  std::vector<bool> kept(static_cast<std::size_t>(own), false);
  for (int i = 0; i < std::min(count, own); ++i) kept[static_cast<std::size_t>(i * own / std::min(count, own))] = true;
  for (int i = 0; i < own; ++i)
    if (!kept[static_cast<std::size_t>(i)]) {
      const auto at = static_cast<std::size_t>(nics[static_cast<std::size_t>(i)]);
      copy->device_extra[at].up = false;
      copy->devices[at].attributes["absent"] = "1";  // an empty place; what is down was bought all the same
    }
  const auto links = copy->links.size();
  for (int more = own; more < count; ++more) {
    const auto like = nics[static_cast<std::size_t>(more % own)];
    auto device = copy->device(like);
    device.index = more;
    device.name = fmt::format("nic[{}]", more);
    const auto id = copy->add(std::move(device), copy->device_extra[static_cast<std::size_t>(like)]);
    for (std::size_t l = 0; l < links; ++l) {
      auto link = copy->links[l];
      if (link.a != like && link.b != like) continue;
      (link.a == like ? link.a : link.b) = id;
      copy->add(std::move(link), copy->link_extra[l]);
    }
  }
  for (auto& d : copy->devices) {
    if (d.kind != DeviceKind::nic) continue;
    d.attributes["gbps"] = fmt::format("{}", static_cast<double>(rate.bytes_per_second()) * 8e-9);
    d.attributes.erase("ports");
    if (ports > 1) d.attributes["ports"] = std::to_string(ports);
  }
  copy->text.clear();
  return Fabric{std::move(copy)};
}

}  // namespace linkcast::topologies
