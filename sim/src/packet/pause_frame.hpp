// What a pause takes on the wire. It delays nothing but itself: its bytes are not charged to the link.
#pragma once

#include <cstdint>

namespace linkcast::sim::packet {

inline constexpr std::int64_t pause_frame = 64;  // bytes; IEEE 802.1Qbb: the smallest Ethernet frame

}  // namespace linkcast::sim::packet
