// The Monte-Carlo: failures drawn as Poisson processes, each trial played, the figures over all trials.
#include "linkcast/planning/goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "counter_random.hpp"
#include "goodput_trial.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "quantities.hpp"

namespace linkcast::planning {
namespace {

constexpr double seconds_per_year = 365.25 * 86400;
constexpr double most_in_all = 1e8;    // events of all trials: some ten seconds of one core
constexpr double most_failures = 1e6;  // expected in one trial; more is no machine that anyone runs a job on

/// Draw n of a stream is a function of (seed, trial, stream, n) alone: the same on any thread, and the same failures
/// whatever else a study changes.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t trial, std::uint64_t stream)
      : state_{mixed(mixed(mixed(seed + golden) ^ (trial + golden)) ^ stream)} {}
  /// In [0, 1).
  double next() { return unit_interval(mixed(state_ += golden)); }

 private:
  std::uint64_t state_;
};

/// FNV-1a of the names: a part more does not change what the others draw.
std::uint64_t stream_of(const FailingPart& p) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const auto* s : {&p.cause, &p.part}) {
    for (const char c : *s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    h = (h ^ 0xffU) * 0x100000001b3ULL;
  }
  return h;
}

double per_second(const FailingPart& p) { return static_cast<double>(p.count) * p.per_part_year / seconds_per_year; }

void draw(const TrialPlan& plan, int trial, std::vector<Failure>& out) {
  out.clear();
  const double end = sim::Time::picoseconds(plan.duration).seconds();
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const auto& p = plan.parts[i];
    const double rate = per_second(p);
    if (!(rate > 0)) continue;
    Draws draws{plan.reliability->seed, static_cast<std::uint64_t>(trial), stream_of(p)};
    double t = 0;
    while (true) {
      t -= std::log1p(-draws.next()) / rate;
      const double mended = draws.next(), predicted = draws.next();
      if (t >= end) break;
      out.push_back({sim::Time::picoseconds(static_cast<std::int64_t>(t * 1e12)), i, mended < p.mended_by_restart,
                     predicted < plan.reliability->predicted});
    }
  }
  std::ranges::sort(out,
                    [](const Failure& a, const Failure& b) { return a.at != b.at ? a.at < b.at : a.part < b.part; });
}

struct Interrupting {
  double rate = 0;      // per second
  double downtime = 0;  // s, mean of detection and restart
};
Interrupting interrupting(const Reliability& r, std::span<const FailingPart> parts) {
  Interrupting out;
  double weighted = 0;
  for (const auto& p : parts) {
    if (p.effect != Effect::interrupts) continue;
    const double rate = per_second(p);
    out.rate += rate;
    weighted += rate * (1 - r.predicted) * p.detection.value_or(r.detection_time).seconds();
  }
  if (out.rate > 0) out.downtime = weighted / out.rate + r.restart_time.seconds();
  return out;
}

/// Refuses what would take minutes. Each failure, repair and maintenance is an event; parts that are slow at once are
/// looked at in each: 2 ns for each of them, measured, against 80 ns for an event.
void bound_work(const Reliability& r, std::span<const FailingPart> parts, double failures) {
  const double maintenance = r.planned_every > sim::Time{} ? r.duration.seconds() / r.planned_every.seconds() : 0;
  double slow = 0;
  for (const auto& p : parts)
    if (p.slowdown > 1 && p.effect != Effect::stalls)
      slow += per_second(p) * std::min(r.repair_time.value_or(p.repair), r.duration).seconds();
  const double each = 1 + (failures + maintenance) * (1 + slow / 40);
  if (each * r.trials <= most_in_all) return;
  const double trials = std::floor(most_in_all / each);
  auto what = fmt::format("{} trials of {:.3g} failures each", r.trials, failures);
  if (maintenance > failures) what += fmt::format(" and {:.3g} times of planned maintenance", maintenance);
  if (slow > 40) what += fmt::format(", with {:.3g} parts slow at once,", slow);
  throw sim::InputError(what + " are too many",
                        trials >= 1
                            ? fmt::format("write trials: {:.0f} or fewer", trials)
                            : "write a shorter `duration`, a shorter `repair_time` or a longer `planned_every`");
}

Spread spread(std::vector<double> values) {
  std::ranges::sort(values);
  // Nearest rank: the smallest value that at least that share of the trials does not exceed.
  const auto at = [&](double q) {
    const auto n = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    return values[std::min(values.size(), std::max<std::size_t>(n, 1)) - 1];
  };
  return {std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()), at(0.05), at(0.5),
          at(0.95)};
}

struct Outcome {
  Trial trial;
  std::vector<Player::Blame> blame;
};

std::vector<Outcome> play_all(const TrialPlan& plan, int threads) {
  const auto trials = static_cast<std::size_t>(plan.reliability->trials);
  std::vector<Outcome> out(trials);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex guard;
  const auto work = [&] {
    try {
      Player player{plan};
      std::vector<Failure> failures;
      for (auto i = next++; i < trials; i = next++) {
        draw(plan, static_cast<int>(i), failures);
        out[i].trial = player.play(failures);
        out[i].blame.assign(player.blame().begin(), player.blame().end());
      }
    } catch (...) {
      const std::lock_guard lock{guard};
      failed = std::current_exception();
    }
  };
  const auto cores = threads > 0 ? static_cast<unsigned>(threads) : std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < std::min<std::size_t>(cores, trials); ++i) others.emplace_back(work);
    work();
  }
  if (failed) std::rethrow_exception(failed);
  return out;
}

std::vector<std::string> assumptions_of(const TrialPlan& plan) {
  const auto& r = *plan.reliability;
  auto out = r.assumed;
  out.emplace_back("failures are independent of each other and of the job's age: a Poisson process for each cause");
  out.emplace_back("nodes that wait as spares do not fail");
  bool free_ride = false;
  for (const auto& p : plan.parts) free_ride |= p.effect == Effect::degrades && p.slowdown == 1;
  if (free_ride) {
    out.emplace_back("switches and cables that traffic goes round cost no time: no slowdown is given for them");
  }
  return out;
}

}  // namespace

double young_seconds(double checkpoint, double mtbf) { return std::sqrt(2 * checkpoint * mtbf); }

double daly_seconds(double checkpoint, double mtbf) {
  if (checkpoint >= 2 * mtbf) return mtbf;
  const double x = checkpoint / (2 * mtbf);
  return young_seconds(checkpoint, mtbf) * (1 + std::sqrt(x) / 3 + x / 9) - checkpoint;
}

TrialPlan plan_of(const Reliability& reliability, std::span<const FailingPart> parts) {
  TrialPlan plan{&reliability,
                 parts,
                 reliability.duration.ps(),
                 0,
                 reliability.checkpoint_time.ps(),
                 reliability.detection_time.ps(),
                 reliability.restart_time.ps()};
  if (reliability.checkpoint_interval) {
    plan.interval = reliability.checkpoint_interval->ps();
  } else if (const auto i = interrupting(reliability, parts); i.rate > 0) {
    // A checkpoint that costs nothing would be written all the time; a second is as good.
    const double best = std::max(1.0, daly_seconds(reliability.checkpoint_time.seconds(), 1 / i.rate));
    plan.interval = std::llround(std::min(best, reliability.duration.seconds()) * 1e12);
  } else {
    plan.interval = plan.duration;
  }
  return plan;
}

Trial play(const Reliability& reliability, std::span<const FailingPart> parts, std::span<const Failure> failures) {
  Player player{plan_of(reliability, parts)};
  return player.play(failures);
}

Trial simulate_one(const Reliability& reliability, std::span<const FailingPart> parts, int trial) {
  const auto plan = plan_of(reliability, parts);
  std::vector<Failure> failures;
  draw(plan, trial, failures);
  Player player{plan};
  return player.play(failures);
}

Goodput simulate(const Reliability& reliability, std::span<const FailingPart> parts, int threads) {
  const double duration = reliability.duration.seconds();
  double expected = 0;
  for (const auto& p : parts) expected += per_second(p) * duration;
  if (!(expected <= most_failures)) {
    throw sim::InputError(
        fmt::format("{:.3g} failures are to be expected in {}", expected, span_text(reliability.duration)),
        "are the rates per part and year? a study takes up to a million failures in each trial");
  }
  bound_work(reliability, parts, expected);
  const auto plan = plan_of(reliability, parts);
  const auto outcomes = play_all(plan, threads);

  Goodput g;
  const auto trials = static_cast<double>(outcomes.size());
  std::vector<double> shares, interruptions, in_repair;
  for (const auto& o : outcomes) {
    shares.push_back(o.trial.useful.seconds() / duration);
    interruptions.push_back(o.trial.interruptions);
    in_repair.push_back(o.trial.in_repair);
    g.lost.checkpoint += o.trial.checkpoint.seconds() / duration / trials;
    g.lost.lost_work += o.trial.lost_work.seconds() / duration / trials;
    g.lost.restart += o.trial.restart.seconds() / duration / trials;
    g.lost.spares += o.trial.spares.seconds() / duration / trials;
    g.lost.degraded += o.trial.degraded.seconds() / duration / trials;
  }
  g.share = spread(std::move(shares));
  g.interruptions = spread(std::move(interruptions));
  g.spares_needed = spread(std::move(in_repair));
  g.spares = reliability.spares;
  if (g.interruptions.mean > 0) g.mtbf_hours = duration / 3600 / g.interruptions.mean;

  for (std::size_t i = 0; i < parts.size(); ++i) {
    CauseShare c{parts[i].cause, parts[i].part};
    for (const auto& o : outcomes) {
      c.interruptions += o.blame[i].interruptions / trials;
      c.failures += o.blame[i].failures / trials;
      c.lost += sim::Time::picoseconds(o.blame[i].lost).seconds() / duration / trials;
    }
    if (g.interruptions.mean > 0) c.share = c.interruptions / g.interruptions.mean;
    g.by_cause.push_back(std::move(c));
  }
  std::ranges::stable_sort(g.by_cause, [](const CauseShare& a, const CauseShare& b) {
    return a.lost != b.lost ? a.lost > b.lost : a.failures > b.failures;
  });

  const auto i = interrupting(reliability, parts);
  const double c = reliability.checkpoint_time.seconds(), tau = sim::Time::picoseconds(plan.interval).seconds();
  g.analytic = tau / (tau + c);
  if (i.rate > 0) {
    const double m = 1 / i.rate;
    g.young_interval = sim::Time::from_us(std::min(young_seconds(c, m), longest_span.seconds()) * 1e6);
    g.daly_interval = sim::Time::from_us(std::min(daly_seconds(c, m), longest_span.seconds()) * 1e6);
    // Daly 2006, eq. 20: the time for each tau of work, where failures can hit the restart too.
    g.analytic = tau / (m * std::exp(i.downtime / m) * std::expm1((tau + c) / m));
  }
  g.checkpoint_interval = sim::Time::picoseconds(plan.interval);
  g.duration = reliability.duration;
  g.trials = reliability.trials;
  g.seed = reliability.seed;
  g.assumptions = assumptions_of(plan);
  return g;
}

}  // namespace linkcast::planning
