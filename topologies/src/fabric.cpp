// The public face of a fabric. Routing and flow are next door (routes.cpp, graph_flow.cpp).
#include "linkcast/topologies/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "fabric_data.hpp"
#include "graph.hpp"

namespace linkcast::topologies {

std::string_view name_of(DeviceKind k) {
  switch (k) {
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::nvswitch:
      return "nvswitch";
    case DeviceKind::pcie_switch:
      return "pcie_switch";
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::nic:
      return "nic";
    case DeviceKind::memory:
      return "memory";
  }
  return "unknown";
}

std::string_view name_of(Transport t) {
  switch (t) {
    case Transport::nvlink:
      return "nvlink";
    case Transport::pcie_p2p:
      return "pcie_p2p";
    case Transport::host_memory:
      return "host_memory";
  }
  return "unknown";
}

Fabric::Fabric(std::shared_ptr<const Data> data) : data_{std::move(data)} {}

const std::string& Fabric::name() const { return data_->name; }
std::span<const Device> Fabric::devices() const { return data_->devices; }
std::span<const Link> Fabric::links() const { return data_->links; }
std::span<const DeviceId> Fabric::gpus() const { return data_->gpus; }
const models::HostModel& Fabric::host() const { return data_->host; }
bool Fabric::pcie_p2p() const { return data_->pcie_p2p; }

const models::GpuModel& Fabric::gpu_model(DeviceId gpu) const {
  const auto index = data_->device_extra.at(static_cast<std::size_t>(gpu)).gpu_model;
  if (index < 0) throw sim::InternalError(data_->device(gpu).name + " is no GPU");
  return data_->gpu_models[static_cast<std::size_t>(index)];
}

std::optional<Route> Fabric::route(DeviceId from, DeviceId to, Transport t) const {
  const auto n = data_->devices.size();
  const auto key =
      (static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)) * 3 + static_cast<std::size_t>(t);
  const std::lock_guard lock{data_->cache->mutex};
  auto& routes = data_->cache->routes;
  if (routes.empty()) routes.resize(n * n * 3);
  auto& slot = routes.at(key);
  if (!slot) slot = find_route(*data_, from, to, t);
  return *slot;
}

std::optional<Route> Fabric::route_through_gpu(DeviceId from, DeviceId to) const {
  return find_route_through_gpu(*data_, from, to);
}

std::optional<Route> Fabric::route_to_nic(DeviceId gpu, DeviceId nic, bool staged) const {
  return find_nic_route(*data_, gpu, nic, staged);
}
std::optional<Route> Fabric::route_from_nic(DeviceId nic, DeviceId gpu, bool staged) const {
  return find_nic_route(*data_, nic, gpu, staged);
}

bool Fabric::usable(LinkId link) const { return data_->usable(link); }

bool Fabric::nvls(std::span<const DeviceId> gpus) const {
  const auto reaches = [&](std::size_t chip, DeviceId gpu) {
    return std::ranges::any_of(std::views::iota(std::size_t{0}, data_->links.size()), [&](std::size_t l) {
      const auto& link = data_->links[l];
      const bool joins = (link.a == gpu && static_cast<std::size_t>(link.b) == chip) ||
                         (link.b == gpu && static_cast<std::size_t>(link.a) == chip);
      return joins && data_->usable(LinkId{static_cast<std::uint32_t>(l)});
    });
  };
  for (std::size_t d = 0; d < data_->devices.size(); ++d) {
    if (data_->devices[d].kind != DeviceKind::nvswitch || !data_->device_extra[d].multicast) continue;
    if (std::ranges::all_of(gpus, [&](DeviceId g) { return reaches(d, g); })) return gpus.size() > 1;
  }
  return false;
}

Fabric Fabric::slice(std::span<const int> ranks) const {
  auto copy = std::make_shared<Data>(*data_);
  copy->cache = std::make_shared<Data::RouteCache>();
  copy->gpus.clear();
  std::vector<bool> taken(data_->gpus.size(), false);
  const auto count = static_cast<int>(data_->gpus.size());
  for (int r : ranks) {
    if (r < 0 || r >= count) {
      throw sim::InputError(fmt::format("no rank {} in {}", r, data_->name),
                            fmt::format("its ranks are 0 to {}", count - 1));
    }
    if (taken[static_cast<std::size_t>(r)]) throw sim::InputError(fmt::format("rank {} is named twice", r));
    taken[static_cast<std::size_t>(r)] = true;
    copy->gpus.push_back(data_->gpus[static_cast<std::size_t>(r)]);
  }
  if (copy->gpus.empty()) throw sim::InputError("a slice without ranks", "name at least one rank");
  return Fabric{std::move(copy)};
}

sim::ResourceTable Fabric::resources() const {
  sim::ResourceTable table;
  for (const auto& l : data_->links) {
    const auto& a = data_->device(l.a).name;
    const auto& b = data_->device(l.b).name;
    table.add({fmt::format("{} {}->{}", models::name_of(l.kind), a, b), l.payload, l.bare});
    table.add({fmt::format("{} {}->{}", models::name_of(l.kind), b, a), l.payload, l.bare});
  }
  return table;
}

sim::Rate Fabric::bisection() const {
  const auto nvlink = max_flow_between_halves(*data_, true);
  return nvlink > sim::Rate{} ? nvlink : max_flow_between_halves(*data_, false);
}

int Fabric::gpu_components() const { return count_gpu_components(*data_); }

std::size_t Fabric::estimated_memory_bytes() const {
  std::size_t n = sizeof(Data) + data_->text.size();
  for (const auto& d : data_->devices) n += sizeof(Device) + sizeof(DeviceExtra) + d.attributes.size() * 128;
  n += data_->links.size() * (sizeof(Link) + sizeof(LinkExtra) + 32);
  n += data_->numbers.size() * (sizeof(SourcedNumber) + 96);
  n += data_->devices.size() * data_->devices.size() * 3 * sizeof(std::optional<std::optional<Route>>);
  return n;
}

}  // namespace linkcast::topologies
