// All of a GPU's NVLinks in one direction: what traffic loads that goes to every peer alike, or through the switch to
// all of them. Knows no algorithm.
#pragma once

#include <vector>

#include "linkcast/models/gpu.hpp"
#include "linkcast/sim/fluid.hpp"
#include "linkcast/topologies/fabric.hpp"

namespace linkcast::workloads {

enum class PortTraffic : unsigned char {
  stores,     // plain loads and stores
  in_switch,  // reduction and multicast: reaches a smaller share of the bare rate (GpuModel::nvls_efficiency)
};

/// One byte out of (or into) a GPU, spread over its NVLinks by their rates. Links are charged in bytes of plain stores:
/// a byte of in-switch traffic costs payload rate / (bare rate * efficiency) of one.
std::vector<sim::Usage> port(const topologies::Fabric& fabric, const models::GpuModel& gpu, int rank, bool out,
                             PortTraffic traffic);

}  // namespace linkcast::workloads
