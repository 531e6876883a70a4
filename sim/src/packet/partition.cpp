// Forwarding: what happens to a packet at a node, and at a link that is free. See partition.hpp.
#include "partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::sim::packet {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

Partition::Partition(World& world, std::uint8_t number)
    : world_{world},
      outs_{world.outs.data()},
      wires_{world.wires.data()},
      queues_{world.queues.data()},
      nodes_{world.nodes.data()},
      inputs_{world.inputs.data()},
      kinds_{world.fabric.kinds().data()},
      lanes_{world.lanes},
      number_{number},
      detours_{world.fabric.detours()},
      telemetry_{world.telemetry} {
  for (const Wire& w : world.wires) {
    credits_ = credits_ || credit(w);
    errors_ = errors_ || w.errors;
  }
}

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
    } else if (what == What::receive) {
      if (enter(packets_[index], index)) receive(index);
    } else if (what == What::link) {
      Out& o = outs_[index];
      if (o.wake_at == now) {
        o.wake_at = never;
        serve(index);
      }
    } else {
      dispatch(e.payload);
    }
  }
}

// Much of the time of a hop is waiting for memory: what the next events will touch is asked for early, what that leads
// to somewhat later.
inline void Partition::look_ahead() {
  const auto is = [](std::uint64_t e, What what) { return static_cast<What>(e >> 56) == what; };
  {
    // No branch: which kind comes is as good as random. Padding is some link that is not there: asking costs nothing.
    const std::uint64_t e = queue_.peek(16);
    const auto index = static_cast<std::uint32_t>(e);
    const bool link = is(e, What::link);
    const void* first = link ? static_cast<const void*>(outs_ + index) : packets_.data() + index;
    const void* second = link ? static_cast<const void*>(queues_ + index * lanes_) : first;
    __builtin_prefetch(first);
    __builtin_prefetch(second);
  }
  const std::uint64_t e = queue_.peek(8);
  const auto index = static_cast<std::uint32_t>(e);
  if (is(e, What::link)) {
    const LaneQueue& q = queues_[index * lanes_];
    const void* waits = packets_.data() + q.first;
    const void* sends = &world_.sends.data()[q.flow_head == nil ? 0 : q.flow_head];
    __builtin_prefetch(q.count != 0 ? waits : sends);
    __builtin_prefetch(q.ring.get() + q.head);
  } else if (is(e, What::arrive)) {
    look_for_link(packets_[index]);
  } else if (is(e, What::receive)) {
    const Packet& k = packets_[index];
    const void* data = world_.receives.data() + k.flow;
    const void* other = world_.sends.data() + k.flow;
    __builtin_prefetch(k.kind == PacketKind::data ? data : other);
  }
}

// Where the way depends on nothing that changes, it is chosen here, so that its link is asked for too.
inline void Partition::look_for_link(Packet& k) {
  std::uint32_t link = 0;
  if ((k.flags & flag::given_way) != 0) {
    link = world_.ways[k.route];
  } else {
    NodeState& node = nodes_[wires_[k.link].to];
    const Dest& d = world_.dests[k.route];
    if (d.site == node.site) {
      link = d.last_link;
    } else {
      if (node.choice != Choice::hash && node.choice != Choice::by_destination) return;
      link = choose_among(node, k, world_.fabric.table_[node.row + d.site]);
    }
    if (!detours_) k.via = link;
  }
  __builtin_prefetch(outs_ + link);
  __builtin_prefetch(queues_ + link * lanes_);
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
    case What::receive:
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
  if (packets_.size() >= world_.most_packets) {
    throw InputError(fmt::format("more than {} packets under way at one time", world_.options.most_packets),
                     "let hosts send fewer messages at once, use congestion control, or allow more (packet.memory)");
  }
  packets_.emplace_back();
  if (world_.telemetry) hops_.resize(packets_.size() * most_hops);
  return static_cast<std::uint32_t>(packets_.size() - 1);
}

/// False where it was damaged on its way.
inline bool Partition::enter(Packet& k, std::uint32_t p) {
  const std::uint8_t lane = k.lanes & 0xF;
  k.lanes = static_cast<std::uint8_t>((lane << 4) | lane);
  if ((k.flags & flag::damaged) == 0) [[likely]]
    return true;
  ++drops;
  give_credit(k, now);
  free_packet(p);
  return false;
}

inline void Partition::arrive(std::uint32_t p) {
  Packet& k = packets_[p];
  if (!enter(k, p)) return;
  const Wire& w = wires_[k.link];
  const std::uint32_t link = (k.flags & flag::given_way) != 0 ? world_.ways[k.route++] : toward(nodes_[w.to], k);
  if (world_.fabric.lane_by_hop()) {
    // A packet changes to a higher lane at every switch, so that no circle of buffers can close.
    const std::uint32_t lane = k.lanes & 0xF;
    const auto up = std::min(lane + 1, lanes_ - 1);
    k.lanes = static_cast<std::uint8_t>((lane << 4) | up);
  }
  offer(p, link);
}

std::uint32_t Partition::toward(NodeState& node, Packet& k) {
  const Fabric& f = world_.fabric;
  const Dest& d = world_.dests[k.route];
  if (!detours_) [[likely]] {
    if (k.via != nil) {
      const std::uint32_t ahead = k.via;
      k.via = nil;
      return ahead;
    }
    return d.site == node.site ? d.last_link : choose_among(node, k, f.table_[node.row + d.site]);
  }
  if (d.site == node.site) return d.last_link;
  if (k.via == node.site) k.via = nil;
  if (k.via != nil) return choose_among(node, k, f.table_[node.row + k.via]);
  const std::uint32_t straight = choose_among(node, k, f.table_[node.row + d.site]);
  if (k.hops != 1 || k.kind != PacketKind::data || node.choice != Choice::adaptive) return straight;
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
  switch (node.choice) {
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
      const bool same = f.key == key && f.link != nil && now - f.last <= kinds_[node.kind].flowlet_gap.ps();
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
  Out& o = outs_[link];
  const Wire& w = wires_[link];
  std::uint32_t lane = k.lanes & 0xF;
  if ((o.packets | o.flows) == 0 && o.busy_until <= now && (o.stopped >> lane & 1) == 0 &&
      (!credits_ || !credit(w) || has_credit(link, lane, in_blocks(std::int64_t{k.bytes} + w.header)))) {
    transmit(p, link, o, w);
    return;
  }
  if (k.link != nil) {
    NodeState& node = nodes_[wires_[k.link].to];
    const std::uint32_t queued = queues_[link * lanes_ + lane].bytes;
    if (node.control != FlowControl::credit && !admit(node, k, link, queued)) {
      ++world_.counts[link].drops;
      return drop(p, link);
    }
    lane = k.lanes & 0xF;  // trimmed: another
    const NodeKind& kind = kinds_[node.kind];
    if (kind.marking.on && queued >= kind.marking.kmin.count()) mark(kind, k, link, queued);
  }
  const auto size = static_cast<std::uint32_t>(k.bytes + w.header);
  queues_[link * lanes_ + lane].push({p, size}, now);
  o.queued += size;
  o.packets |= static_cast<std::uint8_t>(1U << lane);
  if (o.busy_until > now) {
    wake(link, o.busy_until);
  } else {
    serve(link);
  }
}

void Partition::mark(const NodeKind& kind, Packet& k, std::uint32_t link, std::uint32_t queued) {
  if (k.kind != PacketKind::data || (world_.marking >> (k.lanes & 0xF) & 1) == 0) return;
  const Marking& m = kind.marking;
  const double over = static_cast<double>(queued - m.kmin.count());
  const auto range = static_cast<double>((m.kmax - m.kmin).count());
  if (queued < m.kmax.count() && draw(link) >= m.pmax * over / range) return;
  k.flags |= flag::marked;
  ++world_.counts[link].marks;
  ++marks;
}

void Partition::wake(std::uint32_t link, std::int64_t at) {
  Out& o = outs_[link];
  if (at >= o.wake_at) return;
  o.wake_at = at;
  push(at, event(What::link, link));
}

/// Strict lanes first, the others by turns.
inline std::uint32_t Partition::next_lane(const Out& o, std::uint8_t open) const {
  if ((open & (open - 1)) == 0) return static_cast<std::uint32_t>(std::countr_zero(open));
  if (const std::uint8_t first = open & world_.strict; first != 0)
    return static_cast<std::uint32_t>(std::countr_zero(first));
  const auto turned = static_cast<std::uint8_t>(open & (0xFFU << o.turn));
  return static_cast<std::uint32_t>(std::countr_zero(turned != 0 ? turned : open));
}

// The link is free. Within a lane what waits goes before what its flows have ready.
void Partition::serve(std::uint32_t link) {
  Out& o = outs_[link];
  if (o.busy_until > now) return wake(link, o.busy_until);
  const Wire& w = wires_[link];
  std::uint8_t open = static_cast<std::uint8_t>((o.packets | o.flows) & ~o.stopped);
  while (open != 0) {
    const std::uint32_t lane = next_lane(o, open);
    const auto bit = static_cast<std::uint8_t>(1U << lane);
    LaneQueue& q = queues_[link * lanes_ + lane];
    if ((o.packets & bit) != 0) {
      const auto [p, size] = q.front();
      if (credits_ && credit(w) && !has_credit(link, lane, in_blocks(size))) {
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
        NodeState& node = nodes_[wires_[k.link].to];
        if (node.control != FlowControl::credit) release(node, k);
      }
      transmit(p, link, o, w);
    } else {
      const auto flow = q.flow_head;
      const Send& s = world_.sends[flow];
      if (credits_ && credit(w) &&
          !has_credit(link, lane, in_blocks(world_.transports[s.transport].mtu.count() + std::int64_t{w.header}))) {
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
      transmit(p, link, o, w);
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

inline void Partition::transmit(std::uint32_t p, std::uint32_t link, Out& o, const Wire& w) {
  Packet& k = packets_[p];
  const bool data = k.kind == PacketKind::data;
  const std::uint32_t size = k.bytes + std::uint32_t{w.header};
  // In 2^-32 ps, less what rounding up gave to the packet before: the sum over packets is that of the whole.
  const std::uint64_t due = size * w.ps_per_byte;
  const std::uint32_t ahead = o.busy_until < now ? 0 : o.ahead;
  std::int64_t span = 0;
  if (due > ahead) [[likely]] {
    const std::uint64_t rest = due - ahead;
    span = static_cast<std::int64_t>((rest + 0xFFFFFFFFU) >> 32);
    o.ahead = 0U - static_cast<std::uint32_t>(rest);
  } else {
    o.ahead = ahead - static_cast<std::uint32_t>(due);
  }
  ++packet_hops;
  ++o.packets_sent;
  o.wire_bytes += size;
  o.payload_bytes += data ? k.bytes : 0;
  const std::int64_t clean = span;
  if (errors_ && w.errors) [[unlikely]]
    span = repaired(k, link, o, w, size, span);
  o.busy_until = now + span;
  if (credits_) {
    if (credit(w)) queues_[link * lanes_ + (k.lanes & 0xF)].credit -= in_blocks(size);
    if (k.link != nil) give_credit(k, o.busy_until);
  }
  if (telemetry_ && data && k.hops < most_hops) {
    const auto hops = hops_of(p);
    hops[k.hops] = {o.wire_bytes, Time::picoseconds(now), o.queued, world_.fabric.link(LinkId{link}).rate};
    if (k.hops + 1U < most_hops) hops[k.hops + 1U].rate = Rate{};
  }
  k.hops = static_cast<std::uint8_t>(k.hops + (data ? 1 : 0));
  k.link = link;
  const std::int64_t at = now + w.delay + (w.cut_through ? span - clean : span);
  if (w.to_part == number_) [[likely]] {
    push(at, event(w.to_endpoint ? What::receive : What::arrive, p));
  } else {
    hand_over(p, link, w, at);
  }
}

/// What a link that damages packets does: how long it is busy with this one.
std::int64_t Partition::repaired(Packet& k, std::uint32_t link, Out& o, const Wire& w, std::uint32_t size,
                                 std::int64_t span) {
  const LinkSpec& spec = world_.fabric.link(LinkId{link});
  const std::int64_t once = span;
  const double damage = -std::expm1(static_cast<double>(size) * 8 * std::log1p(-spec.bit_error_rate));
  while (draw(link) < damage) {
    if (!spec.link_retry) {
      k.flags |= flag::damaged;
      ++world_.counts[link].damaged;
      break;
    }
    // The far end asks again: there and back, and the packet once more; what comes behind waits.
    ++world_.counts[link].retries;
    span += w.delay + w.back_delay + once;
    o.wire_bytes += size;
  }
  return span;
}

/// To the part of the network that has the far node.
void Partition::hand_over(std::uint32_t p, std::uint32_t link, const Wire& w, std::int64_t at) {
  outbox[w.to_part].push_back({Parcel::Kind::packet, 0, false, link, at, 0, packets_[p]});
  if (telemetry_) outbox_hops[w.to_part].insert(outbox_hops[w.to_part].end(), hops_of(p).begin(), hops_of(p).end());
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
        push(parcel.at, event(wires_[parcel.link].to_endpoint ? What::receive : What::arrive, p));
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
  return packets_.capacity() * sizeof(Packet) + hops_.capacity() * sizeof(Hop) +
         std::size_t{2} * alive_peak * sizeof(Event);  // of a packet under way and of its link
}

}  // namespace linkcast::sim::packet
