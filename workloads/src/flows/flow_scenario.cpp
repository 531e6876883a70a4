// See flow_scenario.hpp.
#include "linkcast/workloads/flow_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "flow_read.hpp"
#include "flow_run.hpp"
#include "linkcast/workloads/packet_keys.hpp"

namespace linkcast::workloads {

FlowScenario read_flow_scenario(const ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile,
                                const ClusterSource& clusters) {
  trace::Problems problems;
  trace::Fields f{problems, scenario.root, "the scenario"};
  if (!f.sound()) problems.throw_if_any();
  if (const auto schema = f.word("schema"); schema && *schema != "linkcast.scenario/1")
    problems.add(*scenario.root.get("schema"), fmt::format("unknown schema '{}'", *schema),
                 "write linkcast.scenario/1");
  auto title = f.word("title").value_or(std::filesystem::path{scenario.path}.filename().string());
  const auto library = read_library(f);
  if (library.fidelity == Fidelity::chunk)
    problems.add(*scenario.root.get("fidelity"), "flows have no chunks",
                 "packet: every packet, queues and pauses; flow: rates that share links fairly");
  const auto machine = read_machine(f, scenario.folder(), std::move(profile), library);
  const auto* workload = f.need("workload");
  const trace::Value* flows = nullptr;
  if (workload != nullptr) {
    trace::Fields w{problems, *workload, "the workload"};
    flows = w.need("flows");
    w.done();
  }
  const auto* section = f.find("packet");
  for (const auto& key : planning_keys()) f.find(key);
  f.done();
  std::optional<topologies::Cluster> cluster;
  if (problems.empty()) {
    try {
      cluster = clusters(machine, 0);
    } catch (const sim::InputError& e) {
      trace::relocate(problems, scenario.root.get("topology")->place, e);
    }
  }
  std::optional<FlowEnds> ends;
  if (cluster) ends.emplace(*cluster);
  std::vector<FlowGroup> groups;
  if (flows != nullptr) groups = read_flow_groups(problems, *flows, ends ? &*ends : nullptr);
  models::PacketSettings packet;
  if (cluster) packet = read_packet_settings(problems, section, cluster->network());
  problems.throw_if_any();
  return {std::move(title), std::move(*cluster), library.fidelity,
          std::move(*ends), std::move(groups),   std::move(packet)};
}

FlowsResult run_flows(const FlowScenario& scenario, const FlowsOptions& options) {
  check_flow_count(scenario);
  auto out =
      scenario.fidelity == Fidelity::packet ? run_flows_packet(scenario, options) : run_flows_fluid(scenario, options);
  out.title = scenario.title;
  out.topology = scenario.cluster.name();
  out.fidelity = scenario.fidelity;
  out.ends = scenario.ends.size();
  for (const auto& a : scenario.cluster.assumptions()) out.notes.push_back(a);
  return out;
}

}  // namespace linkcast::workloads
