// A scenario file as written, before anything of it is understood: whoever runs it, or makes variants of it, begins
// here. And the scenario whose workload is one collective. Knows no printing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linkcast/models/nccl/communicator.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/collective.hpp"
#include "linkcast/workloads/recorded_scenario.hpp"
#include "linkcast/workloads/scenario_machine.hpp"
#include "linkcast/workloads/trace_value.hpp"

namespace linkcast::workloads {

struct ScenarioFile {
  std::string path;
  trace::Value root;

  std::string folder() const;
  /// The same with "key=value" over it. Throws sim::InputError.
  ScenarioFile with(std::span<const std::string> set) const;
};
/// Throws sim::InputError with what is wrong with its form.
ScenarioFile open_scenario(const std::string& path, const std::vector<std::string>& set = {});
/// The same for a text. `where` names it in messages, and files that it names are relative to its folder.
ScenarioFile open_scenario_text(std::string text, const std::string& where, const std::vector<std::string>& set = {});

enum class WorkloadKind : unsigned char { programs, recording, collective, flows };
WorkloadKind workload_kind(const ScenarioFile& scenario);

/// Keys of a scenario that say what to do with it (variants, goals, faults, …): of the room `planning`, left alone by
/// whoever only runs it.
std::span<const std::string> planning_keys();

/// `workload: {collective: {op: all_reduce, size: 1 GiB}}` over all ranks of the machine.
struct CollectiveScenario {
  std::string title;
  ScenarioMachine machine;
  topologies::Cluster cluster;
  CommunicatorOptions library;
  models::nccl::Call call;
};
/// Throws sim::InputError with everything that is wrong.
CollectiveScenario read_collective_scenario(const ScenarioFile& scenario,
                                            std::shared_ptr<const topologies::Profile> profile = nullptr,
                                            const ClusterSource& clusters = load_machine);
/// As read_recorded_scenario(path, …).
RecordedScenario read_recorded_scenario(const ScenarioFile& scenario,
                                        std::shared_ptr<const topologies::Profile> profile = nullptr,
                                        const ClusterSource& clusters = load_machine);

/// nccl, env, launch, launch_floor, fidelity of a scenario.
CommunicatorOptions read_library(trace::Fields& f);
/// The machine as NCCL uses it: where `env` takes it off InfiniBand verbs (NCCL_IB_DISABLE, NCCL_NET=Socket) and no
/// network is asked for, the same NICs carry TCP.
ScenarioMachine read_machine(trace::Fields& f, const std::string& folder,
                             std::shared_ptr<const topologies::Profile> profile, const CommunicatorOptions& library);

}  // namespace linkcast::workloads
