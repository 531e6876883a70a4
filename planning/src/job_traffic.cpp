// See job_traffic.hpp.
#include "job_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <variant>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/replay.hpp"
#include "linkcast/workloads/call_time.hpp"
#include "tiling.hpp"

namespace linkcast::planning {
namespace {

using models::nccl::Call;
using models::nccl::Op;
using sim::Time;
using workloads::CollectiveModel;
using workloads::Operation;

constexpr std::size_t most_phases = 6;     // of one job
constexpr std::size_t most_groups = 2048;  // communicators of one phase: about a minute of models

/// The pipelined flows of a call; several are handed over as a program of one unit for each.
std::vector<sim::PipelinedFlow> flows_of(const sim::Task& task) {
  if (const auto* flow = std::get_if<sim::PipelinedFlow>(&task.work)) return {*flow};
  std::vector<sim::PipelinedFlow> out;
  const auto* program = std::get_if<std::shared_ptr<const sim::ChunkProgram>>(&task.work);
  if (program == nullptr) return out;
  for (const auto& agent : (*program)->agents) {
    if (agent.units != 1 || !(*program)->connections.empty())
      throw sim::InternalError("interference: a collective that is no set of flows");
    sim::Unit unit;
    agent.at(0, unit);
    const auto& kind = (*program)->kinds[unit.kind];
    sim::PipelinedFlow flow;
    flow.bytes = unit.bytes;
    flow.usages = agent.local;
    flow.cap = kind.cap;
    out.push_back(std::move(flow));
  }
  return out;
}

/// Numbers of a job's resources in the whole cluster.
class Numbers {
 public:
  Numbers(const topologies::Cluster& whole, const topologies::Cluster& job, const std::vector<int>& nodes)
      : cable_here_{static_cast<std::uint32_t>(job.cable({}, true))},
        cable_there_{static_cast<std::uint32_t>(whole.cable({}, true))} {
    for (int i = 0; i < job.nodes(); ++i) {
      here_.push_back(static_cast<std::uint32_t>(job.resource(i, sim::ResourceId{0})));
      there_.push_back(
          static_cast<std::uint32_t>(whole.resource(nodes[static_cast<std::size_t>(i)], sim::ResourceId{0})));
    }
  }
  sim::ResourceId operator()(sim::ResourceId id) const {
    const auto r = static_cast<std::uint32_t>(id);
    if (r >= cable_here_) return sim::ResourceId{r - cable_here_ + cable_there_};
    const auto node = static_cast<std::size_t>(std::ranges::upper_bound(here_, r) - here_.begin()) - 1;
    return sim::ResourceId{r - here_[node] + there_[node]};
  }
  bool cable(sim::ResourceId whole) const { return static_cast<std::uint32_t>(whole) >= cable_there_; }

 private:
  std::uint32_t cable_here_, cable_there_;
  std::vector<std::uint32_t> here_, there_;
};

/// Ranks of a job's world on their nodes, as GroupCosts of the replay takes them: the GPUs of the fullest node on each.
struct GroupShape {
  std::vector<int> nodes, gpus;  // of the job; of a machine
};
GroupShape shape_of(const std::vector<int>& ranks, int per_node) {
  GroupShape out;
  std::map<int, std::vector<int>> gpus;
  for (const int r : ranks) {
    auto& g = gpus[r / per_node];
    if (g.empty()) out.nodes.push_back(r / per_node);
    g.push_back(r % per_node);
  }
  out.gpus = gpus[*std::ranges::max_element(out.nodes, {}, [&](int n) { return gpus[n].size(); })];
  return out;
}

}  // namespace

struct JobTraffic::Impl {
  const topologies::Cluster& whole;
  const sim::ResourceTable& resources;
  const Job& job;
  std::vector<int> nodes;
  std::size_t number;
  ChoiceCache& choices;
  std::stop_token stop;
  topologies::Cluster cluster;
  workloads::CommunicatorOptions library;
  Phases phases;
  Time alone;
  std::vector<std::string> notes;
  std::unique_ptr<CollectiveModel> model;  // of a collective job
  Time kernel;

  Impl(const topologies::Cluster& w, const sim::ResourceTable& r, workloads::CommunicatorOptions l, const Job& j,
       std::vector<int> n, std::size_t i, ChoiceCache& c, std::stop_token s)
      : whole{w},
        resources{r},
        job{j},
        nodes{std::move(n)},
        number{i},
        choices{c},
        stop{std::move(s)},
        cluster{w.job(nodes)},
        library{std::move(l)} {
    if (job.call)
      of_collective();
    else
      of_recording();
  }

  CollectiveModel model_of(topologies::Cluster c, std::vector<int> gpus) {
    auto options = library;
    if (whole.kinds() > 1) return {std::move(c), std::move(options)};
    gpus.push_back(c.nodes());
    auto& chosen = choices[{number, gpus}];
    options.chosen = chosen;
    CollectiveModel out{std::move(c), std::move(options)};
    chosen = out.chosen();
    return out;
  }

  /// Flows of calls that run side by side, at the rates that they have then.
  class SideBySide {
   public:
    explicit SideBySide(const Impl& impl) : impl_{impl}, network_{impl.resources} {}
    void add(const sim::Task& task, const topologies::Cluster& cluster, const std::vector<int>& nodes) {
      const Numbers numbers{impl_.whole, cluster, nodes};
      for (auto& flow : flows_of(task)) {
        if (flow.usages.empty() || flow.bytes <= sim::Bytes{}) continue;
        for (auto& u : flow.usages) u.resource = numbers(u.resource);
        const auto id = network_.start(Time{}, flow.usages, flow.bytes, flow.cap);
        std::erase_if(flow.usages, [&](const auto& u) { return !numbers.cable(u.resource); });
        flows_.push_back({std::move(flow.usages), flow.bytes, id});
      }
    }
    std::vector<PhaseFlow> take() {
      std::vector<PhaseFlow> out;
      for (auto& f : flows_) {
        const auto rate = static_cast<double>(network_.rate(f.id).bytes_per_second());
        PhaseFlow flow{std::move(f.cables), static_cast<double>(f.bytes.count()) / rate};
        for (auto& u : flow.load) u.weight *= rate;
        out.push_back(std::move(flow));
      }
      return out;
    }

   private:
    struct Flow {
      std::vector<sim::Usage> cables;
      sim::Bytes bytes;
      sim::FlowId id;
    };
    const Impl& impl_;
    sim::FluidNetwork network_;
    std::vector<Flow> flows_;
  };

  void of_collective() {
    std::vector<int> gpus;
    model = std::make_unique<CollectiveModel>(model_of(cluster, gpus));
    const auto& call = *job.call;
    alone = model->run(call).time;
    const auto task = model->task(call);
    kernel = sim::replay(cluster.resources(), task).end;
    if (cluster.nodes() < 2) return;
    SideBySide together{*this};
    together.add(task, cluster, nodes);
    TrafficPhase phase;
    phase.operation = name_of(call.op);
    phase.flows = together.take();
    const double share = alone == Time{} ? 0 : phase.seconds() / alone.seconds();
    phase.on_wire = phase.occupancy = std::min(1.0, share);
    phases.push_back(std::move(phase));
  }

  /// Calls of one kind between nodes, as they were replayed.
  struct Kind {
    struct Instance {  // one communicator, or two ranks with messages
      const workloads::RecordedCommunicator* communicator;
      std::pair<int, int> members{-1, -1};  // who sends, who receives
      auto operator<=>(const Instance&) const = default;
    };
    std::map<std::pair<Instance, int>, Time> busy;  // by instance and recorded rank of it
    struct Size {
      Time time;
      std::int64_t calls = 0;
    };
    std::map<std::pair<std::int64_t, int>, Size> by_size;  // bytes, root
    Op op = Op::sendrecv;
  };
  using Kinds = std::map<std::pair<std::string, std::string>, Kind>;

  workloads::RecordingResult replay(workloads::RecordingReplayOptions options) const {
    options.stop = stop;
    return workloads::replay_recording(job.recorded->recording, cluster, options);
  }

  void of_recording() {
    Kinds kinds;
    auto options = job.recorded->options;
    const int per_node = cluster.gpus_per_node();
    options.each = [&](const workloads::ReplayedOperation& x) {
      if (x.communicator == nullptr || x.operation->bytes <= sim::Bytes{}) return;
      const auto& ranks = x.communicator->ranks;
      const auto& o = *x.operation;
      const bool message = o.kind != Operation::Kind::collective;
      Kind::Instance instance{x.communicator, {}};
      if (message) {
        const int peer = ranks[static_cast<std::size_t>(o.peer)];
        if (peer / per_node == x.rank / per_node) return;
        const auto me = static_cast<int>(std::ranges::find(ranks, x.rank) - ranks.begin());
        instance.members = o.kind == Operation::Kind::send ? std::pair{me, o.peer} : std::pair{o.peer, me};
      } else if (std::ranges::all_of(ranks, [&](int r) { return r / per_node == ranks[0] / per_node; })) {
        return;
      }
      const auto& label = x.communicator->description.empty() ? x.communicator->name : x.communicator->description;
      auto& kind = kinds[{label, message ? std::string{"send"} : std::string{name_of(o.op)}}];
      const auto time = x.end - x.start;
      kind.busy[{instance, x.rank}] += time;
      auto& size = kind.by_size[{o.bytes.count(), o.root}];
      size.time += time;
      ++size.calls;
      if (!message) kind.op = o.op;
    };
    const auto result = replay(std::move(options));
    alone = result.end;
    for (const auto& n : result.notes) notes.push_back(n);
    for (const auto& [name, kind] : kinds) add_phase(name, kind);
    std::ranges::stable_sort(phases, [](const auto& a, const auto& b) { return a.occupancy > b.occupancy; });
    double left_out = 0;
    for (std::size_t i = most_phases; i < phases.size(); ++i) left_out += phases[i].occupancy;
    if (phases.size() > most_phases) phases.resize(most_phases);
    if (left_out > 0.01)
      notes.push_back(fmt::format("{}: kinds of communication that take {:.1f} % of its time are taken as undisturbed",
                                  job.name, 100 * left_out));
  }

  void add_phase(const std::pair<std::string, std::string>& name, const Kind& kind) {
    // The size that takes most of the time stands for all.
    const auto& [usual, size] =
        *std::ranges::max_element(kind.by_size, {}, [](const auto& x) { return x.second.time; });
    Call call;
    call.op = kind.op;
    call.bytes = sim::Bytes{usual.first};
    call.root = usual.second;
    // Every instance once, with the longest of its ranks' times; then the mean over instances.
    std::map<Kind::Instance, Time> instances;
    for (const auto& [key, time] : kind.busy) instances[key.first] = std::max(instances[key.first], time);
    Time sum;
    std::set<const workloads::RecordedCommunicator*> communicators;
    for (const auto& [instance, time] : instances) sum += time, communicators.insert(instance.communicator);

    std::vector<const workloads::RecordedCommunicator*> in_order;
    std::vector<std::vector<int>> ranks;
    for (const auto& c : job.recorded->recording.communicators)
      if (communicators.contains(&c)) in_order.push_back(&c), ranks.push_back(c.ranks);
    const auto tiling = tile(ranks, job.recorded->recording.world);
    std::vector<std::vector<int>> groups;
    for (std::size_t g = 0; g < tiling.groups.size(); ++g) {
      if (name.second != "send") {
        groups.push_back(tiling.groups[g]);
        continue;
      }
      for (const auto& [instance, time] : instances)
        if (instance.communicator == in_order[tiling.of[g]])
          groups.push_back({tiling.groups[g][static_cast<std::size_t>(instance.members.first)],
                            tiling.groups[g][static_cast<std::size_t>(instance.members.second)]});
    }
    if (groups.size() > most_groups) {
      notes.push_back(fmt::format("{}: {} {} of {} groups is taken as undisturbed: more than {}", job.name, name.first,
                                  name.second, groups.size(), most_groups));
      return;
    }
    SideBySide together{*this};
    for (const auto& group : groups) {
      const auto shape = shape_of(group, cluster.gpus_per_node());
      if (shape.nodes.size() < 2) continue;
      const auto m = model_of(cluster.job(shape.nodes, shape.gpus), shape.gpus);
      std::vector<int> in_whole;
      for (const int n : shape.nodes) in_whole.push_back(nodes[static_cast<std::size_t>(n)]);
      together.add(m.task(call), m.cluster(), in_whole);
    }
    TrafficPhase phase;
    phase.communicator = name.first;
    phase.operation = name.second;
    phase.flows = together.take();
    const double each = size.time.seconds() / static_cast<double>(size.calls);
    phase.on_wire = each > 0 ? std::min(1.0, phase.seconds() / each) : 0;
    phase.occupancy = alone == Time{} ? 0
                                      : phase.on_wire * static_cast<double>(sum.ps()) /
                                            static_cast<double>(alone.ps()) / static_cast<double>(instances.size());
    if (phase.occupancy > 0) phases.push_back(std::move(phase));
  }

  Time time(const std::vector<double>& stretch) const {
    if (std::ranges::all_of(stretch, [](double s) { return s == 1; })) return alone;
    if (job.call) {
      const auto more = Time::from_us(phases[0].seconds() * 1e6 * (stretch[0] - 1));
      return workloads::call_time(*model, job.call->op, kernel + more);
    }
    auto options = job.recorded->options;
    for (std::size_t q = 0; q < phases.size(); ++q)
      options.stretch[{phases[q].communicator, phases[q].operation}] = 1 + phases[q].on_wire * (stretch[q] - 1);
    return replay(std::move(options)).end;
  }
};

JobTraffic::JobTraffic(const topologies::Cluster& whole, const sim::ResourceTable& resources,
                       const workloads::CommunicatorOptions& library, const Job& job, std::vector<int> nodes,
                       std::size_t number, ChoiceCache& choices, std::stop_token stop)
    : impl_{
          std::make_unique<Impl>(whole, resources, library, job, std::move(nodes), number, choices, std::move(stop))} {}
JobTraffic::~JobTraffic() = default;
JobTraffic::JobTraffic(JobTraffic&&) noexcept = default;

const Phases& JobTraffic::phases() const { return impl_->phases; }
Time JobTraffic::alone() const { return impl_->alone; }
Time JobTraffic::time(const std::vector<double>& stretch) const { return impl_->time(stretch); }
const std::vector<int>& JobTraffic::nodes() const { return impl_->nodes; }
const std::vector<std::string>& JobTraffic::notes() const { return impl_->notes; }

}  // namespace linkcast::planning
