// What a protocol costs per unit on one kind of GPU, as the schedules use it. One place where NCCL's protocol
// formats (NCCL device/prims_ll.h, prims_ll128.h, include/device.h) meet the GPU's measured rates.
#pragma once

#include "lanes.hpp"
#include "linkcast/models/gpu.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/program.hpp"

namespace linkcast::workloads {

struct Costs {
  double wire = 1;           // bytes on NVLink for each payload byte: LL 2 (8 B data + 8 B flags), LL128 16/15
  double wire_pcie = 1;      // the same on PCIe
  bool cut_through = false;  // flags travel with the data
  models::ProtocolCost protocol;
  double on(const Lane& lane) const { return lane.transport == topologies::Transport::nvlink ? wire : wire_pcie; }
};

/// For a call that keeps that many channels busy: a block alone is quicker than one of many that share the GPU.
Costs costs_of(const models::GpuModel& gpu, models::nccl::Protocol p, int channels);

/// The two kinds of unit that every schedule has.
enum UnitKindIndex : std::uint16_t { kind_send = 0, kind_local = 1 };

inline std::vector<sim::UnitKind> unit_kinds(const Costs& c) {
  return {{c.protocol.overhead, c.protocol.send, sim::Cause::sm, c.cut_through},
          {c.protocol.overhead, c.protocol.local, sim::Cause::sm, c.cut_through}};
}

}  // namespace linkcast::workloads
