// Senders: messages become packets when the rate, the window, the host and the link allow; what is lost is sent again.
// See partition.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "partition.hpp"

namespace linkcast::sim::packet {
namespace {

// Packets that a flow sends before its place in the line of a station. More let flows that pass few stations overtake
// those that pass many: rings over PCIe then take a quarter longer than rates allow.
constexpr std::uint64_t prefetched = 1;

bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

}  // namespace

std::uint32_t Partition::post(std::uint32_t flow, std::int64_t at, std::int64_t bytes) {
  const auto number = world_.sends[flow].messages++;
  schedule(flow, at, bytes);
  return number;
}

void Partition::schedule(std::uint32_t flow, std::int64_t at, std::int64_t bytes) {
  if (at < now) throw InternalError("packet network: a message in the past");
  ++unfinished;
  if (at == now) return begin(flow, at, bytes);
  std::uint32_t l = 0;
  if (free_later_.empty()) {
    l = static_cast<std::uint32_t>(later_.size());
    later_.emplace_back();
  } else {
    l = free_later_.back();
    free_later_.pop_back();
  }
  later_[l] = {flow, bytes};
  push(at, event(What::post, l));
}

void Partition::begin(std::uint32_t flow, std::int64_t at, std::int64_t bytes) {
  Send& s = world_.sends[flow];
  const std::int64_t mtu = world_.transports[s.transport].mtu.count();
  const std::int64_t packets = std::max<std::int64_t>(1, (bytes + mtu - 1) / mtu);
  if (packets > (std::int64_t{1} << 31)) {
    throw InputError(fmt::format("a message of {} B is {} packets", bytes, packets),
                     "a flow counts its packets in 32 bits: send less at once");
  }
  std::uint32_t m = free_message_;
  if (m == nil) {
    m = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    free_message_ = messages_[m].next;
  }
  messages_[m] = {bytes, at, s.end, s.end + static_cast<std::uint32_t>(packets), nil};
  s.end += static_cast<std::uint32_t>(packets);
  if (s.last_message == nil) {
    s.first_message = m;
  } else {
    messages_[s.last_message].next = m;
  }
  s.last_message = m;
  if (s.message == nil) {
    s.message = m;
    s.message_end = messages_[m].end;
    s.left = bytes;
  }
  SendStats& stats = world_.send_stats[flow];
  stats.first_post = std::min(stats.first_post, at);
  if (world_.keeps_times) world_.posted[flow].push_back(at);
  update(flow);
}

bool Partition::may_send(const Send& s) const {
  if (s.has_again()) return true;
  if (s.next == s.end) return false;
  const Transport& t = world_.transports[s.transport];
  if (!t.acknowledged) return true;
  if ((t.any_order || t.recovery == Recovery::selective) && s.next - s.una >= order_window) return false;
  if (s.in_flight == 0) return true;
  if (s.calm) return true;
  const std::int64_t window = world_.banks[s.transport].window(s.control).count();
  return static_cast<std::int64_t>(s.in_flight + 1) * t.mtu.count() <= window;
}

void Partition::update(std::uint32_t flow) {
  Send& s = world_.sends[flow];
  if (s.state != SendState::idle || !may_send(s)) return;
  const Transport& t = world_.transports[s.transport];
  Out& o = world_.outs[s.link];
  std::int64_t at = s.next_at;
  if (s.station_count != 0 && !s.booked) {
    // A place in the line of each station: who comes first at every turn would have it for itself.
    s.booked = true;
    const auto full = static_cast<std::uint64_t>(t.mtu.count());
    for (std::uint32_t i = 0; i < s.station_count; ++i) {
      const StationRef& ref = world_.station_refs[s.stations + i];
      auto& busy = world_.stations[ref.station].busy_until;
      at = std::max(at, busy - static_cast<std::int64_t>((prefetched * full * ref.ps_per_byte) >> 32));
      busy = std::max(busy, now) + static_cast<std::int64_t>((full * ref.ps_per_byte) >> 32);
    }
  }
  if (at > now && at > o.busy_until) {
    s.state = SendState::timed;
    push(at, event(What::flow, flow));
    return;
  }
  s.state = SendState::listed;
  s.next_ready = nil;
  LaneQueue& q = world_.queues[s.link * world_.lanes + t.lane];
  if (q.flow_tail == nil) {
    q.flow_head = flow;
  } else {
    world_.sends[q.flow_tail].next_ready = flow;
  }
  q.flow_tail = flow;
  o.flows |= static_cast<std::uint8_t>(1U << t.lane);
  if (o.busy_until > now) {
    wake(s.link, o.busy_until);
  } else {
    serve(s.link);
  }
}

std::uint32_t Partition::message_of(const Send& s, std::uint32_t psn) const {
  auto m = s.first_message;
  while (m != nil && !before(psn, messages_[m].end)) m = messages_[m].next;
  if (m == nil) throw InternalError("packet network: a packet of no message");
  return m;
}

std::uint32_t Partition::make_packet(std::uint32_t flow) {
  const auto p = take_packet();
  Packet& k = packets_[p];
  Send& s = world_.sends[flow];
  const Transport& t = world_.transports[s.transport];
  const std::int64_t mtu = t.mtu.count();
  s.state = SendState::idle;
  k.flow = flow;
  k.flags = s.given_way ? flag::given_way : std::uint8_t{0};
  if (s.again != nil) {
    const auto a = s.again;
    k.psn = again_[a].psn;
    s.again = again_[a].next;
    again_[a].next = free_again_;
    free_again_ = a;
    const Message& m = messages_[message_of(s, k.psn)];
    const bool last = k.psn + 1 == m.end;
    k.bytes = static_cast<std::uint16_t>(last ? m.bytes - std::int64_t{k.psn - m.first} * mtu : mtu);
    k.flags |= flag::again | (last ? flag::last : std::uint8_t{0});
  } else {
    k.psn = s.next++;
    if (before(k.psn, s.high)) {
      k.flags |= flag::again;
    } else {
      s.high = s.next;
    }
    k.bytes = static_cast<std::uint16_t>(std::min(s.left, mtu));
    s.left -= k.bytes;
    if (k.psn + 1 == s.message_end) {
      k.flags |= flag::last;
      s.message = messages_[s.message].next;
      s.left = s.message == nil ? 0 : messages_[s.message].bytes;
      s.message_end = s.message == nil ? 0 : messages_[s.message].end;
    }
  }
  k.link = nil;
  k.via = nil;
  k.route = s.route;
  k.stamp = stamp_of(now);
  k.entropy = s.entropy;
  if (t.paths > 0) {
    k.entropy = static_cast<std::uint16_t>(mix(s.entropy, s.path));
    s.path = static_cast<std::uint16_t>((s.path + 1) % t.paths);
  }
  k.kind = PacketKind::data;
  k.lanes = t.lane;
  k.hops = 0;
  return p;
}

// The packet has just been given to the link.
void Partition::sent(std::uint32_t flow, std::uint32_t wire_bytes, std::uint32_t payload, bool last, bool again) {
  Send& s = world_.sends[flow];
  const Transport& t = world_.transports[s.transport];
  std::int64_t gap = 0;
  if (t.acknowledged) {
    if (!s.calm) gap = world_.banks[s.transport].sent(s.control, Time::picoseconds(now), Bytes{wire_bytes}).ps();
    ++s.in_flight;
    if (t.recovery != Recovery::none && !s.timer) {
      s.timer = true;
      s.timer_una = s.una;
      if (timer_seen_.size() <= flow) timer_seen_.resize(world_.sends.size());
      timer_seen_[flow] = packet_hops;
      push(now + t.retransmit_timeout.ps(), event(What::timer, flow));
    }
  }
  if (s.capped) gap = std::max(gap, static_cast<std::int64_t>((payload * s.cap_ps_per_byte + 0xFFFFFFFFU) >> 32));
  // A flow that its link kept waiting for less than a packet's time does not lose that time.
  const std::int64_t base = now - s.next_at <= gap ? s.next_at : now;
  s.next_at = base + gap;
  if (s.booked) {
    s.booked = false;
    const auto less = static_cast<std::uint64_t>(t.mtu.count()) - payload;
    for (std::uint32_t i = 0; less != 0 && i < s.station_count; ++i) {
      const StationRef& ref = world_.station_refs[s.stations + i];
      world_.stations[ref.station].busy_until -= static_cast<std::int64_t>((less * ref.ps_per_byte) >> 32);
    }
  }
  const std::int64_t end = world_.outs[s.link].busy_until;
  if (last && !again && world_.wants_notices)
    notices.push_back({Notice::Kind::sent, FlowId{flow}, s.announced++, Time::picoseconds(end)});
  if (last && !t.acknowledged) {
    s.una = s.next;
    const auto m = s.first_message;
    s.first_message = messages_[m].next;
    if (s.first_message == nil) s.last_message = nil;
    messages_[m].next = free_message_;
    free_message_ = m;
    ++s.acknowledged;
    --unfinished;
    if (world_.source != nullptr) ask_source(s.from, end, flow);
  }
  update(flow);
}

void Partition::advance(std::uint32_t flow, std::uint32_t to) {
  Send& s = world_.sends[flow];
  if (!before(s.una, to)) return;
  if (before(s.high, to)) throw InternalError("packet network: an acknowledgement for what was never sent");
  if (before(s.next, to)) {
    // It had gone back meanwhile: what it would send again has come.
    if (to == s.end) {
      s.next = to;
      s.message = nil;
      s.message_end = 0;
      s.left = 0;
    } else {
      seek(flow, to);
    }
  }
  s.una = to;
  while (s.again != nil && before(again_[s.again].psn, to)) {
    const auto a = s.again;
    s.again = again_[a].next;
    again_[a].next = free_again_;
    free_again_ = a;
  }
  std::uint32_t done = 0;
  while (s.first_message != nil && !before(to, messages_[s.first_message].end)) {
    const auto m = s.first_message;
    s.first_message = messages_[m].next;
    if (s.first_message == nil) s.last_message = nil;
    messages_[m].next = free_message_;
    free_message_ = m;
    --unfinished;
    if (world_.wants_notices)
      notices.push_back({Notice::Kind::acknowledged, FlowId{flow}, s.acknowledged, Time::picoseconds(now)});
    ++s.acknowledged;
    ++done;
  }
  if (world_.source != nullptr) {
    const auto from = s.from;
    for (; done > 0; --done) ask_source(from, now, flow);
  }
}

void Partition::on_ack(const Packet& ack, std::uint32_t p) {
  const Packet k = ack;
  Send& s = world_.sends[k.flow];
  const Transport& t = world_.transports[s.transport];
  const auto una = s.una;
  const bool counted = t.any_order || t.recovery == Recovery::selective;
  advance(k.flow, k.psn);
  const std::uint32_t newly = counted ? k.hops : s.una - una;
  // An acknowledgement that was lost took its count with it: never more than is open.
  const std::uint32_t open = s.next - s.una;
  s.in_flight = counted ? std::min(open, s.in_flight - std::min(s.in_flight, newly)) : open;
  Ack a;
  a.now = Time::picoseconds(now);
  a.rtt = Time::picoseconds(since(k.stamp, now));
  a.newly = Bytes{static_cast<std::int64_t>(newly) * t.mtu.count()};
  a.in_flight = Bytes{static_cast<std::int64_t>(s.in_flight) * t.mtu.count()};
  a.marked = (k.flags & flag::marked) != 0;
  if (!before(k.psn, s.round)) {
    a.round = true;
    s.round = s.next;
  }
  if (s.calm) return update(k.flow);
  if (world_.telemetry) {
    const auto hops = hops_of(p);
    std::size_t n = 0;
    while (n < most_hops && hops[n].rate > Rate{}) ++n;
    a.hops = hops.first(n);
  }
  world_.banks[s.transport].acked(s.control, a);
  update(k.flow);
}

void Partition::seek(std::uint32_t flow, std::uint32_t psn) {
  Send& s = world_.sends[flow];
  s.message = message_of(s, psn);
  const Message& m = messages_[s.message];
  s.message_end = m.end;
  s.left = m.bytes - std::int64_t{psn - m.first} * world_.transports[s.transport].mtu.count();
  s.next = psn;
}

void Partition::on_nack(const Packet& nack) {
  const Packet k = nack;
  Send& s = world_.sends[k.flow];
  const Transport& t = world_.transports[s.transport];
  if (before(k.psn, s.una) || !before(k.psn, s.next)) return;  // it has come by now
  const auto size = Bytes{t.mtu.count()};
  if (t.recovery == Recovery::go_back_n) {
    advance(k.flow, k.psn);
    const auto again = s.next - k.psn;
    s.retransmits += again;
    retransmits += again;
    seek(k.flow, k.psn);
    s.in_flight = 0;
  } else {
    std::uint32_t a = free_again_;
    if (a == nil) {
      a = static_cast<std::uint32_t>(again_.size());
      again_.emplace_back();
    } else {
      free_again_ = again_[a].next;
    }
    // In the order of their numbers: the oldest is needed first.
    std::uint32_t* at = &s.again;
    while (*at != nil && before(again_[*at].psn, k.psn)) at = &again_[*at].next;
    if (*at != nil && again_[*at].psn == k.psn) {
      again_[a].next = free_again_;
      free_again_ = a;
      return;
    }
    again_[a] = {k.psn, *at};
    *at = a;
    if (s.in_flight > 0) --s.in_flight;
    ++s.retransmits;
    ++retransmits;
  }
  s.calm = false;
  world_.banks[s.transport].lost(s.control, Time::picoseconds(now), size);
  update(k.flow);
}

void Partition::on_timer(std::uint32_t flow) {
  Send& s = world_.sends[flow];
  const Transport& t = world_.transports[s.transport];
  s.timer = false;
  if (s.una == s.next) return;
  if (s.una == s.timer_una) {
    if (timer_seen_[flow] == packet_hops) stands_still = true;
    ++world_.send_stats[flow].timeouts;
    s.calm = false;
    world_.banks[s.transport].timed_out(s.control, Time::picoseconds(now));
    if (t.recovery == Recovery::go_back_n) {
      s.retransmits += s.next - s.una;
      retransmits += s.next - s.una;
      seek(flow, s.una);
      s.in_flight = 0;
    } else {
      Packet missing{};
      missing.flow = flow;
      missing.psn = s.una;
      s.in_flight = 0;
      on_nack(missing);
    }
  }
  s.timer = true;
  s.timer_una = s.una;
  timer_seen_[flow] = packet_hops;
  push(now + t.retransmit_timeout.ps(), event(What::timer, flow));
  update(flow);
}

void Partition::ask_source(std::uint32_t node, std::int64_t at, std::uint32_t flow) {
  if (world_.source == nullptr) return;
  std::vector<Source::Post> posts;
  posts.swap(posts_);
  posts.clear();
  world_.source->next(NodeId{node}, Time::picoseconds(at), FlowId{flow}, posts);
  for (const auto& x : posts) post(static_cast<std::uint32_t>(x.flow), std::max(x.at.ps(), now), x.bytes.count());
  posts_.swap(posts);
}

}  // namespace linkcast::sim::packet
