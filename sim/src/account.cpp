// Names of the causes and the booking of transfers. Knows no network: it splits a given time.
#include "linkcast/sim/account.hpp"

#include <algorithm>

namespace linkcast::sim {

std::string_view name_of(Cause c) {
  static constexpr std::array<std::string_view, cause_count> names{"launch",   "latency", "fill",     "wire",
                                                                   "protocol", "sm",      "nic",      "congestion",
                                                                   "wait",     "compute", "queueing", "paused"};
  return names[static_cast<std::size_t>(c)];
}

void book_transfer(Account& account, Time elapsed, Time wire_only, Time with_protocol, Time alone, Cause cap,
                   std::optional<Time> paused) {
  // Each bound takes what the one before it left over; clamping to `elapsed` makes the parts telescope to it.
  const Time wire = std::min(elapsed, wire_only);
  const Time framed = std::clamp(with_protocol, wire, elapsed);
  const Time capped = std::clamp(alone, framed, elapsed);
  account.add(Cause::wire, wire);
  account.add(Cause::protocol, framed - wire);
  account.add(cap, capped - framed);
  if (paused) return book_delay(account, elapsed - capped, *paused);
  account.add(Cause::congestion, elapsed - capped);
}

void book_delay(Account& account, Time delay, Time paused) {
  const Time held = std::clamp(paused, Time{}, delay);
  account.add(Cause::paused, held);
  account.add(Cause::queueing, delay - held);
}

}  // namespace linkcast::sim
