// What flows came to: how long messages took, how even the rates were, where queues stood and what was lost. The same
// at every fidelity; what a fidelity does not know is zero. Knows no printing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linkcast/sim/units.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::workloads {

/// Of many times. The q-th percentile is the smallest one that q % of them do not exceed.
struct TimeSpread {
  sim::Time min, p50, p90, p99, p999, max, mean;
};
struct RatioSpread {
  double min = 0, p50 = 0, mean = 0, p99 = 0, max = 0;
};
TimeSpread time_spread(std::vector<sim::Time>& values);  // sorts them
RatioSpread ratio_spread(std::vector<double>& values);   // sorts them

struct FlowGroupResult {
  std::string name, pattern;
  std::size_t senders = 0, receivers = 0;
  std::int64_t flows = 0, messages = 0;
  sim::Bytes bytes;
  sim::Time start, end;      // the first message was posted, the last delivered
  TimeSpread completion;     // of a message, from being posted to its last byte's arrival
  RatioSpread slowdown;      // the same over what it takes with nothing else on the network
  sim::Rate throughput;      // bytes / (end - start)
  RatioSpread flow_share;    // of each flow's bytes over its time, as a share of the line of its slower end
  RatioSpread sender_share;  // of all that a sender sent, as a share of its line
};

/// One direction of one cable, with its sending port.
struct FlowLink {
  std::string name;
  double bytes = 0;        // packet: on the wire; flow: payload
  double utilisation = 0;  // of its rate, until the end
  sim::Bytes queue_peak, queue_mean;
  sim::Time paused;  // something waited and was not allowed
  std::uint64_t pauses = 0, marks = 0;
  std::uint64_t drops = 0, damaged = 0, retries = 0;  // for want of room; by the cable; those that it sent again
};

/// One row of the time series.
struct FlowSample {
  sim::Time at;
  std::uint32_t link = 0;  // into FlowsResult::sampled_links
  std::uint64_t queue = 0, sent = 0;
  sim::Time paused;
  std::uint32_t marks = 0, drops = 0;
};

struct FlowsResult {
  std::string title, topology;
  Fidelity fidelity = Fidelity::flow;
  std::size_t ends = 0;
  sim::Time end;
  std::vector<FlowGroupResult> groups;
  /// Those of which there is something to say, the most loaded first; the others carried nothing.
  std::vector<FlowLink> links;

  // Packets only.
  std::string control, routing, flow_control;  // what was simulated: "dcqcn", "hash", "pause"
  std::uint64_t packets = 0, packet_hops = 0, drops = 0, marks = 0, retransmits = 0, timeouts = 0, notifications = 0;
  std::uint64_t events = 0;
  sim::Time
      queueing;  // that a byte spent in queues on its whole way, in the mean (Little: bytes waiting / bytes a second)
  sim::Time paused;  // summed over links
  std::size_t packets_peak = 0, memory_bytes = 0;
  sim::Time sample_every;
  std::vector<std::string> sampled_links;
  std::vector<FlowSample> samples;
  std::vector<std::string> notes;
};

struct FlowsOptions {
  bool samples = false;  // at fidelity packet: FlowsResult::samples
};

}  // namespace linkcast::workloads
