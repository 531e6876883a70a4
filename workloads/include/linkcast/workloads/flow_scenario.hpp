// The scenario whose workload is flows: `workload: {flows: […]}` on a machine (docs/flows.md). Knows no printing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linkcast/models/packet.hpp"
#include "linkcast/workloads/flow_patterns.hpp"
#include "linkcast/workloads/flows_result.hpp"
#include "linkcast/workloads/scenario_file.hpp"

namespace linkcast::workloads {

struct FlowScenario {
  std::string title;
  topologies::Cluster cluster;
  Fidelity fidelity = Fidelity::flow;  // flow or packet
  FlowEnds ends;
  std::vector<FlowGroup> groups;
  models::PacketSettings packet;  // of that network, with the scenario's `packet` section over them
};

/// Throws sim::InputError with everything that is wrong.
FlowScenario read_flow_scenario(const ScenarioFile& scenario,
                                std::shared_ptr<const topologies::Profile> profile = nullptr,
                                const ClusterSource& clusters = load_machine);

/// Throws sim::InputError: a flow that nothing connects, more messages than memory holds.
FlowsResult run_flows(const FlowScenario& scenario, const FlowsOptions& options = {});

}  // namespace linkcast::workloads
