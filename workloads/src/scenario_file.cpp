// See scenario_file.hpp.
#include "linkcast/workloads/scenario_file.hpp"
#include "linkcast/workloads/packet_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "linkcast/models/nccl/network_defaults.hpp"
#include "linkcast/workloads/packet_keys.hpp"

namespace linkcast::workloads {
namespace {

using trace::Fields;
using trace::Problems;

const std::vector<std::string> launch_words{"single-process", "multi-process", "graph"};
const std::vector<std::string> fidelity_words{"flow", "chunk", "packet"};

std::optional<std::size_t> choice(Fields& f, std::string_view key, const std::vector<std::string>& words) {
  const auto word = f.word(key);
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  f.problems().add(*f.value().get(key), fmt::format("'{}' is no {}", *word, key), trace::suggest(*word, words));
  return std::nullopt;
}

ScenarioFile opened(const trace::Source& source, const std::string& path, std::span<const std::string> set) {
  Problems problems;
  ScenarioFile out{path, trace::parse_yaml(source, problems)};
  if (out.root.kind == trace::Value::Kind::null) problems.throw_if_any();
  for (const auto& s : set) trace::override_one(out.root, s, problems);
  problems.throw_if_any();
  return out;
}

std::optional<models::nccl::Call> read_call(Problems& problems, const trace::Value& v) {
  Fields f{problems, v, "the collective"};
  if (!f.sound()) return std::nullopt;
  models::nccl::Call call;
  const auto* op = f.need("op");
  const auto* size = f.need("size");
  if (const auto word = f.word("op")) {
    if (const auto found = models::nccl::op_from(*word)) {
      call.op = *found;
    } else {
      problems.add(*op, fmt::format("'{}' is no collective", *word), trace::suggest(*word, models::nccl::op_names()));
    }
  }
  if (size != nullptr)
    if (const auto bytes = trace::size_of(problems, *size, "size")) call.bytes = *bytes;
  if (const auto root = f.integer("root", 0, 100'000'000)) call.root = static_cast<int>(*root);
  f.done();
  return call;
}

}  // namespace

std::string ScenarioFile::folder() const { return std::filesystem::path{path}.parent_path().string(); }

ScenarioFile ScenarioFile::with(std::span<const std::string> set) const {
  auto out = *this;
  Problems problems;
  for (const auto& s : set) trace::override_one(out.root, s, problems);
  problems.throw_if_any();
  return out;
}

ScenarioFile open_scenario(const std::string& path, const std::vector<std::string>& set) {
  return opened(trace::read_source(path, "put the trace into a file of its own"), path, set);
}

ScenarioFile open_scenario_text(std::string text, const std::string& where, const std::vector<std::string>& set) {
  return opened(std::make_shared<SourceText>(SourceText{where, std::move(text)}), where, set);
}

WorkloadKind workload_kind(const ScenarioFile& scenario) {
  const auto* workload = scenario.root.is_map() ? scenario.root.get("workload") : nullptr;
  if (workload == nullptr || !workload->is_map()) return WorkloadKind::programs;
  if (workload->get("trace") != nullptr || workload->get("step") != nullptr) return WorkloadKind::recording;
  if (workload->get("flows") != nullptr) return WorkloadKind::flows;
  return workload->get("collective") != nullptr ? WorkloadKind::collective : WorkloadKind::programs;
}

std::span<const std::string> planning_keys() {
  static const std::vector<std::string> keys{"variants",   "options",  "baseline", "goals",       "faults",
                                             "jobs",       "prices",   "rates",    "reliability", "search",
                                             "resilience", "duration", "steps",    "notes"};
  return keys;
}

CommunicatorOptions read_library(Fields& f) {
  CommunicatorOptions library;
  auto& problems = f.problems();
  if (const auto version = f.word("nccl")) {
    try {
      library.nccl = models::nccl::Version::parse(*version);
    } catch (const sim::InputError& e) {
      trace::relocate(problems, f.value().get("nccl")->place, e);
    }
  }
  if (const auto* env = f.find("env")) {
    if (!env->is_map()) problems.add(*env, "'env' must be a map", "write `NCCL_ALGO: Ring` lines");
    for (const auto& [key, value] : env->entries) {
      if (value.kind == trace::Value::Kind::null) continue;  // `NCCL_ALGO: ~`: as if it were not said
      try {
        library.env.set(key.text, value.text);
      } catch (const sim::InputError& e) {
        trace::relocate(problems, key.place, e);
      }
    }
  }
  if (const auto i = choice(f, "launch", launch_words))
    library.launch = std::array{models::LaunchMode::single_process, models::LaunchMode::multi_process,
                                models::LaunchMode::graph}[*i];
  if (const auto t = f.time("launch_floor", true)) library.launch_floor = *t;
  if (const auto i = choice(f, "fidelity", fidelity_words))
    library.fidelity = std::array{Fidelity::flow, Fidelity::chunk, Fidelity::packet}[*i];
  return library;
}

ScenarioMachine read_machine(Fields& f, const std::string& folder, std::shared_ptr<const topologies::Profile> profile,
                             const CommunicatorOptions& library) {
  auto machine = read_machine(f, folder, std::move(profile));
  if (!machine.load.fabric && machine.network.empty() && models::nccl::uses_sockets(library.env))
    machine.load.fabric = "tcp";
  return machine;
}

CollectiveScenario read_collective_scenario(const ScenarioFile& scenario,
                                            std::shared_ptr<const topologies::Profile> profile,
                                            const ClusterSource& clusters) {
  Problems problems;
  Fields f{problems, scenario.root, "the scenario"};
  if (!f.sound()) problems.throw_if_any();
  if (const auto schema = f.word("schema"); schema && *schema != "linkcast.scenario/1")
    problems.add(*scenario.root.get("schema"), fmt::format("unknown schema '{}'", *schema),
                 "write linkcast.scenario/1");
  auto title = f.word("title").value_or(std::filesystem::path{scenario.path}.filename().string());
  auto library = read_library(f);
  auto machine = read_machine(f, scenario.folder(), std::move(profile), library);
  std::optional<models::nccl::Call> call;
  if (const auto* workload = f.need("workload")) {
    Fields w{problems, *workload, "the workload"};
    if (const auto* v = w.need("collective")) call = read_call(problems, *v);
    w.done();
  }
  const auto* packet = f.find("packet");
  for (const auto& key : planning_keys()) f.find(key);
  f.done();
  problems.throw_if_any();
  std::optional<topologies::Cluster> cluster;
  try {
    cluster = clusters(machine, 0);
  } catch (const sim::InputError& e) {
    trace::relocate(problems, scenario.root.get("topology")->place, e);
  }
  if (cluster && packet != nullptr) library.packet = read_packet_settings(problems, packet, cluster->network());
  problems.throw_if_any();
  return {std::move(title), std::move(machine), std::move(*cluster), std::move(library), *call};
}

}  // namespace linkcast::workloads
