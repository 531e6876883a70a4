// One part of the packet network: the nodes that it has, their links and what waits at them, and a clock. Parts know
// each other only by what they send: packets, pauses and credits that arrive later. Rules in the .cpp files:
// forwarding in partition.cpp, buffers in buffers.cpp, senders in sender.cpp, receivers in receiver.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../mix.hpp"
#include "state.hpp"
#include "wheel.hpp"

namespace linkcast::sim::packet {

/// Whether the far node gives credits.
inline bool credit(const Wire& w) { return w.control == static_cast<unsigned>(FlowControl::credit); }
/// InfiniBand: 64 B a credit.
inline std::int64_t in_blocks(std::int64_t bytes) { return (bytes + 63) & ~std::int64_t{63}; }

class Partition {
 public:
  Partition(World& world, std::uint8_t number);

  Time next_time() { return queue_.next_time(); }
  /// All events up to and including `limit`. With notices wanted: up to the first instant that has some.
  void run(Time limit);
  std::vector<Notice> notices;

  /// What other parts get, in the order in which it was sent.
  struct Parcel {
    enum class Kind : std::uint8_t { packet, pause, credit } kind;
    std::uint8_t lane;
    bool on;
    std::uint32_t link;
    std::int64_t at;
    std::int64_t bytes;
    Packet packet;
  };
  std::vector<std::vector<Parcel>> outbox;  // by part
  std::vector<std::vector<Hop>> outbox_hops;
  void take(const std::vector<Parcel>& parcels, const std::vector<Hop>& hops);

  void start_source(std::uint32_t node) { ask_source(node, 0, nil); }
  std::uint32_t post(std::uint32_t flow, std::int64_t at, std::int64_t bytes);
  /// The same for a message that is counted already.
  void schedule(std::uint32_t flow, std::int64_t at, std::int64_t bytes);

  std::uint64_t events = 0, packet_hops = 0;
  std::uint64_t drops = 0, marks = 0, retransmits = 0, notifications = 0, packets_made = 0;
  std::size_t alive = 0, alive_peak = 0;
  std::size_t unfinished = 0;  // messages posted and not through
  std::int64_t now = 0;
  std::vector<Sample> samples;
  std::size_t memory_bytes() const;
  const Packet& packet(std::uint32_t p) const { return packets_[p]; }
  /// A row for each link that did something since the last.
  void sample(std::int64_t at);
  /// A timer found that nothing had moved since it was set.
  bool stands_still = false;

 private:
  enum class What : std::uint8_t { arrive, receive, link, flow, timer, pause, post, deliver };
  static std::uint64_t event(What what, std::uint32_t index, std::uint8_t lane = 0, bool on = false) {
    return (static_cast<std::uint64_t>(what) << 56) | (static_cast<std::uint64_t>(lane) << 48) |
           (static_cast<std::uint64_t>(on) << 47) | index;
  }
  void push(std::int64_t at, std::uint64_t payload) { queue_.push(at, payload); }
  void dispatch(std::uint64_t payload);
  void look_ahead();
  void look_for_link(Packet& k);
  void unblock(std::uint32_t link, Out& o);

  std::uint32_t take_packet();
  void free_packet(std::uint32_t p) {
    packets_[p].via = free_;
    free_ = p;
    --alive;
  }
  std::span<Hop> hops_of(std::uint32_t p) { return {hops_.data() + std::size_t{p} * most_hops, most_hops}; }

  // partition.cpp
  void arrive(std::uint32_t p);
  bool enter(Packet& k, std::uint32_t p);
  std::uint32_t choose_among(NodeState& node, const Packet& k, std::uint32_t group);
  std::uint32_t toward(NodeState& node, Packet& k);
  std::int64_t backlog(std::uint32_t link) const;
  void offer(std::uint32_t p, std::uint32_t link);
  void wake(std::uint32_t link, std::int64_t at);
  void serve(std::uint32_t link);
  void transmit(std::uint32_t p, std::uint32_t link, Out& o, const Wire& w);
  std::int64_t repaired(Packet& k, std::uint32_t link, Out& o, const Wire& w, std::uint32_t size, std::int64_t span);
  void hand_over(std::uint32_t p, std::uint32_t link, const Wire& w, std::int64_t at);
  bool admit(NodeState& node, Packet& k, std::uint32_t link, std::uint32_t queued);
  void mark(const NodeKind& kind, Packet& k, std::uint32_t link, std::uint32_t queued);
  std::uint32_t next_lane(const Out& o, std::uint8_t open) const;
  void release(NodeState& node, const Packet& k);
  bool has_credit(std::uint32_t link, std::uint32_t lane, std::int64_t bytes);
  void give_credit(const Packet& k, std::int64_t at);
  void add_credit(std::uint32_t link, std::uint32_t lane, std::int64_t at, std::int64_t bytes);
  void send_pause(std::uint32_t input_link, std::uint32_t lane, bool on);
  void on_pause(std::uint32_t link, std::uint32_t lane, bool on);
  void drop(std::uint32_t p, std::uint32_t link);
  double draw(std::uint32_t link) {
    return static_cast<double>(mix(mix(world_.options.seed, link), ++world_.counts[link].draws) >> 11) * 0x1p-53;
  }

  // sender.cpp
  void update(std::uint32_t flow);
  bool may_send(const Send& s) const;
  std::uint32_t make_packet(std::uint32_t flow);
  void sent(std::uint32_t flow, std::uint32_t wire_bytes, std::uint32_t payload, bool last, bool again);
  void on_ack(const Packet& k, std::uint32_t p);
  void on_nack(const Packet& k);
  void on_timer(std::uint32_t flow);
  void advance(std::uint32_t flow, std::uint32_t to);
  void seek(std::uint32_t flow, std::uint32_t psn);
  void ask_source(std::uint32_t node, std::int64_t at, std::uint32_t flow);
  void begin(std::uint32_t flow, std::int64_t at, std::int64_t bytes);
  std::uint32_t message_of(const Send& s, std::uint32_t psn) const;

  // receiver.cpp
  void receive(std::uint32_t p);
  void consume(std::uint32_t p);
  void on_data(std::uint32_t p);
  void deliver(std::uint32_t flow, Receive& r);
  void answer(std::uint32_t flow, Receive& r, const Packet& cause, std::uint32_t p, PacketKind kind, std::uint32_t psn);
  void accept(std::uint32_t flow, Receive& r, const Packet& k);
  void ask_for_missing(std::uint32_t flow, Receive& r, const Packet& k, std::uint32_t p);

  static constexpr std::size_t most_hops = 8;
  struct Again {
    std::uint32_t psn, next;
  };
  struct OrderWindow {
    std::uint64_t here[order_window / 64] = {}, last[order_window / 64] = {};
    std::uint32_t highest = 0;   // one beyond the highest that came
    std::uint32_t examined = 0;  // what is missing below was asked for already
  };
  struct Later {
    std::uint32_t flow;
    std::int64_t bytes;
  };

  World& world_;
  // The same arrays as in the world, which do not move while it runs.
  Out* outs_;
  const Wire* wires_;
  LaneQueue* queues_;
  NodeState* nodes_;
  Input* inputs_;
  const NodeKind* kinds_;
  std::uint32_t lanes_;
  std::uint8_t number_;
  bool credits_ = false, errors_ = false, detours_, telemetry_;
  Wheel queue_;
  LargeArray<Packet> packets_;
  LargeArray<Hop> hops_;  // telemetry, most_hops for each packet
  std::uint32_t free_ = nil;
  LargeArray<Message> messages_;
  std::uint32_t free_message_ = nil;
  LargeArray<Again> again_;
  std::uint32_t free_again_ = nil;
  LargeArray<OrderWindow> windows_;
  std::vector<std::uint32_t> free_windows_;
  std::vector<Later> later_;
  std::vector<std::uint32_t> free_later_;
  std::vector<Source::Post> posts_;
  std::vector<std::uint64_t> timer_seen_;  // by flow: transmissions when its timer was set
  struct Sampled {
    std::uint64_t wire_bytes = 0;
    std::int64_t paused = 0;
    std::uint32_t marks = 0, drops = 0;
  };
  std::vector<Sampled> sampled_;
};

}  // namespace linkcast::sim::packet
