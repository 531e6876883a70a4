#include "ports.hpp"

namespace linkcast::workloads {

using topologies::DeviceKind;
using topologies::Fabric;

std::vector<sim::Usage> port(const Fabric& fabric, const models::GpuModel& gpu, int rank, bool out,
                             PortTraffic traffic) {
  const auto device = fabric.gpus()[static_cast<std::size_t>(rank)];
  const bool in_switch = traffic == PortTraffic::in_switch;
  const auto links = fabric.links();
  const auto counts = [&](std::size_t i) {
    const auto& l = links[i];
    if (l.kind != models::LinkKind::nvlink || (l.a != device && l.b != device)) return false;
    if (!fabric.usable(topologies::LinkId{static_cast<std::uint32_t>(i)})) return false;
    const auto other = l.a == device ? l.b : l.a;
    return !in_switch || fabric.devices()[static_cast<std::size_t>(other)].kind == DeviceKind::nvswitch;
  };
  // Addresses are spread over the links by their number, whatever each can do: a slow link holds back all.
  double total = 0;
  for (std::size_t i = 0; i < links.size(); ++i)
    if (counts(i)) total += links[i].width;
  std::vector<sim::Usage> usages;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!counts(i)) continue;
    const auto& l = links[i];
    const double price = in_switch ? l.payload.GBps() / (l.bare.GBps() * gpu.nvls_efficiency) : 1.0;
    usages.push_back({Fabric::resource(topologies::LinkId{static_cast<std::uint32_t>(i)}, (l.a == device) == out),
                      price * l.width / total});
  }
  return usages;
}

}  // namespace linkcast::workloads
