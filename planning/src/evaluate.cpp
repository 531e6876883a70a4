// See evaluate.hpp.
#include "linkcast/planning/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>

#include "linkcast/calibration/cross_validation.hpp"
#include "linkcast/calibration/validate.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/flow_scenario.hpp"
#include "linkcast/workloads/scenario.hpp"

namespace linkcast::planning {
namespace {

using workloads::ScenarioFile;
using workloads::ScenarioMachine;
using workloads::WorkloadKind;

// Steps: what predictions of 457 published rows that the fit mostly never saw found (docs/step.md).
constexpr double step_median_percent = 7.6, step_p90_percent = 26;
constexpr const char* step_from = "457 published training steps";

/// The last few, by key: neighbours in a grid ask for the same ones again.
template <typename T>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_{most} {}
  template <typename Make>
  T& get(const std::string& key, Make make) {
    const auto found = std::ranges::find(items_, key, &std::pair<std::string, T>::first);
    if (found != items_.end()) {
      items_.splice(items_.begin(), items_, found);
    } else {
      items_.emplace_front(key, make());
      if (items_.size() > most_) items_.pop_back();
    }
    return items_.front().second;
  }

 private:
  std::size_t most_;
  std::list<std::pair<std::string, T>> items_;
};

std::string library_key(const workloads::CommunicatorOptions& o) {
  auto key = fmt::format("|{}|{}|{}|{}", o.nccl.str(), static_cast<int>(o.launch),
                         o.launch_floor ? o.launch_floor->ps() : -1, static_cast<int>(o.fidelity));
  for (const auto& [name, value] : o.env.all()) key += fmt::format("|{}={}", name, value);
  return key;
}

void sort_parts(std::vector<Part>& parts) {
  std::erase_if(parts, [](const Part& p) { return p.time == sim::Time{}; });
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.time > b.time; });
}

std::vector<Part> parts_of(const sim::Account& account) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < sim::cause_count; ++i)
    parts.push_back({std::string{sim::name_of(static_cast<sim::Cause>(i))}, account[static_cast<sim::Cause>(i)]});
  sort_parts(parts);
  return parts;
}

double share(sim::Time part, sim::Time whole) {
  return whole == sim::Time{} ? 0 : static_cast<double>(part.ps()) / static_cast<double>(whole.ps());
}

Trust trust_of(const calibration::ExpectedError& e) { return {e.percent, e.p90_percent, e.extrapolated, e.from}; }

std::optional<calibration::ExpectedError> error_of(const topologies::Cluster& cluster, bool between_nodes,
                                                   models::nccl::Op op, sim::Bytes size) {
  const auto& machine = cluster.machine(0);
  return calibration::expected_error(calibration::family_of(machine.name(), between_nodes),
                                     machine.gpu_model(machine.gpus()[0]).architecture, op, size);
}

void describe_machine(Evaluation& out, const topologies::Cluster& cluster, const models::nccl::Version& nccl) {
  const auto& machine = cluster.machine(0);
  out.topology = cluster.name();
  out.gpu = machine.gpu_model(machine.gpus()[0]).name;
  out.nodes = cluster.nodes();
  out.ranks = cluster.ranks();
  out.nccl = nccl.str();
}

Evaluation of_recording(const workloads::RecordedScenario& s, const workloads::RecordingResult& r) {
  Evaluation out;
  const bool step = s.recording.model_flops > 0 && s.recording.report->format == "step";
  out.kind = step ? "step" : "trace";
  describe_machine(out, s.cluster, s.options.library.nccl);
  out.ranks = s.recording.world;
  const int steps = std::max(1, s.recording.steps);
  out.time = r.end / steps;
  sim::Time communication;
  for (const auto& [name, t] : r.critical_path) {
    out.parts.push_back({name, t / steps});
    if (name != "compute" && name != "idle") communication += t / steps;
  }
  sort_parts(out.parts);
  out.exposed_share = share(communication, out.time);
  out.mfu = r.mfu;
  out.tokens_per_second = r.tokens_per_second;
  const auto exposed = std::ranges::find_if(out.parts, [](const Part& p) { return p.name != "compute"; });
  if (out.exposed_share < 0.1 || exposed == out.parts.end())
    out.bound_by = out.parts.empty() || out.parts.front().name != "idle" ? "compute" : "idle";
  else
    out.bound_by = exposed->name == "idle" ? "bubble" : "exposed " + exposed->name;
  double time = 0, middle = 0, most = 0;
  for (const auto& t : r.totals) {
    const auto op = models::nccl::op_from(t.operation == "send" ? "sendrecv" : t.operation);
    const auto e = op ? error_of(s.cluster, t.between_nodes, *op, t.bytes) : std::nullopt;
    if (!e) continue;
    time += t.time.us();
    middle += t.time.us() * e->percent;
    most += t.time.us() * e->p90_percent;
  }
  if (step)
    out.trust = trust_of_steps();
  else if (time > 0)  // computing is as it was recorded
    out.trust = {middle / time * out.exposed_share, most / time * out.exposed_share, false,
                 "the trace's own computing, and the error of its collectives"};
  out.notes = r.notes;
  return out;
}

Evaluation of_programs(const workloads::ScenarioResult& r, const topologies::Cluster& cluster) {
  Evaluation out;
  out.kind = "programs";
  describe_machine(out, cluster, models::nccl::Version::parse(r.nccl));
  out.ranks = r.ranks;
  out.time = r.end;
  out.parts = parts_of(r.account);
  if (!r.by_rank.empty()) out.exposed_share = share(r.by_rank.front().exposed, r.end);
  out.bound_by = out.parts.empty() ? "" : out.parts.front().name;
  if (!r.links.empty() && (out.bound_by == "wire" || out.bound_by == "protocol"))
    out.bound_by = "links", out.bound_link = r.links.front().name;
  return out;
}

Evaluation of_flows(const workloads::FlowScenario& s, const workloads::FlowsResult& r) {
  Evaluation out;
  out.kind = "flows";
  describe_machine(out, s.cluster, {});
  out.nccl.clear();
  out.time = r.end;
  // The network works from the first message to the last.
  out.parts.push_back({"communication", r.end});
  out.exposed_share = 1;
  out.bound_by = "links";
  if (!r.links.empty()) out.bound_link = r.links.front().name;
  out.notes = r.notes;
  return out;
}

bool has_overrides(const ScenarioFile& s) { return s.root.is_map() && s.root.get("overrides") != nullptr; }

/// What the loaders and the schedules say where nothing is left that connects a GPU with the others.
bool disconnects(std::string_view problem) {
  for (const auto* words : {"cannot reach", "no path", "every path", "nothing connects", "not reach", "no way"})
    if (problem.find(words) != std::string_view::npos) return true;
  return false;
}

}  // namespace

struct Evaluator::Impl {
  std::shared_ptr<const topologies::Profile> profile;
  std::stop_token stop;
  Recent<topologies::Cluster> clusters{8};
  Recent<std::unique_ptr<workloads::CollectiveModel>> models{4};

  topologies::Cluster cluster(const ScenarioMachine& machine, int world) {
    return clusters.get(fmt::format("{}|{}", machine.key(), world),
                        [&] { return workloads::load_machine(machine, world); });
  }
  workloads::ClusterSource source() {
    return [this](const ScenarioMachine& m, int world) { return cluster(m, world); };
  }
  CollectiveAnswer call(const std::string& key, const topologies::Cluster& on,
                        const workloads::CommunicatorOptions& library, const models::nccl::Call& call) {
    auto& model = models.get(key + library_key(library),
                             [&] { return std::make_unique<workloads::CollectiveModel>(on, library); });
    CollectiveAnswer out{call.op, model->run(call), {}};
    out.error = error_of(on, on.nodes() > 1, call.op, call.bytes);
    return out;
  }

  Evaluation run(const ScenarioFile& scenario) {
    switch (workloads::workload_kind(scenario)) {
      case WorkloadKind::collective: {
        const auto s = workloads::read_collective_scenario(scenario, profile, source());
        Evaluation out;
        out.kind = "collective";
        describe_machine(out, s.cluster, s.library.nccl);
        const auto* packet = scenario.root.get("packet");
        const auto key = s.machine.key() + (packet != nullptr ? "|" + workloads::written(*packet) : std::string{});
        out.collective = call(key, s.cluster, s.library, s.call);
        const auto& row = out.collective->row;
        out.time = row.time;
        out.parts = parts_of(row.account);
        out.bound_by = row.bound_by;
        out.bound_link = row.bound_link;
        if (out.collective->error) out.trust = trust_of(*out.collective->error);
        for (const auto& a : s.cluster.assumptions()) out.notes.push_back(a);
        return out;
      }
      case WorkloadKind::recording: {
        const auto s = workloads::read_recorded_scenario(scenario, profile, source());
        auto options = s.options;
        options.stop = stop;
        const auto r = workloads::replay_recording(s.recording, s.cluster, options);
        auto out = of_recording(s, r);
        for (const auto& a : s.cluster.assumptions()) out.notes.push_back(a);
        return out;
      }
      case WorkloadKind::flows: {
        const auto s = workloads::read_flow_scenario(scenario, profile, source());
        return of_flows(s, workloads::run_flows(s));
      }
      case WorkloadKind::programs:
        break;
    }
    workloads::ScenarioOptions options;
    options.profile = profile;
    const auto r = workloads::run_scenario_text(workloads::written_in_place(scenario.root), scenario.path, options);
    auto root = scenario.root;
    std::erase_if(root.entries, [](const auto& e) { return e.first.text == "gpus"; });
    workloads::trace::Problems problems;
    workloads::trace::Fields f{problems, root, "the scenario"};
    return of_programs(r,
                       cluster(workloads::read_machine(f, scenario.folder(), profile, workloads::read_library(f)), 0));
  }
};

Trust trust_of_steps() { return {step_median_percent, step_p90_percent, false, step_from}; }

Evaluator::Evaluator(std::shared_ptr<const topologies::Profile> profile, std::stop_token stop)
    : impl_{std::make_unique<Impl>()} {
  impl_->profile = std::move(profile);
  impl_->stop = std::move(stop);
}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;

Evaluation Evaluator::run(const ScenarioFile& scenario) {
  try {
    return impl_->run(scenario);
  } catch (const sim::InputError& e) {
    if (!has_overrides(scenario)) throw;
    for (const auto& d : e.diagnostics()) {
      if (!disconnects(d.problem)) continue;
      Evaluation out;
      out.outage = true;
      out.outage_reason = d.problem;
      return out;
    }
    throw;
  }
}

CollectiveAnswer Evaluator::collective(const ScenarioFile& scenario, models::nccl::Op op, sim::Bytes size) {
  models::nccl::Call call;
  call.op = op;
  call.bytes = size;
  workloads::trace::Problems problems;
  workloads::trace::Fields f{problems, scenario.root, "the scenario"};
  const auto library = workloads::read_library(f);
  if (workloads::workload_kind(scenario) == WorkloadKind::recording) {
    const auto s = workloads::read_recorded_scenario(scenario, impl_->profile, impl_->source());
    return impl_->call(
        fmt::format("{}|{}",
                    workloads::read_machine(f, scenario.folder(), impl_->profile, workloads::read_library(f)).key(),
                    s.recording.world),
        s.cluster, library, call);
  }
  const auto machine = workloads::read_machine(f, scenario.folder(), impl_->profile, workloads::read_library(f));
  problems.throw_if_any();
  return impl_->call(machine.key(), impl_->cluster(machine, 0), library, call);
}

topologies::Cluster Evaluator::cluster(const ScenarioFile& scenario) {
  const auto kind = workloads::workload_kind(scenario);
  if (kind == WorkloadKind::recording)
    return workloads::read_recorded_scenario(scenario, impl_->profile, impl_->source()).cluster;
  auto root = scenario.root;
  if (kind == WorkloadKind::programs)  // there `gpus` is a list: which ones of one machine take part
    std::erase_if(root.entries, [](const auto& e) { return e.first.text == "gpus"; });
  workloads::trace::Problems problems;
  workloads::trace::Fields f{problems, root, "the scenario"};
  const auto machine = workloads::read_machine(f, scenario.folder(), impl_->profile, workloads::read_library(f));
  problems.throw_if_any();
  return impl_->cluster(machine, 0);
}

ScenarioFile without_planning(const ScenarioFile& scenario) {
  auto out = scenario;
  const auto keys = workloads::planning_keys();
  std::erase_if(out.root.entries, [&](const auto& e) { return std::ranges::find(keys, e.first.text) != keys.end(); });
  return out;
}

}  // namespace linkcast::planning
