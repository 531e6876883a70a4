// The packet network at work: every packet on every link, queues, credits, pauses, marks, losses and their repair.
//
// A flow is a queue pair: messages go in at one end and come out at the other, in order. Its packets are of one
// transport (how big, how acknowledged, how repaired, which congestion control) and follow the routing tables, or a way
// that is given. Same input, same output, bit for bit, whatever the number of threads.
//
// One event per packet and hop where nothing waits: a packet that meets an idle link is sent on at once. Where it
// waits, the link has one event of its own when it is free. Credits come back without events: a link that lacks them
// looks up when they will be there. Knows no GPU, no collective.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/sim/packet/control.hpp"
#include "linkcast/sim/packet/fabric.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::sim::packet {

enum class FlowId : std::uint32_t {};

enum class Recovery : std::uint8_t {
  none,       // nothing is ever lost: losing a packet is an internal error
  go_back_n,  // the receiver takes packets in order only; at a gap it asks for all from there on
  selective,  // the receiver keeps what it has and asks for what is missing
};

struct Transport {
  std::string name;
  Bytes mtu{4096};  // payload of a full packet
  std::uint8_t lane = 0, control_lane = 0;
  bool acknowledged = true;  // false: a link's own protocol (NVLink); then no congestion control, no recovery
  int ack_every = 16;        // packets; the last of a message always
  Recovery recovery = Recovery::none;
  bool any_order = false;  // the receiver places packets as they come; needed for spray, adaptive, flowlet
  Time retransmit_timeout = Time::microseconds(500);
  int paths = 0;  // the sender gives packets that many entropies in turn (UET, SRD); 0: the flow's only
  Time min_time_between_cnps;
  ControlSettings control = Uncontrolled{};
  Bytes control_bytes{4};  // an acknowledgement, besides the link's header
};

/// A station that a flow's bytes go through, with how many of the station's bytes each of them costs.
struct StationUse {
  StationId station;
  double weight = 1;
};

struct FlowSpec {
  NodeId from = no_node, to = no_node;
  std::vector<LinkId> way;       // all links, in order; or only the first, where `from` has several; or none
  std::vector<LinkId> way_back;  // of acknowledgements, where `way` is whole
  std::uint16_t transport = 0;
  std::uint64_t hash = 0;        // stands for the five-tuple
  Rate cap = Rate::unlimited();  // payload; of whatever makes the bytes
  std::vector<StationUse> out, in;
  std::uint32_t group = 0;  // for statistics: which job, which pattern
};

/// Something that happened to a message. Messages of a flow are counted from 0.
struct Notice {
  enum class Kind : std::uint8_t { sent, delivered, acknowledged } kind;
  FlowId flow{};
  std::uint32_t message = 0;
  Time at;  // sent: the last byte has left the sender
};

/// Asks what an endpoint sends next, whenever a message of its is acknowledged (unacknowledged transports: sent) and at
/// the start. Called from the thread that has the endpoint; state must be the endpoint's own.
class Source {
 public:
  virtual ~Source() = default;
  struct Post {
    FlowId flow{};
    Bytes bytes;
    Time at;  // not before now
  };
  /// `done`: the flow whose message is through, or none at the start.
  virtual void next(NodeId endpoint, Time now, FlowId done, std::vector<Post>& posts) = 0;
};

struct Options {
  std::uint64_t seed = 1;
  int threads = 1;     // at most `partitions` are used
  int partitions = 1;  // the network is cut into that many; results depend on it at ties, not on threads
  Time sample_every;   // zero: no time series
  std::size_t most_packets = std::size_t{1} << 26;  // under way at one time; then it refuses
};

/// Of one link since the beginning.
struct LinkStats {
  std::uint64_t packets = 0, wire_bytes = 0, payload_bytes = 0;
  std::uint64_t marks = 0, drops = 0, trims = 0, link_retries = 0, damaged = 0;
  Bytes queue_peak;
  double queue_byte_seconds = 0;  // integral of the queue over time
  Time paused;                    // something waited and was not allowed: pause or no credit
  std::uint64_t pauses = 0;       // times that it was stopped
};

struct FlowStats {
  Time first_post, last_done;       // done: delivered
  std::uint64_t payload_bytes = 0;  // delivered, each byte once
  std::uint64_t packets = 0, retransmits = 0, timeouts = 0, marked = 0, notifications = 0;
};

/// One row of the time series: what changed since the row before.
struct Sample {
  Time at;
  LinkId link{};
  std::uint64_t queue = 0, wire_bytes = 0;  // queue: now
  Time paused;
  std::uint32_t marks = 0, drops = 0;
};

struct Totals {
  std::uint64_t events = 0, packet_hops = 0, packets = 0, drops = 0, marks = 0, retransmits = 0, notifications = 0;
  std::size_t packets_peak = 0;  // under way at one time
  std::size_t memory_bytes = 0;  // of what is kept for packets under way
};

/// Packets wait for each other in a circle: nothing can ever move again.
class Deadlock : public std::runtime_error {
 public:
  Deadlock(std::string what, std::vector<LinkId> cycle)
      : std::runtime_error{std::move(what)}, cycle_{std::move(cycle)} {}
  const std::vector<LinkId>& cycle() const { return cycle_; }

 private:
  std::vector<LinkId> cycle_;
};

class Network {
 public:
  /// The fabric must outlive the network. Throws InputError as Fabric::check does, and for transports that cannot work
  /// on it: one that cannot lose on a lane that can, one that wants order where the routing reorders.
  Network(const Fabric& fabric, std::vector<Transport> transports, const Options& options);
  ~Network();
  Network(Network&&) noexcept;

  /// Throws InputError where no way leads from one to the other.
  FlowId open(const FlowSpec& flow);
  /// Gives the flow a message, at a time that is not in the past. Zero bytes are a packet of headers alone.
  /// Returns its number among the flow's messages.
  std::uint32_t post(FlowId flow, Time at, Bytes bytes);
  void set_source(Source* source);  // not owned; before anything has run

  /// The next instant at which anything may happen; Time::max() when nothing is to happen any more.
  Time next_time();
  /// Runs up to and including `until`, but stops after the first instant with notices; those are appended. Returns
  /// where it stopped. Only for one partition.
  Time run(Time until, std::vector<Notice>& notices);
  /// Runs until nothing is under way, or to `until`. Any number of partitions. Throws Deadlock.
  Time run_all(Time until = Time::max());

  bool idle() const;  // nothing is under way or waits to be sent
  Totals totals() const;
  LinkStats link_stats(LinkId l) const;
  FlowStats flow_stats(FlowId f) const;
  std::vector<Sample> samples() const;  // by time, then link; complete after run_all
  /// Message completion times of a flow, in order: (posted, delivered). Kept where keep_times was called before.
  void keep_times();
  std::vector<std::pair<Time, Time>> times(FlowId f) const;
  Rate flow_rate(FlowId f);  // what its congestion control allows now
  /// The circle in which packets wait for each other; empty where there is none.
  std::vector<LinkId> find_cycle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace linkcast::sim::packet
