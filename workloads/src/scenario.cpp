// `linkcast run`, see scenario.hpp: reads, checks the whole trace without simulating it, then replays it. All
// communicators are slices of one fabric, so that they share its links.
#include "linkcast/workloads/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "launch.hpp"
#include "linkcast/workloads/trace_fields.hpp"
#include "scenario_clock.hpp"
#include "scenario_issue.hpp"
#include "scenario_read.hpp"

namespace linkcast::workloads {
namespace {

using models::nccl::Call;
using sim::Cause;
using sim::Time;
using trace::IssuedTask;
using Kind = IssuedTask::Kind;

constexpr std::size_t most_prepared = 4'096;  // different calls that are kept as tasks

/// The communicators of a trace and their calls as tasks, each made once.
class Calls {
 public:
  Calls(const trace::Scenario& scenario, bool fold) : scenario_{scenario} {
    options_ = scenario.options;
    options_.fold = fold;
    // One network for all, whose numbers are those of every slice of the machine.
    if (options_.fidelity == Fidelity::packet && !options_.packets)
      options_.packets = std::make_shared<const Packets>(topologies::Cluster{scenario.fabric}, options_.packet);
    models_.resize(scenario.trace.communicators.size());
  }

  struct Prepared {
    sim::Task task;
    std::string algorithm, protocol;
  };

  /// What is wrong with the call goes to `problems`; null then.
  const Prepared* prepare(int communicator, const TraceOp& op, trace::Problems& problems) {
    const auto& c = op.call;
    const Key key{communicator,    static_cast<int>(c.op),
                  c.bytes.count(), c.dtype,
                  c.root,          (c.in_place ? 1 : 0) + (c.registered ? 2 : 0) + (c.symmetric_windows ? 4 : 0)};
    if (const auto found = prepared_.find(key); found != prepared_.end()) return &found->second;
    const auto* model = model_of(communicator, problems);
    if (model == nullptr) return nullptr;
    if (prepared_.size() >= most_prepared) prepared_.clear();
    try {
      Prepared p;
      p.task = model->task(op.call);
      const auto slash = p.task.label.find('/');
      p.algorithm = p.task.label.substr(0, slash);
      p.protocol = slash == std::string::npos ? "" : p.task.label.substr(slash + 1);
      return &prepared_.emplace(key, std::move(p)).first->second;
    } catch (const sim::InputError& e) {
      trace::relocate(problems, op.place, e);
      return nullptr;
    }
  }

  const Packets* packets() const { return options_.packets.get(); }

  /// A name that lives as long as this.
  std::string_view kept(const std::string& name) { return *names_.insert(name).first; }

  Time launch(int communicator, models::nccl::Op op) const {
    if (options_.launch_floor) return *options_.launch_floor;
    const auto ranks = scenario_.trace.communicators[static_cast<std::size_t>(communicator)].ranks.size();
    return launch_floor(scenario_.fabric.host(), options_.launch, static_cast<int>(ranks), op, static_cast<int>(ranks));
  }

 private:
  using Key = std::tuple<int, int, std::int64_t, std::string, int, int>;

  const CollectiveModel* model_of(int communicator, trace::Problems& problems) {
    auto& slot = models_[static_cast<std::size_t>(communicator)];
    const auto& c = scenario_.trace.communicators[static_cast<std::size_t>(communicator)];
    if (!slot.tried) {
      slot.tried = true;
      try {
        slot.model.emplace(scenario_.fabric.slice(c.ranks), options_);
      } catch (const sim::InputError& e) {
        trace::relocate(problems, c.place.source ? c.place : scenario_.topology_place, e);
      }
    }
    return slot.model ? &*slot.model : nullptr;
  }

  struct Slot {
    bool tried = false;
    std::optional<CollectiveModel> model;
  };
  const trace::Scenario& scenario_;
  CommunicatorOptions options_;
  std::vector<Slot> models_;
  std::map<Key, Prepared> prepared_;
  std::set<std::string> names_;
};

/// Turns what is issued into the replay's tasks, one at a time.
class Source final : public sim::TaskSource {
 public:
  Source(const trace::Scenario& scenario, TraceReader& reader, trace::HostKind host, Calls& calls,
         trace::RankClock& clock)
      : scenario_{scenario}, calls_{calls}, clock_{clock}, issuer_{scenario.trace, reader, host, problems_} {
    issuer_.follow(&clock.in_flight());
  }

  std::optional<sim::Task> next() override {
    IssuedTask issued;
    const bool any = issuer_.next(issued);
    problems_.throw_if_any();
    if (!any) return std::nullopt;
    sim::Task task;
    std::string_view algorithm, protocol;
    switch (issued.kind) {
      case Kind::compute:
        task.work = sim::Compute{issued.op->duration};
        task.label = issued.op->name.empty() ? "compute" : issued.op->name;
        break;
      case Kind::launch: {
        sim::PipelinedFlow host;
        host.fixed.add(Cause::launch, calls_.launch(issued.meeting->communicator, issued.op->call.op));
        task.work = std::move(host);
        task.label = "launch";
        break;
      }
      case Kind::arrival:
        task.label = "arrival";
        break;
      case Kind::barrier:
        task.label = "barrier";
        break;
      case Kind::collective: {
        const auto* prepared = calls_.prepare(issued.meeting->communicator, *issued.op, problems_);
        problems_.throw_if_any();
        task = prepared->task;
        task.label = issued.op->name.empty() ? std::string{name_of(issued.op->call.op)} : issued.op->name;
        algorithm = calls_.kept(prepared->algorithm);
        protocol = calls_.kept(prepared->protocol);
        break;
      }
    }
    task.id = issued.id;
    task.lane = std::max(issued.rank, 0);
    task.after = issued.after;
    clock_.expect(std::move(issued), algorithm, protocol);
    return task;
  }

 private:
  const trace::Scenario& scenario_;
  Calls& calls_;
  trace::RankClock& clock_;
  trace::Problems problems_;
  trace::Issuer issuer_;
};

void check(const trace::Scenario& scenario, trace::HostKind host, Calls& calls, std::int64_t operations) {
  trace::Problems problems;
  {
    const auto reader = scenario.trace.open();
    trace::Issuer issuer{scenario.trace, *reader, host, problems};
    IssuedTask task;
    while (issuer.operations() < operations && !problems.full() && issuer.next(task)) {
      if (task.kind == Kind::collective) calls.prepare(task.meeting->communicator, *task.op, problems);
    }
  }
  problems.throw_if_any();
}

trace::HostKind host_of(const trace::Scenario& scenario, const Calls& calls) {
  if (calls.launch(0, models::nccl::Op::all_reduce) == Time{}) return trace::HostKind::none;
  return scenario.options.launch == models::LaunchMode::single_process ? trace::HostKind::shared
                                                                       : trace::HostKind::per_rank;
}

ScenarioResult run(const trace::Source& file, const ScenarioOptions& options) {
  const auto scenario = trace::read_scenario(file, options.set, options.profile);
  Calls calls{scenario, options.fold};
  const auto host = host_of(scenario, calls);
  check(scenario, host, calls, options.checked_operations);

  trace::RankClock clock{scenario.trace, options};
  const auto reader = scenario.trace.open();
  Source source{scenario, *reader, host, calls, clock};
  const auto resources = scenario.fabric.resources();
  sim::ReplayOptions replay;
  replay.fold = options.fold;
  if (calls.packets() != nullptr) replay.packets = &calls.packets()->setting();
  replay.observers.push_back(&clock);
  const auto replayed = sim::replay(resources, source, replay);

  ScenarioResult result;
  result.title = scenario.title;
  result.topology = scenario.fabric.name();
  result.architecture = scenario.fabric.gpu_model(scenario.fabric.gpus()[0]).architecture;
  result.nccl = scenario.options.nccl.str();
  result.fidelity = scenario.options.fidelity;
  result.ranks = scenario.trace.ranks;
  result.end = replayed.end;
  result.account = replayed.account;
  clock.report(result);
  for (auto& r : result.by_rank) {
    const auto gpu = scenario.fabric.gpus()[static_cast<std::size_t>(r.rank)];
    r.gpu = scenario.fabric.devices()[static_cast<std::size_t>(gpu)].name;
  }
  result.links = sim::link_use(resources, replayed);
  result.tasks = replayed.tasks;
  result.events = replayed.events;
  return result;
}

}  // namespace

ScenarioResult run_scenario(const std::string& path, const ScenarioOptions& options) {
  return run(trace::read_source(path, "put the trace into a file of its own, as JSON Lines"), options);
}

ScenarioResult run_scenario_text(std::string text, const std::string& where, const ScenarioOptions& options) {
  return run(std::make_shared<const SourceText>(SourceText{where, std::move(text)}), options);
}

void check_scenario_text(std::string text, const std::string& where, const ScenarioOptions& options) {
  const auto scenario =
      trace::read_scenario(std::make_shared<const SourceText>(SourceText{where, std::move(text)}), options.set);
  Calls calls{scenario, options.fold};
  check(scenario, host_of(scenario, calls), calls, options.checked_operations);
}

}  // namespace linkcast::workloads
