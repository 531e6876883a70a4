// The flows of a replay's packet network: opened for whoever needs one like it, and lent to the next who does when it
// is free again, as queue pairs outlive the calls that use them. Knows no message.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "linkcast/sim/fluid.hpp"
#include "linkcast/sim/packet/network.hpp"
#include "linkcast/sim/packet/ways.hpp"

namespace linkcast::sim {

class PacketFlows {
 public:
  PacketFlows(const packet::Setting& setting, packet::Network& network, std::size_t resources);

  /// One flow for each part, for units of that cap.
  std::vector<std::uint32_t> take(std::span<const packet::Part> parts, Rate cap);
  /// The parts of usages that have no ways: see packet::Ways.
  std::vector<packet::Part> parts_of(std::span<const Usage> usages) const;
  void give_back(std::uint32_t flow) { free_[flow_[flow].like].push_back(flow); }

  std::size_t size() const { return flow_.size(); }
  packet::FlowId id(std::uint32_t flow) const { return flow_[flow].id; }
  std::uint32_t of(packet::FlowId id) const { return of_[static_cast<std::size_t>(id)]; }
  double weight(std::uint32_t flow) const { return flow_[flow].weight; }
  Time latency(std::uint32_t flow) const { return flow_[flow].latency; }
  /// The least time in which a message leaves: by the slowest of the sender's stations.
  Time least(std::uint32_t flow, Bytes message) const { return transfer_time(message, flow_[flow].rate); }
  /// Links whose pauses hold it back.
  std::span<const packet::LinkId> watched(std::uint32_t flow) const { return flow_[flow].watched; }

  /// Counts a message for the stations that the flow goes through.
  void count(std::uint32_t flow, Bytes message);
  const std::vector<double>& carried_by_stations() const { return carried_; }  // by resource
  const packet::Setting& setting() const { return setting_; }

 private:
  struct Flow {
    packet::FlowId id{};
    double weight = 1;
    Time latency;
    Rate rate;
    std::uint64_t like = 0;  // of all that are the same
    std::vector<packet::LinkId> watched;
    std::vector<std::pair<std::uint32_t, double>> stations;  // resource, bytes for each byte of a message
  };
  Flow open(const packet::Part& part, Rate cap, std::uint64_t like);

  const packet::Setting& setting_;
  packet::Network& network_;
  std::vector<Flow> flow_;
  std::vector<std::uint32_t> of_;  // by FlowId
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> free_;
  std::vector<std::uint32_t> resource_of_station_;
  std::vector<double> carried_;
};

}  // namespace linkcast::sim
