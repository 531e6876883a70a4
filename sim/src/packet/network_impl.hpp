// What a packet network is made of, and who makes it: network_build.cpp checks and builds, network_open.cpp opens
// flows, network.cpp runs and answers. Of those three files only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "partition.hpp"

namespace linkcast::sim::packet {

/// 2^-32 ps, rounded up: nothing is faster than its link.
std::uint64_t ps_per_byte(Rate rate);
/// Rules in which one base round trip, the longest, counts for all flows: with each its own, those with the short ones
/// would be pushed aside (HPCC: T of the whole network; NSCC: the network's RTT).
bool one_round_trip(const ControlSettings& control);

struct Network::Impl {
  World world;
  std::vector<Partition> parts;
  std::vector<std::uint32_t> receivers;  // by flow: its endpoint
  struct Early {
    FlowId flow;
    Time at;
    Bytes bytes;
  };
  std::vector<Early> early;                             // messages from before the start
  std::map<std::uint16_t, std::vector<Path>> paths_of;  // by transport, where one_round_trip
  Time lookahead = Time::max();
  Time next_sample = Time::max();
  std::int64_t now = 0;
  bool started = false;

  Impl(const Fabric& fabric, std::vector<Transport> transports, const Options& options);
  bool may_drop(const NodeKind& k, const Transport& t) const;
  void check() const;
  void build();
  /// Flows that share a station are of one part, so this waits until they are known.
  void divide();
  void build_links();
  void build_nodes();
  std::vector<LinkId> sample_way(LinkId first, NodeId to) const;
  /// One packet with nothing in the way.
  Time crossing(const std::vector<LinkId>& way, Bytes payload) const;
  [[noreturn]] void unreachable(const FlowSpec& spec) const;
  /// The first link, and the whole way (for given ways) or one that the tables allow.
  std::pair<LinkId, std::vector<LinkId>> way_of(const FlowSpec& spec, NodeId from, NodeId to,
                                                const std::vector<LinkId>& given) const;
  FlowId open(const FlowSpec& spec);
  /// What is left of the way after its first link.
  std::uint32_t keep_way(const std::vector<LinkId>& way);
  std::uint8_t keep_stations(const std::vector<StationUse>& uses);
  Partition& part_of_flow(FlowId f) { return parts[world.nodes[world.sends[static_cast<std::size_t>(f)].from].part]; }
  void start();
  Time next_time();
  void run_all(Time until);
  void sample(Time at);
  /// Takes the samples that are due before anything at `next` happens.
  void sample_before(Time next);
  bool window_ok(Time until);
  void exchange(std::size_t to);
  void run_threads(Time until, int threads);
  std::vector<const Partition*> views() const;
  void stop_if_stuck() const;
  bool idle() const;
  void finish() const;
  /// What no fabric may do: a byte that is lost or made, a buffer that is not empty when all have arrived.
  void check_counts() const;
  Time limit;  // of the window at hand
};

}  // namespace linkcast::sim::packet
