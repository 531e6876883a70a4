// See fault_run.hpp. Time goes from one event to the next: a fault begins or ends, a checkpoint is due or written, a
// stall or a restart is over. Between two of them the job trains at one speed or stands still, so that progress is a
// product and a step during which something changes is counted by its parts.
#include "linkcast/planning/fault_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "linkcast/sim/diagnostic.hpp"
#include "quantities.hpp"

namespace linkcast::planning {
namespace {

using sim::Time;

constexpr const char *lost_slower = "slower steps", *lost_stall = "stalls", *lost_checkpoint = "writing checkpoints",
                     *lost_again = "work done again", *lost_down = "waiting for the repair",
                     *lost_restart = "detection and restart";

bool stalls(const Fault& f) {
  if (f.kind != FaultKind::fail) return false;
  switch (f.element.kind) {
    case ElementKind::gpu:
    case ElementKind::node:
      return false;
    default:
      return true;
  }
}

class Player {
 public:
  Player(std::span<const Fault> faults, const RunLimits& limits, const Reliability& reliability,
         const std::function<StateSpeed(const std::vector<std::size_t>&)>& speed)
      : faults_{faults}, limits_{limits}, reliability_{reliability}, speed_{speed}, replaced_(faults.size(), false) {}

  FaultRun play() {
    sound_ = speed_({}).step;
    out_.sound_step = sound_;
    spares_ = reliability_.spares.value_or(std::numeric_limits<int>::max());  // not said: as many as it takes
    if (limits_.steps && *limits_.steps * static_cast<double>(sound_.ps()) > static_cast<double>(longest_span.ps()))
      too_long();
    begin_state();
    while (!over()) advance();
    out_.steps = kept_ + fresh_;
    out_.duration = now_;
    for (const auto* name : {lost_slower, lost_stall, lost_checkpoint, lost_again, lost_down, lost_restart})
      if (lost_[name] > Time{}) out_.lost.emplace_back(name, lost_[name]);
    std::ranges::stable_sort(out_.lost, [](const auto& a, const auto& b) { return a.second > b.second; });
    return std::move(out_);
  }

 private:
  enum class Phase { training, writing, stalled, down, restarting };

  bool over() const {
    if (!out_.finished) return true;
    if (limits_.duration) return now_ >= *limits_.duration;
    return reached_;
  }
  bool active(std::size_t i) const {
    const auto& f = faults_[i];
    if (replaced_[i]) return false;
    const auto begin = f.at.value_or(Time{});
    return begin <= now_ && (!f.lasts || now_ < later(begin, *f.lasts));
  }
  std::vector<std::size_t> active() const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < faults_.size(); ++i)
      if (active(i)) out.push_back(i);
    return out;
  }
  const StateSpeed& state() {
    auto [at, fresh] = known_.try_emplace(active());
    if (fresh) at->second = speed_(at->first);
    return at->second;
  }
  /// When a fault begins or ends next.
  std::optional<Time> next_change() const {
    std::optional<Time> out;
    const auto offer = [&](Time t) {
      if (t > now_ && (!out || t < *out)) out = t;
    };
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      if (replaced_[i]) continue;
      const auto begin = faults_[i].at.value_or(Time{});
      offer(begin);
      if (faults_[i].lasts) offer(later(begin, *faults_[i].lasts));
    }
    return out;
  }

  void note(Time to, std::string what, Time step = {}) {
    if (to == now_) return;
    auto& spans = out_.spans;
    if (phase_ == Phase::writing && !spans.empty()) {  // a part of training, or there would be no end of them
      spans.back().to = to;
      return;
    }
    if (!spans.empty() && spans.back().what == what && spans.back().step == step)
      spans.back().to = to;
    else
      spans.push_back({now_, to, std::move(what), step});
  }

  /// The machine is another than before.
  void begin_state() {
    if (state().outage) {
      if (phase_ != Phase::down) go_down();
      return;
    }
    if (phase_ == Phase::down) {
      phase_ = Phase::restarting;
      until_ = later(later(now_, reliability_.detection_time), reliability_.restart_time);
      return;
    }
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const auto& f = faults_[i];
      if (!f.at || *f.at != now_ || now_ == Time{} || !active(i)) continue;
      const auto stall = f.stall.value_or(stalls(f) ? relink_time : Time{});
      if (stall == Time{} || phase_ == Phase::restarting) continue;
      // A checkpoint that was being written is begun again.
      if (phase_ == Phase::writing) since_checkpoint_ = *reliability_.checkpoint_interval;
      until_ = phase_ == Phase::stalled ? std::max(until_, later(now_, stall)) : later(now_, stall);
      phase_ = Phase::stalled;
      why_ = to_text(f);
    }
  }

  void go_down() {
    // What was not saved is lost. Its time was useful until now; from here on it is not.
    const auto useless = Time::picoseconds(std::llround(fresh_ * static_cast<double>(sound_.ps())));
    lost_[lost_again] += useless;
    fresh_ = 0;
    since_checkpoint_ = Time{};
    why_ = state().reason;
    // A spare takes the place of a node that failed, or whose GPU did: the fault is gone from the job.
    for (const auto i : active()) {
      const auto& f = faults_[i];
      const bool of_node =
          f.kind == FaultKind::fail && (f.element.kind == ElementKind::gpu || f.element.kind == ElementKind::node);
      if (of_node && spares_ > 0) {
        --spares_;
        replaced_[i] = true;
      }
    }
    if (state().outage) {
      phase_ = Phase::down;
      return;
    }
    phase_ = Phase::restarting;
    until_ = later(later(now_, reliability_.detection_time), reliability_.restart_time);
  }

  void advance() {
    auto to = next_change();
    const auto sooner = [&](Time t) {
      if (!to || t < *to) to = t;
    };
    if (limits_.duration) sooner(*limits_.duration);
    std::optional<Time> due;
    const auto& s = state();
    switch (phase_) {
      case Phase::down:
        if (!to) {
          out_.finished = false;
          return;
        }
        note(*to, "down: " + why_);
        lost_[lost_down] += *to - now_;
        break;
      case Phase::restarting:
      case Phase::stalled:
      case Phase::writing: {
        due = until_;
        sooner(until_);
        const auto* cause = phase_ == Phase::stalled   ? lost_stall
                            : phase_ == Phase::writing ? lost_checkpoint
                                                       : lost_restart;
        note(*to, phase_ == Phase::stalled ? "stall: " + why_ : phase_ == Phase::writing ? "checkpoint" : "restart");
        lost_[cause] += *to - now_;
        break;
      }
      case Phase::training: {
        if (reliability_.checkpoint_interval) {
          due = later(now_, *reliability_.checkpoint_interval - since_checkpoint_);
          sooner(*due);
        }
        if (limits_.steps) {
          const double left = (*limits_.steps - kept_ - fresh_) * static_cast<double>(s.step.ps());
          const auto end = left > static_cast<double>((longest_span - now_).ps())
                               ? Time::max()
                               : now_ + Time::picoseconds(static_cast<std::int64_t>(std::ceil(left)));
          if (!to || end <= *to) {
            to = end;
            reached_ = true;
          }
        }
        note(*to, "training", s.step);
        const auto spent = *to - now_;
        const double steps = static_cast<double>(spent.ps()) / static_cast<double>(s.step.ps());
        fresh_ += steps;
        since_checkpoint_ += spent;
        const auto useful = Time::picoseconds(std::llround(steps * static_cast<double>(sound_.ps())));
        lost_[lost_slower] += spent - useful;
        break;
      }
    }
    if (limits_.steps && *to > longest_span) too_long();
    now_ = *to;
    if (due && now_ == *due) finish_phase();
    begin_state();
  }

  [[noreturn]] void too_long() const {
    throw sim::InputError(
        fmt::format("{:.0f} steps of {:.3g} s take {:.3g} days at least and do not end within {}", *limits_.steps,
                    sound_.seconds(), *limits_.steps * sound_.seconds() / 86'400, span_text(longest_span)),
        "write fewer `steps`, or how long to look: `duration: 30 days`");
  }

  void finish_phase() {
    switch (phase_) {
      case Phase::training:
        since_checkpoint_ = Time{};
        phase_ = Phase::writing;
        until_ = later(now_, reliability_.checkpoint_time);
        if (reliability_.checkpoint_time == Time{}) finish_phase();
        return;
      case Phase::writing:
        kept_ += fresh_;
        fresh_ = 0;
        phase_ = Phase::training;
        return;
      case Phase::stalled:
      case Phase::restarting:
        phase_ = Phase::training;
        return;
      case Phase::down:
        return;
    }
  }

  std::span<const Fault> faults_;
  const RunLimits& limits_;
  const Reliability& reliability_;
  const std::function<StateSpeed(const std::vector<std::size_t>&)>& speed_;
  std::vector<bool> replaced_;
  std::map<std::vector<std::size_t>, StateSpeed> known_;
  std::map<std::string, Time> lost_;
  FaultRun out_;
  Phase phase_ = Phase::training;
  Time now_, until_, since_checkpoint_, sound_;
  double kept_ = 0, fresh_ = 0;  // steps: saved, and since the last checkpoint
  int spares_ = 0;
  std::string why_;
  bool reached_ = false;
};

std::optional<RunLimits> limits_of(const workloads::ScenarioFile& s, workloads::trace::Problems& problems) {
  RunLimits out;
  const auto before = problems.count();
  if (const auto* v = s.root.get("duration")) out.duration = span_of(problems, *v, "duration", false);
  if (const auto* v = s.root.get("steps"))
    if (const auto n = workloads::trace::integer_of(problems, *v, "steps", 1, 1'000'000'000'000)) out.steps = *n;
  if (problems.count() > before) return std::nullopt;
  if (out.duration && out.steps)
    problems.add(*s.root.get("steps"), "'steps' and 'duration' together", "keep one of them");
  if (!out.duration && !out.steps)
    problems.add(*s.root.get("faults"), "faults at a time need a run that lasts",
                 "say `duration: 1 h` or `steps: 1000`");
  return out;
}

/// By what the whole run comes to. `sound`: without faults.
std::vector<Judged> judged(const FaultRun& run, const Evaluation& sound, std::span<const Goal> goals) {
  std::vector<Judged> out;
  const double share = run.effective(), within = sound.trust.p90_percent;
  const auto unknown = [](const Goal& g, std::string why) { return Judged{g, false, std::move(why), 0, false, 0, 0}; };
  const auto one = [&](const Goal& g) -> Judged {
    switch (g.metric) {
      case Metric::step_time:
        if (run.steps <= 0) return {g, true, "no step was done and kept", 0, false, 0, 0};
        return judge(g, {run.duration.seconds() / run.steps, within});
      case Metric::slowdown:
        if (share <= 0) return {g, true, "no step was done and kept", 0, false, 0, 0};
        return judge(g, {1 / share, 0});
      case Metric::goodput:
        return judge(g, {share, 0});
      case Metric::tokens_per_second:
        if (sound.tokens_per_second > 0) return judge(g, {sound.tokens_per_second * share, within});
        return unknown(g, "only a training step has tokens");
      case Metric::mfu:
        if (sound.mfu > 0) return judge(g, {sound.mfu * share, within});
        return unknown(g, "only a training step has an MFU");
      case Metric::busbw:
      case Metric::algbw:
      case Metric::exposed:
        return unknown(g, "it changes during the run: a scenario with faults for the whole run knows it");
      default:
        return unknown(g, "`linkcast cost` and `linkcast sweep` know it");
    }
  };
  for (const auto& g : goals) out.push_back(one(g));
  return out;
}

}  // namespace

double FaultRun::effective() const {
  return duration == Time{} ? 1 : steps * static_cast<double>(sound_step.ps()) / static_cast<double>(duration.ps());
}

FaultRun play(std::span<const Fault> faults, const RunLimits& limits, const Reliability& reliability,
              const std::function<StateSpeed(const std::vector<std::size_t>&)>& speed) {
  return Player{faults, limits, reliability, speed}.play();
}

bool has_timed_faults(const workloads::ScenarioFile& scenario) {
  const auto* v = scenario.root.is_map() ? scenario.root.get("faults") : nullptr;
  return v != nullptr && v->is_sequence() &&
         std::ranges::any_of(v->items, [](const auto& x) { return x.is_map() && x.get("at") != nullptr; });
}

FaultRun run_with_faults(const workloads::ScenarioFile& scenario, Evaluator& evaluator) {
  const Elements elements{evaluator.cluster(scenario)};
  workloads::trace::Problems problems;
  const auto faults = read_faults(problems, *scenario.root.get("faults"), elements);
  const auto limits = limits_of(scenario, problems);
  const auto* said = scenario.root.get("reliability");
  auto reliability = Reliability::read(said, problems);
  std::vector<Goal> goals;
  if (const auto* v = scenario.root.get("goals"); v != nullptr && v->kind != workloads::trace::Value::Kind::null)
    goals = read_goals(problems, *v);
  if (limits && limits->duration)
    for (const auto& f : faults)
      if (f.at && *f.at >= *limits->duration)
        problems.add(f.place, fmt::format("{}: at {}, when the run is over", to_text(f), span_text(*f.at)),
                     fmt::format("the run lasts {}", span_text(*limits->duration)));
  problems.throw_if_any();
  std::vector<std::string> assumptions;
  if (!reliability.checkpoint_interval) {
    reliability.checkpoint_interval = Time::picoseconds(std::int64_t{1'800} * 1'000'000'000'000);
    assumptions.push_back("checkpoint every 30 min of training: `reliability.checkpoint_interval` does not say");
  }
  if (!reliability.spares)
    assumptions.push_back("a spare node is there for every GPU or node that fails: `reliability.spares` does not say");
  assumptions.push_back(
      fmt::format("a link, NIC or switch that fails stalls the job for {} (MixNet's mean for a NIC's new link); it "
                  "goes on over the "
                  "other ways, as long as NCCL does not give up: a fault's `stall` says otherwise",
                  span_text(relink_time)));
  Evaluation sound;
  auto out = play(faults, *limits, reliability, [&](const std::vector<std::size_t>& active) {
    std::vector<Fault> here;
    for (const auto i : active) here.push_back(faults[i]);
    const auto e = evaluate(evaluator, apply(scenario, elements, here));
    if (active.empty() && e.outage)
      throw sim::InputError(fmt::format("the job cannot run even without the faults: {}", e.outage_reason));
    if (active.empty()) sound = e;
    return StateSpeed{e.outage, e.outage_reason, e.time};
  });
  out.goals = judged(out, sound, goals);
  if (!goals.empty())
    assumptions.push_back(
        "goals are of the whole run: step_time is its duration over the steps done and kept, what is lost included");
  out.assumptions = std::move(assumptions);
  return out;
}

}  // namespace linkcast::planning
