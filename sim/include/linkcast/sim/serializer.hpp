// The time that consecutive messages hold a link. The fraction of a picosecond that rounding up gave to one
// message is taken from the next, so that cutting a message into pieces never changes when its last byte leaves:
// the sum over any pieces is transfer_time(sum of their sizes). Knows no packet format.
#pragma once

#include "linkcast/sim/units.hpp"

namespace linkcast::sim {

class Serializer {
 public:
  constexpr explicit Serializer(Rate rate) : rate_{rate} {}  // requires rate > 0

  /// How long the next message holds the link.
  constexpr Time send(Bytes size) {
    if (rate_.is_unlimited()) return Time{};
    __extension__ using Wide = __int128;
    const Wide rate = rate_.bytes_per_second();
    // In units of byte picoseconds per second: what is to be sent, less what was already waited for.
    const Wide due = static_cast<Wide>(size.count()) * 1'000'000'000'000 - ahead_;
    const Wide ps = due > 0 ? (due + rate - 1) / rate : 0;
    ahead_ = static_cast<std::int64_t>(ps * rate - due);
    return Time::picoseconds(static_cast<std::int64_t>(ps));
  }

  /// Forgets the fraction: the link was idle.
  constexpr void idle() { ahead_ = 0; }

 private:
  Rate rate_;
  std::int64_t ahead_ = 0;  // 0 <= ahead_ < rate
};

}  // namespace linkcast::sim
