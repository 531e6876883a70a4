// What the packet network keeps: flat arrays of small records, by number. Written by one partition each; `Wire`,
// `Dest` and the transports are read by all and never change while it runs. Knows no rule.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "large_array.hpp"
#include "linkcast/sim/packet/network.hpp"

namespace linkcast::sim::packet {

inline constexpr std::uint32_t nil = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

enum class PacketKind : std::uint8_t { data, ack, nack, cnp };

namespace flag {
inline constexpr std::uint8_t marked = 1, last = 2, trimmed = 4, given_way = 8, damaged = 16, again = 32;
}

// Two to a cache line. A train of NVLink packets is one of these.
struct Packet {
  std::uint32_t flow;
  std::uint32_t psn;    // ack: the next that is expected; nack: the missing one
  std::uint32_t via;    // with detours: the site that it goes round by; else the link that was chosen ahead; nil: none.
                        // In the free list: the next one
  std::uint32_t link;   // that it came by, or is on; nil: at its sender
  std::uint32_t route;  // the endpoint it goes to, or (given_way) where its next link stands in World::ways
  std::uint32_t stamp;  // when it left its sender, in 2^8 ps; an ack has that of the packet it answers
  std::uint16_t bytes;  // without the links' headers
  std::uint16_t entropy;
  PacketKind kind;
  std::uint8_t flags;
  std::uint8_t lanes;  // low half: of the link it is on or waits for; high half: of the link it came by
  std::uint8_t hops;   // ack: packets that it answers (data packets count links in World::hops_of)
};
static_assert(sizeof(Packet) == 32);

inline std::uint32_t stamp_of(std::int64_t now) { return static_cast<std::uint32_t>(now >> 8); }
inline std::int64_t since(std::uint32_t stamp, std::int64_t now) {
  return static_cast<std::int64_t>(static_cast<std::uint32_t>(stamp_of(now) - stamp)) << 8;
}

/// Of a link: what both ends know.
struct Wire {
  std::int64_t delay;         // after the head (cut_through) or the tail
  std::int64_t back_delay;    // of its other direction: pauses and credits
  std::uint64_t ps_per_byte;  // 2^-32 ps
  std::uint32_t to : 25;      // node
  std::uint32_t from_part : 7;
  std::uint32_t to_part : 7;
  std::uint32_t header : 20;
  std::uint32_t control : 2;  // FlowControl of the far node
  std::uint32_t to_endpoint : 1;
  std::uint32_t cut_through : 1;
  std::uint32_t errors : 1;
};
static_assert(sizeof(Wire) == 32);

/// The sending port of a link.
struct alignas(64) Out {
  std::int64_t busy_until = 0;
  std::int64_t wake_at = never;  // the event that will look at it; later ones are void
  std::int64_t blocked_since = -1;
  std::uint64_t packets_sent = 0, wire_bytes = 0, payload_bytes = 0;
  std::uint32_t ahead = 0;   // 2^-32 ps that rounding up gave to the packet before
  std::uint32_t queued = 0;  // bytes that wait, all lanes
  std::uint8_t packets = 0;  // lanes in which packets wait
  std::uint8_t flows = 0;    // lanes in which flows are ready (at a sender's link)
  std::uint8_t stopped = 0;  // lanes that were told to stop
  std::uint8_t starved = 0;  // lanes that lack credit, with none on its way
  std::uint8_t turn = 0;
};
static_assert(sizeof(Out) == 64);

struct Waiting {
  std::uint32_t packet, bytes;  // bytes: on the wire
};

/// What waits for a link in one lane: packets in a ring, so that those in the middle are left alone.
struct alignas(64) LaneQueue {
  std::unique_ptr<Waiting[]> ring;
  std::uint32_t mask = 0, head = 0, count = 0;
  std::uint32_t bytes = 0, peak = 0;
  std::uint32_t first = 0;                         // the packet at the front
  std::uint32_t flow_head = nil, flow_tail = nil;  // ready flows, in turn
  std::int64_t credit = 0;
  __extension__ using Wide = __int128;
  Wide left_less_came = 0;  // sum of bytes x time when they left, less the same when they came

  /// Integral of `bytes`: what is still here would leave now.
  double byte_picoseconds(std::int64_t now) const { return static_cast<double>(left_less_came + Wide{bytes} * now); }

  const Waiting& front() const { return ring[head]; }
  const Waiting& at(std::uint32_t i) const { return ring[(head + i) & mask]; }
  void push(Waiting w, std::int64_t now) {
    if (ring == nullptr || count == mask + 1) grow();
    left_less_came -= Wide{w.bytes} * now;
    ring[(head + count) & mask] = w;
    if (count++ == 0) first = w.packet;
    bytes += w.bytes;
    if (bytes > peak) peak = bytes;
  }
  Waiting pop(std::int64_t now) {
    const Waiting w = ring[head];
    left_less_came += Wide{w.bytes} * now;
    head = --count == 0 ? 0 : (head + 1) & mask;  // an empty ring begins anew: what is touched stays small
    first = ring[head].packet;
    bytes -= w.bytes;
    return w;
  }

 private:
  void grow() {
    const std::uint32_t room = ring == nullptr ? 16 : 2 * (mask + 1);
    auto larger = std::make_unique<Waiting[]>(room);
    for (std::uint32_t i = 0; i < count; ++i) larger[i] = at(i);
    ring = std::move(larger);
    head = 0;
    mask = room - 1;
  }
};
static_assert(sizeof(LaneQueue) == 64);

/// Credits on their way back to a link, by lane. A ring in the order of time: nearly always a new one is the last.
struct Returns {
  struct Entry {
    std::int64_t at;
    std::int64_t bytes;
  };
  std::vector<Entry> ring;
  std::uint32_t head = 0, count = 0;

  void push(Entry e) {
    if (count == ring.size()) grow();
    const auto at = [&](std::uint32_t i) -> Entry& { return ring[(head + i) & (ring.size() - 1)]; };
    std::uint32_t i = count++;
    for (; i > 0 && at(i - 1).at > e.at; --i) at(i) = at(i - 1);
    at(i) = e;
  }
  const Entry& front() const { return ring[head]; }
  void pop() {
    head = (head + 1) & static_cast<std::uint32_t>(ring.size() - 1);
    --count;
  }

 private:
  void grow() {
    std::vector<Entry> larger(ring.empty() ? 8 : 2 * ring.size());
    for (std::uint32_t i = 0; i < count; ++i) larger[i] = ring[(head + i) & (ring.size() - 1)];
    ring = std::move(larger);
    head = 0;
  }
};

/// What came by a link, in one lane, and has not left the node yet (pause).
struct Input {
  std::int64_t bytes = 0;     // in the reserve and the pool
  std::int64_t headroom = 0;  // beyond
  bool paused = false;
};

struct alignas(64) NodeState {
  std::size_t row = 0;      // of the routing table
  std::int64_t pool = 0;    // bytes of the shared buffer in use
  std::int64_t shared = 0;  // of its kind, for the way of most packets
  std::uint64_t alpha = 0;  // 2^-16
  std::uint32_t reserve = 0, resume_offset = 0;
  std::uint32_t site = nil;
  std::uint32_t salt = 0;
  std::uint32_t turn = 0;
  std::uint32_t flowlets = nil;  // first of its table
  std::uint16_t kind = 0;
  std::uint8_t part = 0;
  bool endpoint = false;
  Choice choice = Choice::hash;
  FlowControl control = FlowControl::none;

  /// What one input may take of the pool now.
  std::int64_t allowed() const {
    const auto free = static_cast<std::uint64_t>(shared > pool ? shared - pool : 0);
    return static_cast<std::int64_t>((free >> 16) * alpha + (((free & 0xFFFF) * alpha) >> 16));
  }
  std::int64_t free() const { return shared > pool ? shared - pool : 0; }
};
static_assert(sizeof(NodeState) == 64);
inline constexpr std::int64_t largest_pool = std::int64_t{1} << 46;  // so that allowed() does not overflow

struct Flowlet {
  std::uint64_t key = 0;
  std::int64_t last = -never;
  std::uint32_t link = nil;
};

/// Where an endpoint hangs.
struct Dest {
  std::uint32_t site = nil, last_link = nil;
};

/// Of a link, what happens rarely.
struct Counts {
  std::int64_t paused = 0;
  std::uint32_t draws = 0;  // random numbers taken
  std::uint32_t marks = 0, drops = 0, trims = 0, retries = 0, damaged = 0, pauses = 0;
};

struct Station {
  std::int64_t busy_until = 0;
  std::uint64_t ps_per_byte = 0;  // 2^-32 ps
};

struct Message {
  std::int64_t bytes = 0;
  std::int64_t posted = 0;
  std::uint32_t first = 0, end = 0;  // packet numbers
  std::uint32_t next = nil;
};

enum class SendState : std::uint8_t { idle, listed, timed };

/// The first line is all that a packet touches as long as nothing has happened to its flow.
struct alignas(64) Send {
  std::int64_t next_at = 0;                  // the rate allows the next packet then
  std::int64_t left = 0;                     // bytes of the message at hand that are not packets yet
  std::uint32_t next = 0, una = 0, end = 0;  // packet numbers: to be sent, not acknowledged, after the last posted
  std::uint32_t high = 0;                    // beyond the highest that was ever sent
  std::uint32_t link = nil;                  // the first of its way
  std::uint32_t next_ready = nil;
  std::uint32_t route = nil;
  std::uint32_t message = nil, message_end = 0;  // at hand
  std::uint32_t in_flight = 0;                   // packets
  std::uint16_t transport = 0, entropy = 0;
  std::uint8_t station_count = 0;
  SendState state = SendState::idle;
  bool given_way : 1 = false;
  bool timer : 1 = false;  // set
  bool calm : 1 = false;   // its control leaves it at the line rate until it is notified
  bool capped : 1 = false;
  bool booked : 1 = false;  // its stations have kept the time of its next packet

  std::uint64_t cap_ps_per_byte = 0;
  std::uint32_t first_message = nil, last_message = nil;
  std::uint32_t control = 0;
  std::uint32_t again = nil;  // packets to send again: a list in Partition::again_
  std::uint32_t round = 0;    // an ack from there on begins a new round trip
  std::uint32_t timer_una = 0;
  std::uint32_t messages = 0, announced = 0, acknowledged = 0;  // counts
  std::uint32_t stations = 0;
  std::uint32_t from = nil;
  std::uint32_t retransmits = 0;
  std::uint16_t path = 0;
  bool has_again() const { return again != nil; }
};
static_assert(sizeof(Send) == 128);

struct alignas(64) Receive {
  std::int64_t last_cnp = -never / 2;
  std::int64_t last_done = 0;
  std::uint64_t payload = 0;
  std::uint32_t expected = 0;
  std::uint32_t window = nil;             // which of the packets beyond `expected` are there: in Partition::windows_
  std::uint32_t route = nil, link = nil;  // of acknowledgements
  std::uint32_t messages = 0;
  std::uint32_t stations = 0;
  std::uint32_t marks = 0;
  std::uint16_t transport = 0, entropy = 0;
  std::uint8_t station_count = 0;
  std::uint8_t unanswered = 0;  // packets since the last ack
  bool marked = false;
  bool asked : 1 = false, given_way : 1 = false;
};
static_assert(sizeof(Receive) == 64);

/// Of a flow, what happens rarely.
struct SendStats {
  std::int64_t first_post = never;
  std::uint32_t timeouts = 0, notifications = 0;
};

struct StationRef {
  std::uint32_t station;
  std::uint64_t ps_per_byte;  // with the weight
};

inline constexpr std::uint32_t order_window = 512;  // packets that may be under way of a flow that is not in order

struct World {
  World(const Fabric& f, std::vector<Transport> t, const Options& o)
      : fabric{f}, transports{std::move(t)}, options{o} {}

  const Fabric& fabric;
  std::vector<Transport> transports;
  Options options;
  std::vector<ControlBank> banks;  // by transport
  std::uint32_t lanes = 1;
  std::uint8_t strict = 0, lossless = 0, marking = 0;  // lanes
  LargeArray<Wire> wires;
  LargeArray<Out> outs;
  LargeArray<LaneQueue> queues;  // [link][lane]
  LargeArray<Returns> returns;   // [link][lane]
  LargeArray<Input> inputs;      // [link][lane]
  LargeArray<Counts> counts;
  LargeArray<NodeState> nodes;
  LargeArray<Dest> dests;
  LargeArray<Flowlet> flowlets;
  std::vector<Station> stations;
  std::vector<StationRef> station_refs;
  std::vector<std::uint32_t> ways;
  LargeArray<Send> sends;
  LargeArray<Receive> receives;
  LargeArray<SendStats> send_stats;
  Source* source = nullptr;
  std::size_t most_packets = 0;  // of one partition
  bool telemetry = false, wants_notices = false, keeps_times = false;
  std::vector<std::vector<std::int64_t>> posted, delivered;  // by flow
};

inline constexpr std::uint32_t flowlet_entries = 4096;

}  // namespace linkcast::sim::packet
