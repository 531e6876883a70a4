// Buffers: what a node takes in, when it says stop, and the credits that it gives. See partition.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "linkcast/sim/diagnostic.hpp"
#include "partition.hpp"
#include "pause_frame.hpp"

namespace linkcast::sim::packet {
// Shared buffer with dynamic thresholds (Choudhury, Hahne: Dynamic queue length thresholds for shared-memory packet
// switches, 1998), reserve and headroom as in Zhu et al., Congestion control for large-scale RDMA deployments, 2015.
bool Partition::admit(NodeState& node, Packet& k, std::uint32_t link, std::uint32_t queued) {
  const std::uint32_t in_lane = k.lanes >> 4;
  const std::int64_t size = k.bytes + std::int64_t{wires_[k.link].header};
  if (node.control == FlowControl::pause && (world_.lossless >> in_lane & 1) != 0) {
    Input& in = inputs_[k.link * lanes_ + in_lane];
    const std::int64_t over = in.bytes - node.reserve;
    const std::int64_t above = over + size;
    if (in.headroom == 0) {
      if (above <= 0) {
        in.bytes += size;
        return true;
      }
      const std::int64_t more = over > 0 ? size : above;
      if (above <= node.allowed() && more <= node.free()) {
        in.bytes += size;
        node.pool += more;
        return true;
      }
    }
    in.headroom += size;
    if (in.headroom > kinds_[node.kind].headroom.count()) {
      throw InternalError(fmt::format("packet network: {} lost a packet of a lossless lane: {} B of headroom are full",
                                      world_.fabric.name_of(LinkId{k.link}), kinds_[node.kind].headroom.count()));
    }
    if (!in.paused) {
      in.paused = true;
      send_pause(k.link, in_lane, true);
    }
    return true;
  }
  const NodeKind& kind = kinds_[node.kind];
  const bool fits =
      static_cast<double>(queued + size) <= kind.lossy_alpha * static_cast<double>(node.free()) && size <= node.free();
  if (fits) {
    node.pool += size;
    return true;
  }
  const std::int64_t header = wires_[k.link].header;
  if (!kind.trims || k.kind != PacketKind::data || (k.flags & flag::trimmed) != 0 || header > node.free()) return false;
  k.flags |= flag::trimmed;
  k.bytes = 0;
  k.lanes =
      static_cast<std::uint8_t>((k.lanes & 0xF0) | world_.transports[world_.receives[k.flow].transport].control_lane);
  ++world_.counts[link].trims;
  node.pool += header;
  return true;
}

void Partition::release(NodeState& node, const Packet& k) {
  const std::uint32_t in_lane = k.lanes >> 4;
  const std::int64_t size = k.bytes + std::int64_t{wires_[k.link].header};
  if (node.control != FlowControl::pause || (world_.lossless >> in_lane & 1) == 0) {
    node.pool -= size;
    return;
  }
  Input& in = inputs_[k.link * lanes_ + in_lane];
  const std::int64_t from_headroom = std::min(in.headroom, size);
  in.headroom -= from_headroom;
  const std::int64_t rest = size - from_headroom, reserve = node.reserve;
  const std::int64_t before = std::max<std::int64_t>(0, in.bytes - reserve);
  in.bytes -= rest;
  const std::int64_t above = std::max<std::int64_t>(0, in.bytes - reserve);
  node.pool -= before - above;
  if (!in.paused || in.headroom != 0) [[likely]]
    return;
  if (above == 0 || above + node.resume_offset <= node.allowed()) {
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

}  // namespace linkcast::sim::packet
