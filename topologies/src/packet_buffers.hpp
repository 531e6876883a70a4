// What buffers the nodes of a packet network have: those that a scenario says, those of the switch's part, or what the
// cables need that are plugged in. Knows no node and no link by name.
#pragma once

#include <vector>

#include "linkcast/models/packet.hpp"
#include "linkcast/sim/packet/fabric.hpp"
#include "linkcast/topologies/network.hpp"

namespace linkcast::topologies {

class BufferPlan {
 public:
  struct Link {
    sim::Rate rate;
    sim::Time there_and_back;
    double metres = 0;
  };
  BufferPlan(const models::PacketSettings& settings, sim::Bytes header, std::span<const SwitchModel> models,
             std::size_t switches);

  /// `count` links that come in at a switch.
  void at_switch(std::size_t model, std::size_t sw, const Link& link, int count);
  void at_nic(const Link& link);

  sim::packet::NodeKind switch_kind(std::size_t model, std::size_t lossless_lanes) const;
  sim::packet::NodeKind nic_kind() const;

 private:
  struct Need {
    sim::Bytes input, headroom;
  };
  Need needed(const Link& link) const;
  sim::packet::NodeKind kind(const Need& need) const;

  const models::PacketSettings& s_;
  sim::Bytes packet_;  // the largest of any transport (sim::packet::Network looks at all of them everywhere)
  std::span<const SwitchModel> models_;
  std::vector<Need> of_model_;
  Need nic_;
  std::vector<double> plugged_;  // bytes per second, by switch
  std::vector<int> links_;       // that come in, by switch
  std::vector<double> most_;     // the most of a model's switches
  std::vector<int> most_links_;
};

/// What a switch part says for a port of that rate and a cable of that length: between two lengths of the table in
/// proportion, beyond its ends the last one. 0: nothing of that rate.
sim::Bytes headroom_of(const SwitchModel& model, sim::Rate rate, double metres);

/// Room in GPUs and NVSwitches for full rate on each link, for trains of that size.
struct NvlinkNeed {
  sim::Rate rate;
  sim::Time there_and_back;
};
sim::packet::NodeKind nvlink_kind(std::string name, std::span<const NvlinkNeed> links, sim::Bytes train);
/// Takes whatever comes.
sim::packet::NodeKind endless_kind(std::string name);

}  // namespace linkcast::topologies
