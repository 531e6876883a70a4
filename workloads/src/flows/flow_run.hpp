// What the two ways to run flows share: the sums over messages, and what a message takes alone. Knows neither packets
// nor max-min rates.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "linkcast/workloads/flow_scenario.hpp"

namespace linkcast::workloads {

FlowsResult run_flows_fluid(const FlowScenario& scenario, const FlowsOptions& options);
FlowsResult run_flows_packet(const FlowScenario& scenario, const FlowsOptions& options);

/// Throws sim::InputError where the groups come to more messages than memory should hold.
void check_flow_count(const FlowScenario& scenario);

/// Parallel cables have one name: the second and later ones get a number behind it.
class LinkNames {
 public:
  std::string distinct(std::string name);

 private:
  std::unordered_map<std::string, int> seen_;
};

/// One sender of one group.
struct FlowSender {
  FlowSender(const FlowScenario& scenario, const FlowGroup& group, std::size_t index);
  FlowMessages messages() const;
  std::uint32_t end() const { return group->senders[index]; }

  const FlowGroup* group;
  std::size_t index;
  std::vector<std::uint32_t> peers;  // ends
  std::size_t first;                 // of `peers`
  sim::Rate line;
};

/// Collects what became of a group's messages.
class FlowTally {
 public:
  FlowTally(const FlowScenario& scenario, const FlowGroup& group);

  /// From the first byte's leaving to the last one's arrival with nothing else on the network: the way's latency, and
  /// the bytes at the rate of the slower end or of one flow.
  sim::Time alone(std::uint32_t from, std::uint32_t to, sim::Bytes bytes) const;
  sim::Time latency(std::uint32_t from, std::uint32_t to) const;

  void message(std::uint32_t from, std::uint32_t to, sim::Bytes bytes, sim::Time posted, sim::Time delivered);
  /// After its messages: all that went from one end to another, and all that a sender sent.
  void flow(std::uint32_t from, std::uint32_t to, sim::Bytes bytes, sim::Time first, sim::Time last);
  void sender(std::uint32_t from, sim::Bytes bytes, sim::Time first, sim::Time last);
  FlowGroupResult result();

 private:
  const FlowScenario& scenario_;
  const FlowGroup& group_;
  FlowGroupResult out_;
  std::vector<sim::Time> times_;
  std::vector<double> slowdowns_, flow_shares_, sender_shares_;
};

}  // namespace linkcast::workloads
