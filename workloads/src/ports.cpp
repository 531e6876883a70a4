#include "ports.hpp"

namespace linkcast::workloads {

using topologies::DeviceKind;
using topologies::Fabric;

std::vector<sim::Usage> port(const Fabric& fabric, const models::GpuModel& gpu, int rank, bool out, PortTraffic traffic) {
  const auto device = fabric.gpus()[static_cast<std::size_t>(rank)];
  const bool in_switch = traffic == PortTraffic::in_switch;
  const auto links = fabric.links();
  const auto counts = [&](const topologies::Link& l) {
    if (l.kind != models::LinkKind::nvlink || l.state == "down" || (l.a != device && l.b != device)) return false;
    const auto other = l.a == device ? l.b : l.a;
    return !in_switch || fabric.devices()[static_cast<std::size_t>(other)].kind == DeviceKind::nvswitch;
  };
  double total = 0;
  for (const auto& l : links)
    if (counts(l)) total += static_cast<double>(l.bare.bytes_per_second());
  std::vector<sim::Usage> usages;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto& l = links[i];
    if (!counts(l)) continue;
    const double price = in_switch ? l.payload.GBps() / (l.bare.GBps() * gpu.nvls_efficiency) : 1.0;
    usages.push_back({Fabric::resource(topologies::LinkId{static_cast<std::uint32_t>(i)}, (l.a == device) == out),
                      price * static_cast<double>(l.bare.bytes_per_second()) / total});
  }
  return usages;
}

}  // namespace linkcast::workloads
