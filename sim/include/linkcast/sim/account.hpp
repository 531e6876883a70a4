// The account of time: every picosecond of a run belongs to one cause. An account is carried along the
// critical path: whoever waits for several things takes over the account of the one that came last,
// so that the parts always add up to the elapsed time exactly.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "linkcast/sim/units.hpp"

namespace linkcast::sim {

enum class Cause : unsigned char {
  launch,      // host enqueue, kernel start and end
  latency,     // per-step synchronisation and propagation
  fill,        // a pipeline filling before its last stage has work
  wire,        // payload at the bare rate of the narrowest link on the way
  protocol,    // flags, headers and packet overhead on that link
  sm,          // the rate at which a GPU's SMs (or a copy engine) copy and reduce, beyond what the wire takes
  nic,         // NIC and proxy
  congestion,  // sharing a link with something else
  wait,        // a peer that is late
  compute,     // work that is not communication
  queueing,    // fidelity packet, in place of congestion: packets behind others in a queue or at a sender
  paused,      // ... and held back by a pause or for want of credit
};
inline constexpr std::size_t cause_count = 12;
/// The first of them are told of every account, also where they are zero; those beyond only where packets moved.
inline constexpr std::size_t causes_always_told = 10;
std::string_view name_of(Cause c);  // "launch", "latency", … as in JSON

class Account {
 public:
  constexpr Time operator[](Cause c) const { return parts_[static_cast<std::size_t>(c)]; }
  constexpr void add(Cause c, Time t) { parts_[static_cast<std::size_t>(c)] += t; }
  constexpr Time total() const {
    Time sum;
    for (auto p : parts_) sum += p;
    return sum;
  }
  constexpr Account& operator+=(const Account& o) {
    for (std::size_t i = 0; i < cause_count; ++i) parts_[i] += o.parts_[i];
    return *this;
  }
  constexpr bool operator==(const Account&) const = default;
  /// Whether a list of all causes has this one.
  constexpr bool tells(Cause c) const {
    return static_cast<std::size_t>(c) < causes_always_told || (*this)[c] != Time{};
  }

 private:
  std::array<Time, cause_count> parts_{};
};

/// How a transfer that took `elapsed` is booked, from what it would have taken under ever fewer constraints:
/// `wire_only` at the bare link rate, `with_protocol` with framing too, `alone` with the sender's own cap too
/// (nobody else on the links). Requires wire_only <= with_protocol <= alone; what is beyond `alone` is congestion.
/// `cap`: the cause that the sender's own cap stands for. The parts add up to `elapsed` exactly, also where
/// rounding made `elapsed` smaller than one of the bounds. `paused`, where packets move: for how long some of them were
/// held back; so much of what is beyond `alone` is paused, and the rest queueing.
void book_transfer(Account& account, Time elapsed, Time wire_only, Time with_protocol, Time alone, Cause cap,
                   std::optional<Time> paused = std::nullopt);

/// Books a delay of packets that were held back for `paused` of some longer or shorter time.
void book_delay(Account& account, Time delay, Time paused);

}  // namespace linkcast::sim
