// Forwarding: what happens to a packet at a node, and at a link that is free. See partition.hpp.
#include "partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim::packet {
namespace {

constexpr std::int64_t pause_frame = 64;  // bytes on the wire: what a pause costs is not counted, only when it works

__extension__ using Wide = unsigned __int128;

bool credit(const Wire& w) { return w.control == static_cast<unsigned>(FlowControl::credit); }
std::int64_t in_blocks(std::int64_t bytes) { return (bytes + 63) & ~std::int64_t{63}; }  // InfiniBand: 64 B a credit

}  // namespace

Partition::Partition(World& world, std::uint8_t number) : world_{world}, number_{number} {}

void Partition::run(Time limit) {
  for (;;) {
    const Time next = queue_.next_time();
    if (next > limit || next == Time::max()) return;
    if (!notices.empty() && next.ps() != now) return;  // some may be of what was posted before this
    const Event e = queue_.pop();
    look_ahead();
    now = e.time.ps();
    ++events;
    const auto what = static_cast<What>(e.payload >> 56);
    const auto index = static_cast<std::uint32_t>(e.payload);
    if (what == What::arrive) {
      arrive(index);
    } else if (what == What::link) {
      Out& o = world_.outs[index];
      if (o.wake_at == now) {
        o.wake_at = never;
        serve(index);
      }
    } else {
      dispatch(e.payload);
    }
  }
}

// Most of the time of a hop is waiting for memory: what the next events will touch is asked for early, what that leads
// to somewhat later.
inline void Partition::look_ahead() {
  if (const Event* e = queue_.peek(14); e != nullptr) {
    const auto index = static_cast<std::uint32_t>(e->payload);
    const auto what = static_cast<What>(e->payload >> 56);
    if (what == What::arrive) {
      __builtin_prefetch(&packets_[index]);
    } else if (what == What::link) {
      __builtin_prefetch(&world_.outs[index]);
      __builtin_prefetch(&world_.queues[index * world_.lanes]);
    } else if (what == What::flow) {
      __builtin_prefetch(&world_.sends[index]);
    }
  }
  if (const Event* e = queue_.peek(8); e != nullptr && static_cast<What>(e->payload >> 56) == What::link) {
    const LaneQueue& q = world_.queues[static_cast<std::uint32_t>(e->payload) * world_.lanes];
    if (q.count != 0) {
      __builtin_prefetch(&q.front());
    } else if (q.flow_head != nil) {
      __builtin_prefetch(&world_.sends[q.flow_head]);
    }
  }
  if (const Event* e = queue_.peek(4); e != nullptr) {
    const auto index = static_cast<std::uint32_t>(e->payload);
    const auto what = static_cast<What>(e->payload >> 56);
    if (what == What::arrive) {
      Packet& k = packets_[index];
      const Wire& w = world_.wires[k.link];
      if (!w.to_endpoint) {
        look_for_link(k, w);
      } else if (k.kind == PacketKind::data) {
        __builtin_prefetch(&world_.receives[k.flow]);
      } else {
        __builtin_prefetch(&world_.sends[k.flow]);
        __builtin_prefetch(reinterpret_cast<const char*>(&world_.sends[k.flow]) + 64);
      }
    } else if (what == What::link) {
      const LaneQueue& q = world_.queues[index * world_.lanes];
      if (q.count != 0) __builtin_prefetch(&packets_[q.front().packet]);
    }
  }
}

// Where the way depends on nothing that changes, it is chosen here, so that its link is asked for too.
inline void Partition::look_for_link(Packet& k, const Wire& w) {
  std::uint32_t link = 0;
  if ((k.flags & flag::given_way) != 0) {
    link = world_.ways[k.route];
  } else {
    NodeState& node = world_.nodes[w.to];
    const Dest& d = world_.dests[k.route];
    if (d.site == node.site) {
      link = d.last_link;
    } else {
      if (world_.fabric.detours_ || k.via != nil) return;
      const Choice choice = world_.fabric.kinds()[node.kind].choice;
      if (choice != Choice::hash && choice != Choice::by_destination) return;
      link = choose_among(node, k, world_.fabric.table_[node.row + d.site]);
      k.via = link;
    }
  }
  __builtin_prefetch(&world_.outs[link]);
  __builtin_prefetch(&world_.queues[link * world_.lanes]);
}

inline void Partition::unblock(std::uint32_t link, Out& o) {
  if (o.blocked_since < 0) return;
  world_.counts[link].paused += now - o.blocked_since;
  o.blocked_since = -1;
}

void Partition::dispatch(std::uint64_t payload) {
  const auto index = static_cast<std::uint32_t>(payload);
  switch (static_cast<What>(payload >> 56)) {
    case What::flow:
      world_.sends[index].state = SendState::idle;
      return update(index);
    case What::timer:
      return on_timer(index);
    case What::pause:
      return on_pause(index, (payload >> 48) & 0xFF, ((payload >> 47) & 1) != 0);
    case What::post: {
      const Later l = later_[index];
      free_later_.push_back(index);
      return begin(l.flow, now, l.bytes);
    }
    case What::deliver:
      return consume(index);
    case What::arrive:
    case What::link:
      return;
  }
}

std::uint32_t Partition::take_packet() {
  ++packets_made;
  if (++alive > alive_peak) alive_peak = alive;
  if (free_ != nil) {
    const auto p = free_;
    free_ = packets_[p].via;
    return p;
  }
  if (packets_.size() >= world_.options.most_packets) {
    throw InputError(fmt::format("more than {} packets under way at one time", world_.options.most_packets),
                     "let hosts send fewer messages at once, use congestion control, or allow more (packet.memory)");
  }
  packets_.emplace_back();
  if (world_.telemetry) hops_.resize(packets_.size() * most_hops);
  return static_cast<std::uint32_t>(packets_.size() - 1);
}

void Partition::arrive(std::uint32_t p) {
  Packet& k = packets_[p];
  const Wire& w = world_.wires[k.link];
  const std::uint8_t lane = k.lanes & 0xF;
  k.lanes = static_cast<std::uint8_t>((lane << 4) | lane);
  if ((k.flags & flag::damaged) != 0) [[unlikely]] {
    ++drops;
    give_credit(k, now);
    free_packet(p);
    return;
  }
  if (w.to_endpoint) return receive(p);
  NodeState& node = world_.nodes[w.to];
  std::uint32_t link = 0;
  if ((k.flags & flag::given_way) != 0) {
    link = world_.ways[k.route++];
  } else {
    link = toward(node, k);
  }
  if (world_.fabric.lane_by_hop()) {
    // A packet changes to a higher lane at every switch, so that no circle of buffers can close.
    const auto up = std::min<std::uint32_t>(lane + 1U, world_.lanes - 1);
    k.lanes = static_cast<std::uint8_t>((lane << 4) | up);
  }
  offer(p, link);
}

std::uint32_t Partition::toward(NodeState& node, Packet& k) {
  const Fabric& f = world_.fabric;
  const Dest& d = world_.dests[k.route];
  if (d.site == node.site) return d.last_link;
  if (!f.detours_) [[likely]] {
    if (k.via == nil) return choose_among(node, k, f.table_[node.row + d.site]);
    const std::uint32_t ahead = k.via;
    k.via = nil;
    return ahead;
  }
  if (k.via == node.site) k.via = nil;
  if (k.via != nil) return choose_among(node, k, f.table_[node.row + k.via]);
  const std::uint32_t straight = choose_among(node, k, f.table_[node.row + d.site]);
  if (k.hops != 1 || k.kind != PacketKind::data || f.kinds()[node.kind].choice != Choice::adaptive) return straight;
  const std::int64_t here = backlog(straight);
  if (here == 0) return straight;
  const auto via = static_cast<std::uint32_t>((mix(node.salt, ++node.turn) >> 32) * f.sites_ >> 32);
  if (via == node.site || via == d.site || f.table_[node.row + via] == 0) return straight;
  const std::uint32_t round = choose_among(node, k, f.table_[node.row + via]);
  if (here <= 2 * backlog(round)) return straight;
  k.via = via;
  return round;
}

std::int64_t Partition::backlog(std::uint32_t link) const {
  const Out& o = world_.outs[link];
  const std::int64_t busy = o.busy_until > now ? o.busy_until - now : 0;
  return busy + static_cast<std::int64_t>((Wide{o.queued} * world_.wires[link].ps_per_byte) >> 32) +
         (o.stopped != 0 ? 1 : 0);
}

std::uint32_t Partition::choose_among(NodeState& node, const Packet& k, std::uint32_t group) {
  const Fabric::Group& g = world_.fabric.groups_[group];
  if (g.count == 0) throw InternalError("packet network: a packet at a switch that has no way for it");
  const LinkId* links = world_.fabric.group_links_.data() + g.first;
  const auto at = [&](std::uint32_t i) { return static_cast<std::uint32_t>(links[i]); };
  if (g.count == 1) return at(0);
  const NodeKind& kind = world_.fabric.kinds()[node.kind];
  const auto shortest = [&](std::uint32_t start) {
    std::uint32_t best = 0;
    std::int64_t least = never;
    for (std::uint32_t i = 0, j = start; i < g.count; ++i, j = j + 1 == g.count ? 0 : j + 1) {
      const std::int64_t b = backlog(at(j));
      if (b < least) {
        least = b;
        best = j;
        if (b == 0) break;
      }
    }
    return best;
  };
  const std::uint64_t key = (std::uint64_t{k.route} << 16 | k.entropy) ^ (std::uint64_t{node.salt} << 32);
  switch (kind.choice) {
    case Choice::hash: {
      const auto h = static_cast<std::uint32_t>(mix(key) >> 32);
      if (!g.weighted) return at(static_cast<std::uint32_t>((std::uint64_t{h} * g.count) >> 32));
      const auto* cumulative = world_.fabric.group_weights_.data() + g.first;
      const auto x = static_cast<std::uint32_t>((std::uint64_t{h} * cumulative[g.count - 1]) >> 32);
      return at(static_cast<std::uint32_t>(std::upper_bound(cumulative, cumulative + g.count, x) - cumulative));
    }
    case Choice::by_destination:
      return at(k.route % g.count);
    case Choice::spray:
      return at(++node.turn % g.count);
    case Choice::adaptive:
      return at(shortest(++node.turn % g.count));
    case Choice::flowlet: {
      Flowlet& f = world_.flowlets[node.flowlets + (mix(key) & (flowlet_entries - 1))];
      const bool same = f.key == key && f.link != nil && now - f.last <= kind.flowlet_gap.ps();
      if (!same) {
        f.key = key;
        f.link = at(shortest(++node.turn % g.count));
      }
      f.last = now;
      return f.link;
    }
  }
  return at(0);
}

// An idle link takes the packet at once: it needs no buffer. Else it waits.
void Partition::offer(std::uint32_t p, std::uint32_t link) {
  Packet& k = packets_[p];
  Out& o = world_.outs[link];
  const Wire& w = world_.wires[link];
  const std::uint32_t lane = k.lanes & 0xF;
  if ((o.packets | o.flows) == 0 && o.busy_until <= now && (o.stopped >> lane & 1) == 0 &&
      (!credit(w) || has_credit(link, lane, in_blocks(std::int64_t{k.bytes} + w.header)))) {
    transmit(p, link);
    return;
  }
  LaneQueue* q = &world_.queues[link * world_.lanes + lane];
  if (k.link != nil) {
    NodeState& node = world_.nodes[world_.wires[k.link].to];
    const NodeKind& kind = world_.fabric.kinds()[node.kind];
    if (kind.control != FlowControl::credit && !admit(node, k, link, *q)) {
      ++world_.counts[link].drops;
      return drop(p, link);
    }
    const std::uint32_t now_lane = k.lanes & 0xF;
    if (now_lane != lane) q = &world_.queues[link * world_.lanes + now_lane];  // trimmed
    const Marking& m = kind.marking;
    if (m.on && k.kind == PacketKind::data && (world_.marking >> lane & 1) != 0 && q->bytes >= m.kmin.count()) {
      const double over = static_cast<double>(q->bytes - m.kmin.count());
      const auto range = static_cast<double>((m.kmax - m.kmin).count());
      if (q->bytes >= m.kmax.count() || draw(link) < m.pmax * over / range) {
        k.flags |= flag::marked;
        ++world_.counts[link].marks;
        ++marks;
      }
    }
  }
  const auto size = static_cast<std::uint32_t>(k.bytes + w.header);
  q->push({p, size}, now);
  o.queued += size;
  o.packets |= static_cast<std::uint8_t>(1U << (k.lanes & 0xF));
  if (o.busy_until > now) {
    wake(link, o.busy_until);
  } else {
    serve(link);
  }
}

void Partition::wake(std::uint32_t link, std::int64_t at) {
  Out& o = world_.outs[link];
  if (at >= o.wake_at) return;
  o.wake_at = at;
  push(at, event(What::link, link));
}

// The link is free: strict lanes first, the others by turns; within a lane what waits before what its flows have ready.
void Partition::serve(std::uint32_t link) {
  Out& o = world_.outs[link];
  if (o.busy_until > now) return wake(link, o.busy_until);
  const Wire& w = world_.wires[link];
  std::uint8_t open = static_cast<std::uint8_t>((o.packets | o.flows) & ~o.stopped);
  while (open != 0) {
    std::uint32_t lane = 0;
    if (const std::uint8_t first = open & world_.strict; first != 0) {
      lane = static_cast<std::uint32_t>(std::countr_zero(first));
    } else {
      const auto turned = static_cast<std::uint8_t>(open & (0xFFU << o.turn));
      lane = static_cast<std::uint32_t>(std::countr_zero(turned != 0 ? turned : open));
    }
    const auto bit = static_cast<std::uint8_t>(1U << lane);
    LaneQueue& q = world_.queues[link * world_.lanes + lane];
    if ((o.packets & bit) != 0) {
      const auto [p, size] = q.front();
      if (credit(w) && !has_credit(link, lane, in_blocks(size))) {
        open &= static_cast<std::uint8_t>(~bit);
        continue;
      }
      q.pop(now);
      if (q.count == 0) o.packets &= static_cast<std::uint8_t>(~bit);
      o.queued -= size;
      o.turn = static_cast<std::uint8_t>((lane + 1) & 7);
      unblock(link, o);
      const Packet& k = packets_[p];
      if (k.link != nil) {
        NodeState& node = world_.nodes[world_.wires[k.link].to];
        if (world_.fabric.kinds()[node.kind].control != FlowControl::credit) release(node, k);
      }
      transmit(p, link);
    } else {
      const auto flow = q.flow_head;
      const Send& s = world_.sends[flow];
      const Transport& t = world_.transports[s.transport];
      if (credit(w) && !has_credit(link, lane, in_blocks(t.mtu.count() + std::int64_t{w.header}))) {
        open &= static_cast<std::uint8_t>(~bit);
        continue;
      }
      q.flow_head = s.next_ready;
      if (q.flow_head == nil) q.flow_tail = nil, o.flows &= static_cast<std::uint8_t>(~bit);
      if (!may_send(s)) {  // what it wanted to send again has come meanwhile
        world_.sends[flow].state = SendState::idle;
        if (((o.packets | o.flows) & bit) == 0) open &= static_cast<std::uint8_t>(~bit);
        continue;
      }
      o.turn = static_cast<std::uint8_t>((lane + 1) & 7);
      unblock(link, o);
      const auto p = make_packet(flow);
      const std::uint16_t payload = packets_[p].bytes;
      const std::uint8_t flags = packets_[p].flags;
      transmit(p, link);
      sent(flow, payload + w.header, payload, (flags & flag::last) != 0, (flags & flag::again) != 0);
    }
    if ((o.packets | o.flows) != 0) wake(link, o.busy_until);
    return;
  }
  if ((o.packets | o.flows) != 0 && o.blocked_since < 0) {
    o.blocked_since = now;
    ++world_.counts[link].pauses;
  }
}

void Partition::transmit(std::uint32_t p, std::uint32_t link) {
  Packet& k = packets_[p];
  Out& o = world_.outs[link];
  const Wire& w = world_.wires[link];
  const std::uint32_t size = k.bytes + std::uint32_t{w.header};
  if (o.busy_until < now) o.ahead = 0;
  // In 2^-32 ps, less what rounding up gave to the packet before: the sum over packets is that of the whole.
  const std::uint64_t due = size * w.ps_per_byte;
  std::int64_t span = 0;
  if (due > o.ahead) {
    const std::uint64_t rest = due - o.ahead;
    span = static_cast<std::int64_t>((rest + 0xFFFFFFFFU) >> 32);
    o.ahead = static_cast<std::uint32_t>((static_cast<std::uint64_t>(span) << 32) - rest);
  } else {
    o.ahead -= static_cast<std::uint32_t>(due);
  }
  ++packet_hops;
  ++transmissions;
  ++o.packets_sent;
  o.wire_bytes += size;
  o.payload_bytes += k.kind == PacketKind::data ? k.bytes : 0;
  const std::uint32_t lane = k.lanes & 0xF;
  const std::int64_t clean = span;
  if (w.errors) [[unlikely]] {
    const LinkSpec& spec = world_.fabric.link(LinkId{link});
    const double damage = -std::expm1(static_cast<double>(size) * 8 * std::log1p(-spec.bit_error_rate));
    while (draw(link) < damage) {
      if (!spec.link_retry) {
        k.flags |= flag::damaged;
        ++world_.counts[link].damaged;
        break;
      }
      // The far end asks again: there and back, and the packet once more; what comes behind waits.
      ++world_.counts[link].retries;
      span += w.delay + w.back_delay + static_cast<std::int64_t>(due >> 32);
      o.wire_bytes += size;
    }
  }
  o.busy_until = now + span;
  if (credit(w)) world_.queues[link * world_.lanes + lane].credit -= in_blocks(size);
  if (k.link != nil) give_credit(k, o.busy_until);
  if (world_.telemetry && k.kind == PacketKind::data) {
    const auto hops = hops_of(p);
    if (k.hops < most_hops) {
      hops[k.hops] = {o.wire_bytes, Time::picoseconds(now), o.queued, world_.fabric.link(LinkId{link}).rate};
      if (k.hops + 1U < most_hops) hops[k.hops + 1U].rate = Rate{};
    }
  }
  if (k.kind == PacketKind::data) ++k.hops;
  k.link = link;
  const std::int64_t at = now + w.delay + (w.cut_through ? span - clean : span);
  if (w.to_part == number_) [[likely]] {
    push(at, event(What::arrive, p));
    return;
  }
  outbox[w.to_part].push_back({Parcel::Kind::packet, 0, false, link, at, 0, k});
  if (world_.telemetry)
    outbox_hops[w.to_part].insert(outbox_hops[w.to_part].end(), hops_of(p).begin(), hops_of(p).end());
  free_packet(p);
}

// Shared buffer with dynamic thresholds (Choudhury, Hahne: Dynamic queue length thresholds for shared-memory packet
// switches, 1998), reserve and headroom as in Zhu et al., Congestion control for large-scale RDMA deployments, 2015.
bool Partition::admit(NodeState& node, Packet& k, std::uint32_t link, LaneQueue& q) {
  const NodeKind& kind = world_.fabric.kinds()[node.kind];
  const std::uint32_t in_lane = k.lanes >> 4;
  const std::int64_t size = k.bytes + world_.wires[k.link].header;
  const auto free = static_cast<double>(std::max<std::int64_t>(0, kind.shared.count() - node.pool));
  if (kind.control == FlowControl::pause && (world_.lossless >> in_lane & 1) != 0) {
    Input& in = world_.inputs[k.link * world_.lanes + in_lane];
    const std::int64_t reserve = kind.reserve.count();
    const std::int64_t above = std::max<std::int64_t>(0, in.bytes + size - reserve);
    const std::int64_t more = above - std::max<std::int64_t>(0, in.bytes - reserve);
    if (in.headroom == 0 &&
        (above == 0 || (static_cast<double>(above) <= kind.alpha * free && static_cast<double>(more) <= free))) {
      node.pool += more;
      in.bytes += size;
    } else {
      in.headroom += size;
      if (in.headroom > kind.headroom.count()) {
        throw InternalError(
            fmt::format("packet network: {} lost a packet of a lossless lane: {} B of headroom are full",
                        world_.fabric.name_of(LinkId{k.link}), kind.headroom.count()));
      }
      if (!in.paused) {
        in.paused = true;
        send_pause(k.link, in_lane, true);
      }
    }
    return true;
  }
  const bool fits =
      static_cast<double>(q.bytes + size) <= kind.lossy_alpha * free && node.pool + size <= kind.shared.count();
  if (!fits) {
    if (!kind.trims || k.kind != PacketKind::data || (k.flags & flag::trimmed) != 0) return false;
    const std::int64_t small = world_.wires[k.link].header;
    if (node.pool + small > kind.shared.count()) return false;
    k.flags |= flag::trimmed;
    k.bytes = 0;
    k.lanes =
        static_cast<std::uint8_t>(k.lanes & 0xF0) | world_.transports[world_.receives[k.flow].transport].control_lane;
    ++world_.counts[link].trims;
    node.pool += small;
    return true;
  }
  node.pool += size;
  return true;
}

void Partition::release(NodeState& node, const Packet& k) {
  const NodeKind& kind = world_.fabric.kinds()[node.kind];
  const std::uint32_t in_lane = k.lanes >> 4;
  const std::int64_t size = k.bytes + world_.wires[k.link].header;
  if (kind.control != FlowControl::pause || (world_.lossless >> in_lane & 1) == 0) {
    node.pool -= size;
    return;
  }
  Input& in = world_.inputs[k.link * world_.lanes + in_lane];
  const std::int64_t from_headroom = std::min(in.headroom, size);
  in.headroom -= from_headroom;
  const std::int64_t rest = size - from_headroom, reserve = kind.reserve.count();
  const std::int64_t before = std::max<std::int64_t>(0, in.bytes - reserve);
  in.bytes -= rest;
  const std::int64_t above = std::max<std::int64_t>(0, in.bytes - reserve);
  node.pool -= before - above;
  if (!in.paused || in.headroom != 0) return;
  const auto free = static_cast<double>(std::max<std::int64_t>(0, kind.shared.count() - node.pool));
  if (above == 0 || static_cast<double>(above + kind.resume_offset.count()) <= kind.alpha * free) {
    in.paused = false;
    send_pause(k.link, in_lane, false);
  }
}

void Partition::send_pause(std::uint32_t input_link, std::uint32_t lane, bool on) {
  const Wire& w = world_.wires[input_link];
  const std::int64_t at =
      now + w.back_delay + static_cast<std::int64_t>((pause_frame * world_.wires[input_link].ps_per_byte) >> 32);
  if (w.from_part == number_) {
    push(at, event(What::pause, input_link, static_cast<std::uint8_t>(lane), on));
  } else {
    outbox[w.from_part].push_back({Parcel::Kind::pause, static_cast<std::uint8_t>(lane), on, input_link, at, 0, {}});
  }
}

void Partition::on_pause(std::uint32_t link, std::uint32_t lane, bool on) {
  Out& o = world_.outs[link];
  const auto bit = static_cast<std::uint8_t>(1U << lane);
  if (on) {
    o.stopped |= bit;
    return;
  }
  o.stopped &= static_cast<std::uint8_t>(~bit);
  if ((o.packets | o.flows) != 0) serve(link);
}

bool Partition::has_credit(std::uint32_t link, std::uint32_t lane, std::int64_t bytes) {
  LaneQueue& q = world_.queues[link * world_.lanes + lane];
  if (q.credit >= bytes) return true;
  Returns& r = world_.returns[link * world_.lanes + lane];
  while (r.count != 0 && r.front().at <= now) {
    q.credit += r.front().bytes;
    r.pop();
  }
  if (q.credit >= bytes) return true;
  std::int64_t sum = q.credit;
  for (std::uint32_t i = 0; i < r.count; ++i) {
    const auto& e = r.ring[(r.head + i) & (r.ring.size() - 1)];
    sum += e.bytes;
    if (sum >= bytes) {
      wake(link, e.at);
      return false;
    }
  }
  world_.outs[link].starved |= static_cast<std::uint8_t>(1U << lane);
  return false;
}

// The packet leaves the buffer that it took at the end of the link that it came by.
void Partition::give_credit(const Packet& k, std::int64_t at) {
  const Wire& w = world_.wires[k.link];
  if (!credit(w)) return;
  const std::uint32_t lane = k.lanes >> 4;
  const std::int64_t bytes = in_blocks(std::int64_t{k.bytes} + w.header);
  if (w.from_part == number_) return add_credit(k.link, lane, at + w.back_delay, bytes);
  outbox[w.from_part].push_back(
      {Parcel::Kind::credit, static_cast<std::uint8_t>(lane), false, k.link, at + w.back_delay, bytes, {}});
}

void Partition::add_credit(std::uint32_t link, std::uint32_t lane, std::int64_t at, std::int64_t bytes) {
  world_.returns[link * world_.lanes + lane].push({at, bytes});
  Out& o = world_.outs[link];
  const auto bit = static_cast<std::uint8_t>(1U << lane);
  if ((o.starved & bit) == 0 && o.blocked_since < 0) return;
  o.starved &= static_cast<std::uint8_t>(~bit);
  wake(link, std::max(at, o.busy_until));
}

void Partition::drop(std::uint32_t p, std::uint32_t link) {
  const Packet& k = packets_[p];
  if (k.kind == PacketKind::data && world_.transports[world_.receives[k.flow].transport].recovery == Recovery::none) {
    throw InternalError(fmt::format("packet network: {} dropped a packet of a transport that cannot lose",
                                    world_.fabric.name_of(LinkId{link})));
  }
  ++drops;
  free_packet(p);
}

void Partition::take(const std::vector<Parcel>& parcels, const std::vector<Hop>& hops) {
  std::size_t hop = 0;
  for (const Parcel& parcel : parcels) {
    switch (parcel.kind) {
      case Parcel::Kind::packet: {
        const auto p = take_packet();
        --packets_made;  // it was counted where it was made
        packets_[p] = parcel.packet;
        if (world_.telemetry) {
          std::copy_n(hops.begin() + static_cast<std::ptrdiff_t>(hop), most_hops, hops_of(p).begin());
          hop += most_hops;
        }
        push(parcel.at, event(What::arrive, p));
        break;
      }
      case Parcel::Kind::pause:
        push(parcel.at, event(What::pause, parcel.link, parcel.lane, parcel.on));
        break;
      case Parcel::Kind::credit:
        add_credit(parcel.link, parcel.lane, parcel.at, parcel.bytes);
        break;
    }
  }
}

void Partition::sample(std::int64_t at) {
  sampled_.resize(world_.outs.size());
  for (std::uint32_t l = 0; l < world_.outs.size(); ++l) {
    const Wire& w = world_.wires[l];
    if (w.from_part != number_) continue;
    const Out& o = world_.outs[l];
    const Counts& c = world_.counts[l];
    auto& before = sampled_[l];
    const std::int64_t paused = c.paused + (o.blocked_since >= 0 ? at - o.blocked_since : 0);
    if (o.queued == 0 && o.wire_bytes == before.wire_bytes && paused == before.paused && c.drops == before.drops)
      continue;
    samples.push_back({Time::picoseconds(at), LinkId{l}, o.queued, o.wire_bytes - before.wire_bytes,
                       Time::picoseconds(paused - before.paused), c.marks - before.marks, c.drops - before.drops});
    before = {o.wire_bytes, paused, c.marks, c.drops};
  }
}

std::size_t Partition::memory_bytes() const {
  return packets_.capacity() * sizeof(Packet) + hops_.capacity() * sizeof(Hop) + queue_.size() * sizeof(Event);
}

}  // namespace linkcast::sim::packet
