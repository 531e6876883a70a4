// See cell.hpp. Bounds are refined lazily: by bytes and FLOPs for every layout that fits; by what the replay charges
// for each call for those that come to the front of the queue; then the replay itself. A bound never exceeds the replay
// (tests/planning/plan_test.cpp), so the search may stop when the best bound left is not below the worst layout kept.
#include "cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "floors.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/replay_recording.hpp"
#include "linkcast/workloads/step_bound.hpp"

namespace linkcast::planning {
namespace {

using workloads::Plan;

constexpr std::int64_t most_layouts = 1'000'000;  // of one cell: tens of seconds of counting

struct Candidate {
  sim::Time bound;
  std::size_t index = 0;
  bool refined = false;
  bool operator>(const Candidate& o) const { return bound != o.bound ? bound > o.bound : index > o.index; }
};

double peak(const models::GpuModel& gpu, workloads::Precision p) {
  return p == workloads::Precision::fp8 ? gpu.peak_fp8 : p == workloads::Precision::fp4 ? gpu.peak_fp4 : gpu.peak_bf16;
}

class Cell {
 public:
  Cell(const PlanMachine& machine, const PlanPlace& place, std::int64_t evaluations, std::size_t keep,
       const CellOptions& options)
      : machine_{machine},
        place_{place},
        evaluations_{evaluations},
        keep_{keep},
        options_{options},
        gpu_{place.cluster.machine(0).gpu_model(place.cluster.machine(0).gpus()[0])},
        costs_{std::make_shared<workloads::CallCosts>(place.cluster, machine.library)},
        wires_{place.cluster},
        calls_{*costs_, gpu_.sms} {}

  CellAnswer search() {
    count();
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    for (std::size_t i = 0; i < fit_; ++i) {
      if (stopped()) break;
      queue.push({bound(plan(i), wires_), i, false});
    }
    while (!queue.empty() && !stopped()) {
      auto next = queue.top();
      if (!options_.exhaustive && out_.found.size() == keep_ && next.bound >= out_.found.back().time) break;
      if (out_.counts.evaluated >= evaluations_) {
        out_.complete = false;
        break;
      }
      queue.pop();
      if (!next.refined) {
        next.bound = std::max(next.bound, bound(plan(next.index), calls_));
        next.refined = true;
        queue.push(next);
        continue;
      }
      replay(plan(next.index), next.bound);
      if (options_.progress) options_.progress(share_done(queue.size()));
    }
    if (stopped()) out_.complete = false;
    const auto fit = static_cast<std::int64_t>(fit_);
    if (out_.complete) {
      out_.counts.pruned_by_bound = fit - out_.counts.evaluated;
    } else {  // of those that are queued, some bounds already say enough
      const bool prunes = !options_.exhaustive && out_.found.size() == keep_;
      for (; !queue.empty(); queue.pop())
        if (prunes && queue.top().bound >= out_.found.back().time) ++out_.counts.pruned_by_bound;
      out_.counts.left = fit - out_.counts.evaluated - out_.counts.pruned_by_bound;
    }
    if (out_.found.empty() && out_.why.empty()) out_.why = stopped() ? "interrupted" : "no layout divides";
    return std::move(out_);
  }

 private:
  bool stopped() const { return options_.stop.stop_requested(); }

  void count() {
    double least = 0;
    Plan smallest;
    const double has = static_cast<double>(gpu_.memory_capacity.count());
    machine_.space->each(place_.gpus, machine_.card, gpu_, [&](Plan&& p, LayoutSpace::Path path) {
      if (++out_.counts.layouts > most_layouts)
        throw sim::InputError(
            fmt::format("'{}' with {} GPUs has more than {} layouts", machine_.name, place_.gpus, most_layouts),
            fmt::format("list fewer values of some keys of `layout`: {}", machine_.space->text()));
      const auto checked = divided(std::move(p));
      if (!checked) {
        ++out_.counts.do_not_divide;
      } else if (const double need = checked->check_memory && has > 0 ? memory_of(machine_.card, *checked).total() : 0;
                 need > has) {
        ++out_.counts.do_not_fit;
        if (least == 0 || need < least) least = need, smallest = *checked;
      } else {
        paths_.insert(paths_.end(), path.begin(), path.end());
        ++fit_;
      }
      return !stopped();
    });
    if (fit_ == 0 && least > 0)
      out_.why = fmt::format("nothing fits into memory: {} needs least, {:.1f} GB of the {:.1f} GB that {} has",
                             layout_text(smallest), least * 1e-9, has * 1e-9, gpu_.name);
  }

  /// What checked() refuses most often is found without its messages.
  std::optional<Plan> divided(Plan&& p) const {
    const std::int64_t model = std::int64_t{p.tp} * p.cp * p.pp;
    if (p.gpus % model != 0 || machine_.card.heads % p.tp != 0 || machine_.card.ffn % p.tp != 0) return std::nullopt;
    if (p.global_batch % (p.gpus / model * p.micro_batch) != 0) return std::nullopt;
    if (peak(gpu_, p.precision) <= 0) return std::nullopt;
    if (p.schedule == workloads::Schedule::dual_pipe && p.vpp > 1) return std::nullopt;
    try {
      return workloads::checked(machine_.card, std::move(p));
    } catch (const sim::InputError&) {
      return std::nullopt;
    }
  }

  Plan plan(std::size_t i) const {
    const auto n = machine_.space->keys();
    return workloads::checked(machine_.card,
                              machine_.space->at({paths_.data() + i * n, n}, place_.gpus, machine_.card, gpu_));
  }

  const workloads::ComputeEfficiency& efficiency(workloads::Precision p) {
    const auto [at, added] = efficiencies_.try_emplace(p);
    if (added) at->second = workloads::compute_efficiency(gpu_, p);
    return at->second;
  }
  sim::Time bound(const Plan& p, workloads::CallFloors& floors) {
    return workloads::step_bound(machine_.card, p, gpu_, efficiency(p.precision), floors);
  }

  void replay(const Plan& p, sim::Time bound) {
    const auto recording = workloads::step_recording(machine_.card, p, gpu_, efficiency(p.precision));
    workloads::RecordingReplayOptions o;
    o.library = machine_.library;
    o.costs = costs_;
    o.stop = options_.stop;
    const auto r = workloads::replay_recording(recording, place_.cluster, o);
    if (r.interrupted) return;
    ++out_.counts.evaluated;
    // A bound that is a little too high prunes what is as little better. One that is far off knows nothing.
    if (bound.us() > 1.01 * r.end.us())
      throw sim::InternalError(
          fmt::format("the bound of {} is {} us, its replay {} us", layout_text(p), bound.us(), r.end.us()));
    FoundLayout f;
    f.plan = p;
    f.time = r.end;
    f.bound = bound;
    f.mfu = r.mfu;
    f.tokens_per_second = r.tokens_per_second;
    f.memory_bytes = memory_of(machine_.card, p).total();
    f.notes = r.notes;
    sim::Time exposed, most;
    std::string what;
    for (const auto& [name, t] : r.critical_path) {
      if (name == "compute") continue;
      if (name != "idle") exposed += t;
      if (t > most) most = t, what = name;
    }
    f.exposed_share = r.end == sim::Time{} ? 0 : exposed.us() / r.end.us();
    f.bound_by = f.exposed_share < 0.1 ? "compute" : what == "idle" ? "bubble" : "exposed " + what;
    auto& found = out_.found;
    found.insert(std::ranges::upper_bound(found, f.time, {}, &FoundLayout::time), std::move(f));
    if (found.size() > keep_) found.pop_back();
  }

  double share_done(std::size_t left) const {
    const auto n = static_cast<double>(out_.counts.evaluated);
    return std::min(0.99, n / (n + std::min(static_cast<double>(left), 30.0)));
  }

  const PlanMachine& machine_;
  const PlanPlace& place_;
  std::int64_t evaluations_;
  std::size_t keep_;
  const CellOptions& options_;
  const models::GpuModel& gpu_;
  std::shared_ptr<workloads::CallCosts> costs_;
  WireFloors wires_;
  CallFloorsOf calls_;
  std::map<workloads::Precision, workloads::ComputeEfficiency> efficiencies_;
  std::size_t fit_ = 0;
  std::vector<std::uint32_t> paths_;  // of the layouts that fit, one behind the other
  CellAnswer out_;
};

}  // namespace

CellAnswer search_cell(const PlanMachine& machine, const PlanPlace& place, std::int64_t evaluations, std::size_t keep,
                       const CellOptions& options) {
  return Cell{machine, place, evaluations, keep, options}.search();
}

}  // namespace linkcast::planning
