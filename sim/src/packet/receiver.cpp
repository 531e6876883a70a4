// Receivers: packets become messages, are acknowledged, and what is missing is asked for. See partition.hpp.
#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "partition.hpp"

namespace linkcast::sim::packet {
namespace {

// With packets that overtake each other a gap is a loss only when so many have come after it. Reordering by queues of
// different length is some tens of packets; TCP's 3 (RFC 5681) is for one way.
constexpr std::uint32_t overtaking = 64;

bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

}  // namespace

// What the host takes more slowly than the link brings stays in the endpoint's buffer meanwhile.
void Partition::receive(std::uint32_t p) {
  Packet& k = packets_[p];
  if (k.kind != PacketKind::data || world_.receives[k.flow].station_count == 0) {
    give_credit(k, now);
    if (k.kind == PacketKind::data) {
      on_data(p);
    } else if (k.kind == PacketKind::ack) {
      on_ack(k, p);
    } else if (k.kind == PacketKind::nack) {
      on_nack(k);
    } else {
      Send& s = world_.sends[k.flow];
      s.calm = false;
      ++notifications;
      ++world_.send_stats[k.flow].notifications;
      world_.banks[s.transport].notified(s.control, Time::picoseconds(now));
    }
    free_packet(p);
    return;
  }
  const Receive& r = world_.receives[k.flow];
  std::int64_t done = now;
  for (std::uint32_t i = 0; i < r.station_count; ++i) {
    const StationRef& ref = world_.station_refs[r.stations + i];
    // Each on its own: a station that waits for the one before it serves others meanwhile.
    auto& busy = world_.stations[ref.station].busy_until;
    busy = std::max(now, busy + static_cast<std::int64_t>((k.bytes * ref.ps_per_byte) >> 32));
    done = std::max(done, busy);
  }
  NodeState& node = world_.nodes[world_.wires[k.link].to];
  if (done > now && world_.fabric.kinds()[node.kind].control != FlowControl::credit) {
    const auto link = k.link;
    if (!admit(node, k, link, static_cast<std::uint32_t>(node.pool))) {
      ++world_.counts[link].drops;
      return drop(p, link);
    }
  }
  if (done > now) {
    push(done, event(What::deliver, p));
    return;
  }
  give_credit(k, now);
  on_data(p);
  free_packet(p);
}

void Partition::consume(std::uint32_t p) {
  const Packet& k = packets_[p];
  NodeState& node = world_.nodes[world_.wires[k.link].to];
  if (world_.fabric.kinds()[node.kind].control == FlowControl::credit) {
    give_credit(k, now);
  } else {
    release(node, k);
  }
  on_data(p);
  free_packet(p);
}

void Partition::deliver(std::uint32_t flow, Receive& r) {
  r.last_done = now;
  if (world_.keeps_times) world_.delivered[flow].push_back(now);
  if (world_.wants_notices)
    notices.push_back({Notice::Kind::delivered, FlowId{flow}, r.messages, Time::picoseconds(now)});
  ++r.messages;
}

void Partition::answer(std::uint32_t flow, Receive& r, const Packet& cause, std::uint32_t cause_at, PacketKind kind,
                       std::uint32_t psn) {
  const Transport& t = world_.transports[r.transport];
  const auto stamp = cause.stamp;
  const auto p = take_packet();
  Packet& k = packets_[p];
  k.flow = flow;
  k.psn = psn;
  k.link = nil;
  k.via = nil;
  k.route = r.route;
  k.stamp = stamp;
  k.bytes = static_cast<std::uint16_t>(t.control_bytes.count());
  k.entropy = r.entropy;
  k.kind = kind;
  k.flags = static_cast<std::uint8_t>((r.given_way ? flag::given_way : 0) | (r.marked ? flag::marked : 0));
  k.lanes = t.control_lane;
  k.hops = 0;
  if (kind == PacketKind::ack) {
    k.hops = r.unanswered;
    r.unanswered = 0;
    r.marked = false;
    if (world_.telemetry) std::ranges::copy(hops_of(cause_at), hops_of(p).begin());
  }
  offer(p, r.link);
}

void Partition::accept(std::uint32_t flow, Receive& r, const Packet& k) {
  r.payload += k.bytes;
  const bool windowed = r.window != nil || k.psn != r.expected;
  if (!windowed) {
    ++r.expected;
    if ((k.flags & flag::last) != 0) deliver(flow, r);
    return;
  }
  if (r.window == nil) {
    if (free_windows_.empty()) {
      free_windows_.push_back(static_cast<std::uint32_t>(windows_.size()));
      windows_.emplace_back();
    }
    r.window = free_windows_.back();
    free_windows_.pop_back();
    windows_[r.window].highest = windows_[r.window].examined = r.expected;
  }
  OrderWindow& w = windows_[r.window];
  const auto put = k.psn % order_window;
  w.here[put / 64] |= std::uint64_t{1} << (put % 64);
  if ((k.flags & flag::last) != 0) w.last[put / 64] |= std::uint64_t{1} << (put % 64);
  if (before(w.highest, k.psn + 1)) w.highest = k.psn + 1;
  for (;;) {
    const auto at = r.expected % order_window;
    const auto bit = std::uint64_t{1} << (at % 64);
    if ((w.here[at / 64] & bit) == 0) break;
    w.here[at / 64] &= ~bit;
    ++r.expected;
    if ((w.last[at / 64] & bit) != 0) {
      w.last[at / 64] &= ~bit;
      deliver(flow, r);
    }
  }
  if (r.expected == w.highest) {
    free_windows_.push_back(r.window);
    r.window = nil;
  }
}

void Partition::ask_for_missing(std::uint32_t flow, Receive& r, const Packet& k, std::uint32_t p) {
  const Transport& t = world_.transports[r.transport];
  if (r.window == nil) return;
  const auto window = r.window;
  const std::uint32_t slack = t.any_order ? overtaking : 0;
  if (before(windows_[window].examined, r.expected)) windows_[window].examined = r.expected;
  while (before(windows_[window].examined + slack + 1, windows_[window].highest)) {
    const auto psn = windows_[window].examined++;
    const auto at = psn % order_window;
    if ((windows_[window].here[at / 64] >> (at % 64) & 1) == 0) answer(flow, r, k, p, PacketKind::nack, psn);
  }
}

void Partition::on_data(std::uint32_t p) {
  const Packet k = packets_[p];
  Receive& r = world_.receives[k.flow];
  const Transport& t = world_.transports[r.transport];
  if ((k.flags & flag::marked) != 0) {
    ++r.marks;
    r.marked = true;
    if (t.acknowledged && world_.banks[r.transport].wants_notifications() &&
        now - r.last_cnp >= t.min_time_between_cnps.ps()) {
      r.last_cnp = now;
      answer(k.flow, r, k, p, PacketKind::cnp, 0);
    }
  }
  const bool windowed = t.any_order || t.recovery == Recovery::selective;
  if ((k.flags & flag::trimmed) != 0) {
    if (before(k.psn, r.expected)) return;
    if (t.recovery == Recovery::selective) return answer(k.flow, r, k, p, PacketKind::nack, k.psn);
    if (r.asked) return;
    r.asked = true;
    return answer(k.flow, r, k, p, PacketKind::nack, r.expected);
  }
  const auto messages = r.messages;
  bool known = false;
  if (before(k.psn, r.expected)) {
    known = true;  // it came before: say so again
  } else if (k.psn == r.expected && r.window == nil) {
    accept(k.flow, r, k);
    r.asked = false;
  } else if (windowed) {
    if (k.psn - r.expected >= order_window) throw InternalError("packet network: a packet beyond the receive window");
    const auto at = k.psn % order_window;
    const bool here = r.window != nil && (windows_[r.window].here[at / 64] >> (at % 64) & 1) != 0;
    if (!here) accept(k.flow, r, k);
    if (before(k.psn, r.expected)) r.asked = false;
    if (t.recovery == Recovery::selective) ask_for_missing(k.flow, r, k, p);
  } else {
    if (t.recovery == Recovery::none) {
      throw InternalError("packet network: a packet of a transport that wants order overtook another");
    }
    if (!r.asked) {
      r.asked = true;
      answer(k.flow, r, k, p, PacketKind::nack, r.expected);
    }
    return;
  }
  if (!t.acknowledged) return;
  if (r.unanswered < 255) ++r.unanswered;
  // At once where a message is whole, whichever of its packets was the last to come.
  if (known || r.messages != messages || r.unanswered >= t.ack_every)
    answer(k.flow, r, k, p, PacketKind::ack, r.expected);
}

}  // namespace linkcast::sim::packet
