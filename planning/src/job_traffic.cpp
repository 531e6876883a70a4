// See job_traffic.hpp.
#include "job_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <variant>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/replay.hpp"
#include "linkcast/workloads/call_time.hpp"
#include "recorded_calls.hpp"

namespace linkcast::planning {
namespace {

using sim::Time;
using workloads::CollectiveModel;

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
  /// A replay times one communicator of a kind, with those on the same nodes. What the others of the job do to it,
  /// where they share uplinks, is added here.
  struct Own {
    double on_wire = 1;  // share of a replayed call in which its bytes flow
    double stretch = 1;  // of the bytes, by all communicators of the job at once
  };
  std::vector<Own> own;  // by phase
  Time plain;            // the replay without that

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

  workloads::RecordingResult replay(workloads::RecordingReplayOptions options) const {
    options.stop = stop;
    // All communicators are laid over the network here: the replay must not guess at what they share.
    if (!costs) costs = std::make_shared<workloads::CallCosts>(cluster, options.library, false);
    options.costs = costs;
    return workloads::replay_recording(job.recorded->recording, cluster, options);
  }
  mutable std::shared_ptr<workloads::CallCosts> costs;

  void of_recording() {
    CallCollector calls{job.recorded->recording, cluster.gpus_per_node()};
    auto options = job.recorded->options;
    options.each = [&](const workloads::ReplayedOperation& x) { calls.see(x); };
    const auto result = replay(std::move(options));
    plain = alone = result.end;
    for (const auto& n : result.notes) notes.push_back(n);
    std::vector<std::pair<TrafficPhase, Own>> found;
    for (const auto& c : calls.calls()) add_phase(c, found);
    std::ranges::stable_sort(found, [](const auto& x, const auto& y) { return x.first.occupancy > y.first.occupancy; });
    double left_out = 0;
    for (std::size_t i = most_phases; i < found.size(); ++i) left_out += found[i].first.occupancy;
    if (found.size() > most_phases) found.resize(most_phases);
    if (left_out > 0.01)
      notes.push_back(fmt::format("{}: kinds of communication that take {:.1f} % of its time are taken as undisturbed",
                                  job.name, 100 * left_out));
    for (auto& [phase, o] : found) phases.push_back(std::move(phase)), own.push_back(o);
    if (std::ranges::all_of(own, [](const Own& o) { return o.stretch == 1; })) return;
    alone = replay(stretched(std::vector<double>(phases.size(), 1))).end;
    for (auto& p : phases) p.occupancy = std::min(1.0, p.occupancy * plain.seconds() / alone.seconds());
    if (const double longer = alone.seconds() / plain.seconds(); longer > 1.001)
      notes.push_back(
          fmt::format("{}: its own communicators share uplinks: alone it takes {:.1f} % longer than "
                      "`linkcast run` says of its workload, which times one of them",
                      job.name, 100 * (longer - 1)));
  }

  void add_phase(const RecordedCalls& calls, std::vector<std::pair<TrafficPhase, Own>>& found) {
    if (calls.all.size() > most_groups) {
      notes.push_back(fmt::format("{}: {} {} of {} groups is taken as undisturbed: more than {}", job.name,
                                  calls.communicator, calls.operation, calls.all.size(), most_groups));
      return;
    }
    const int per_node = cluster.gpus_per_node();
    std::set<std::vector<int>> recorded;  // nodes of the groups whose time the replay knows
    for (const auto& group : calls.recorded) recorded.insert(shape_of(group, per_node).nodes);
    SideBySide together{*this}, counted{*this};
    for (const auto& group : calls.all) {
      const auto shape = shape_of(group, per_node);
      if (shape.nodes.size() < 2) continue;
      const auto m = model_of(cluster.job(shape.nodes, shape.gpus), shape.gpus);
      std::vector<int> in_whole;
      for (const int n : shape.nodes) in_whole.push_back(nodes[static_cast<std::size_t>(n)]);
      const auto task = m.task(calls.usual);
      together.add(task, m.cluster(), in_whole);
      if (recorded.contains(shape.nodes)) counted.add(task, m.cluster(), in_whole);
    }
    TrafficPhase phase;
    phase.communicator = calls.communicator;
    phase.operation = calls.operation;
    phase.flows = together.take();
    TrafficPhase alike;
    alike.flows = counted.take();
    const double here = alike.seconds(), all = phase.seconds();
    if (here <= 0 || calls.call_seconds <= 0 || plain == Time{}) return;
    Own o;
    o.on_wire = std::min(1.0, here / calls.call_seconds);
    o.stretch = std::max(1.0, all / here);
    const double longer = 1 + o.on_wire * (o.stretch - 1);  // a call, in the company of all groups
    phase.on_wire = std::min(1.0, all / (calls.call_seconds * longer));
    phase.occupancy = phase.on_wire * longer * calls.busy_seconds / plain.seconds();
    if (phase.occupancy > 0) found.emplace_back(std::move(phase), o);
  }

  /// Options of a replay in which the bytes of each phase take so many times as long as alone.
  workloads::RecordingReplayOptions stretched(const std::vector<double>& stretch) const {
    auto options = job.recorded->options;
    for (std::size_t q = 0; q < phases.size(); ++q)
      options.stretch[{phases[q].communicator, phases[q].operation}] =
          1 + own[q].on_wire * (own[q].stretch * stretch[q] - 1);
    return options;
  }

  Time time(const std::vector<double>& stretch) const {
    if (std::ranges::all_of(stretch, [](double s) { return s == 1; })) return alone;
    if (job.call) {
      const auto more = Time::from_us(phases[0].seconds() * 1e6 * (stretch[0] - 1));
      return workloads::call_time(*model, job.call->op, kernel + more);
    }
    return replay(stretched(stretch)).end;
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
