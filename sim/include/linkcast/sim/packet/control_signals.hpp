// What congestion control is told. Knows no algorithm.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "linkcast/sim/units.hpp"

namespace linkcast::sim::packet {

/// As many bytes under way as there are.
inline constexpr Bytes no_window{std::numeric_limits<std::int64_t>::max()};

/// Of a flow, when it is opened.
struct Path {
  Rate line;      // of the sender's port
  Time base_rtt;  // of a full packet and its acknowledgement with nothing in the way
  int hops = 1;   // links, one way
  Bytes packet;   // a full one, on the wire
};

/// What a switch wrote into a packet when it sent it on (HPCC's in-band telemetry).
struct Hop {
  std::uint64_t sent_bytes = 0;  // by this link since the beginning
  Time at;                       // when it sent the packet
  std::uint32_t queue = 0;       // bytes that wait for the link
  Rate rate;
};

struct Ack {
  Time now;
  Time rtt;                   // of the packet that caused it
  Bytes newly;                // acknowledged for the first time
  Bytes in_flight;            // after this
  bool marked = false;        // the packet had met congestion (ECN echo)
  bool round = false;         // the first for a packet that was sent after the last `round`: once an RTT
  std::span<const Hop> hops;  // telemetry, in the order of the way; empty where not wanted
};

}  // namespace linkcast::sim::packet
