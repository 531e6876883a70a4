// How a replay (sim/replay.hpp) moves as packets what its programs speak of as connections and resources: which flows a
// connection's bytes are spread over, and which links or stations a resource is. Made by whoever knows the machines.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "linkcast/sim/packet/fabric.hpp"
#include "linkcast/sim/packet/network.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::sim::packet {

/// One of the flows that share the bytes of a unit. The flow's cap is what the unit's is for its part of the bytes.
struct Part {
  FlowSpec flow;
  double weight = 1;  // bytes of its messages for each byte of the unit: its share, times what a protocol adds
  Time latency;       // of a packet with nothing in its way: so much of Connection::latency has passed when it arrives
};

/// The parts of a chunk program's connections, by ConnectionId. Where one has none, each of its usages is a flow of its
/// own (Setting::resources), all that are stations together one, side by side: the order in which bytes cross them is
/// not known, or matters to nobody.
struct Ways {
  std::vector<std::vector<Part>> of;
};

/// What makes a replay one of packets. What it points to must outlive the replay.
struct Setting {
  const Fabric* fabric = nullptr;
  std::vector<Transport> transports;
  Options options;  // one partition: programs wait for each other at once

  /// A resource of the replay on its own.
  struct Place {
    std::vector<Part> alone;           // over its links (parallel ones share it); a station: over a link with no limit
    std::optional<StationId> station;  // that it is
  };
  std::vector<Place> resources;  // by ResourceId; one without either holds nothing back
  static constexpr std::uint32_t no_resource = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> resource_of_link;  // by LinkId
};

}  // namespace linkcast::sim::packet
