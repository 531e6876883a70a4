// See resilience.hpp. Classes of alike parts, one evaluation for each class and fault, pairs by sampling; all of them
// on as many threads as there are, each result in its own place, so that the number of threads changes nothing.
#include "linkcast/planning/resilience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "counter_random.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/step.hpp"
#include "resilience_goodput.hpp"
#include "resilience_targets.hpp"
#include "symmetry.hpp"

namespace linkcast::planning {
namespace {

using workloads::ScenarioFile;

/// The n-th number of a seed.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t n) {
  return mixed(seed * golden + (n + 1) * 0xbf58476d1ce4e5b9ULL);
}

/// What faults do to all targets together.
struct Outcome {
  bool outage = false;
  std::string reason, bound_by;
  sim::Time time;
  double slowdown = 1;
  std::vector<std::string> jobs;
};

class Worker {
 public:
  Worker(const std::vector<Target>& targets, const ResilienceOptions& options)
      : targets_{targets}, evaluator_{options.profile, options.stop} {}

  Outcome run(std::span<const Fault> faults) {
    Outcome out;
    bool first = true;
    for (const auto& t : targets_) {
      const auto e = evaluated(t, t.own(faults));
      const double slowdown = ratio(e.time, t.baseline.time);
      if (targets_.size() > 1 && (e.outage || slowdown > 1 + least_difference)) out.jobs.push_back(t.name);
      if (e.outage) {
        if (!out.outage) out.reason = e.outage_reason;
        out.outage = true;
      } else if (first || slowdown > out.slowdown) {
        out.slowdown = slowdown;
        out.time = e.time;
        out.bound_by = e.bound_by;
        first = false;
      }
    }
    return out;
  }

 private:
  // Below what the model can tell: such a job is not counted as hit.
  static constexpr double least_difference = 1e-3;

  static double ratio(sim::Time a, sim::Time b) {
    return b == sim::Time{} ? 1 : static_cast<double>(a.ps()) / static_cast<double>(b.ps());
  }

  Evaluation evaluated(const Target& t, const std::vector<Fault>& faults) {
    return evaluate(evaluator_, apply(t.scenario, *t.elements, faults));
  }

  const std::vector<Target>& targets_;
  Evaluator evaluator_;
};

/// Runs `task(worker, i)` for 0 <= i < n on threads. The first exception by number is thrown on.
void on_all_cores(std::size_t n, const std::vector<Target>& targets, const ResilienceOptions& options,
                  std::uint64_t done_before, std::uint64_t all, const std::function<void(Worker&, std::size_t)>& task) {
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  const auto wanted = options.threads > 0 ? static_cast<std::size_t>(options.threads) : std::size_t{cores};
  const auto threads = std::min(wanted, std::max<std::size_t>(n, 1));
  std::atomic<std::size_t> next{0};
  std::uint64_t done = done_before;
  std::mutex lock;
  std::map<std::size_t, std::exception_ptr> failed;
  const auto work = [&] {
    std::optional<Worker> worker;
    while (!options.stop.stop_requested()) {
      const auto i = next++;
      if (i >= n) return;
      try {  // an exception that leaves a thread ends the program: the worker's too is caught
        if (!worker) worker.emplace(targets, options);
        task(*worker, i);
      } catch (...) {
        const std::scoped_lock hold{lock};
        failed.emplace(i, std::current_exception());
        return;
      }
      const std::scoped_lock hold{lock};
      ++done;
      if (options.progress) options.progress(done, all);
    }
  };
  std::vector<std::jthread> pool;
  for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  pool.clear();
  if (!failed.empty()) std::rethrow_exception(failed.begin()->second);
}

/// One fault of one class of parts. Where a part lies decides nothing of its surroundings, but something of what ranks
/// do: the first and the last node of a tree send less than those between, and the first NICs of a node carry one
/// channel more than others where channels do not divide evenly. So a few members are tried, and the one that costs
/// most stands for the class.
struct Case {
  std::vector<Fault> tries;
  std::int64_t count = 0;
};

/// The first part of the first node, of those at a third and two thirds of the way, and a middle part of the middle
/// node. What lies in no node is a node of its own.
std::vector<std::size_t> spread(std::span<const Element> parts, const std::vector<std::size_t>& members) {
  std::vector<std::size_t> starts;  // of nodes, among the members, which are in the order of nodes
  for (std::size_t i = 0; i < members.size(); ++i)
    if (i == 0 || parts[members[i]].node < 0 || parts[members[i]].node != parts[members[i - 1]].node)
      starts.push_back(i);
  const auto nodes = starts.size();
  starts.push_back(members.size());
  const auto middle = (starts[nodes / 2] + starts[nodes / 2 + 1]) / 2;
  std::vector<std::size_t> out;
  for (const auto i : {starts[0], starts[nodes / 3], middle, starts[2 * nodes / 3]})
    if (std::ranges::find(out, members[i]) == out.end()) out.push_back(members[i]);
  return out;
}

bool worse(const Outcome& a, const Outcome& b) {
  return a.outage != b.outage ? a.outage : !a.outage && a.slowdown > b.slowdown;
}

std::string fault_text(const Fault& f) {
  switch (f.kind) {
    case FaultKind::fail:
      return "fails";
    case FaultKind::degrade:
      return fmt::format("at {:g} % of its rate", f.share * 100);
    case FaultKind::errors:
      return fmt::format("bit error rate {:g}", f.bit_error_rate);
    case FaultKind::slow:
      return fmt::format("{:g} times as slow", f.factor);
  }
  return {};
}

/// The faults that one part is tried with.
std::vector<Fault> faults_of_part(const Element& e, const ResilienceStudy& study, bool computes, bool network) {
  Fault f;
  f.element = e;
  const bool bundle = e.kind == ElementKind::leaf_spine_cable || e.kind == ElementKind::spine_core_cable;
  if (bundle && e.count > 1) f.count = 1;  // single faults are of single cables
  std::vector<Fault> out{f};
  if (!study.degraded) return out;
  const bool link = bundle || (e.kind == ElementKind::nic && network) || e.kind == ElementKind::nvlink ||
                    e.kind == ElementKind::pcie_link;
  if (link && e.rate > sim::Rate{}) {
    f.kind = FaultKind::degrade;
    f.share = study.width;
    out.push_back(f);
    if (e.kind != ElementKind::pcie_link) {
      f.kind = FaultKind::errors;
      f.bit_error_rate = study.bit_error_rate;
      out.push_back(f);
    }
  }
  if (e.kind == ElementKind::gpu && computes) {
    f.kind = FaultKind::slow;
    f.factor = study.slow;
    out.push_back(f);
  }
  return out;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 1;
  const auto i = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size() - 1, i == 0 ? 0 : i - 1)];
}

/// Distinct pairs of parts, each part as likely as any other; a bundle counts for each of its cables. All pairs where
/// there are no more than are wanted.
std::vector<std::pair<std::size_t, std::size_t>> sample_pairs(std::span<const Element> parts, int pairs,
                                                              std::uint64_t seed) {
  std::vector<std::int64_t> up_to;
  std::int64_t sum = 0;
  for (const auto& e : parts) up_to.push_back(sum += std::max(1, e.count));
  std::vector<std::pair<std::size_t, std::size_t>> out;
  if (parts.size() < 2) return out;
  const auto pick = [&](std::uint64_t n) {
    const auto at = static_cast<std::int64_t>(random_bits(seed, n) % static_cast<std::uint64_t>(sum));
    return static_cast<std::size_t>(std::ranges::upper_bound(up_to, at) - up_to.begin());
  };
  const auto wanted = static_cast<std::size_t>(pairs);
  const double there_are = 0.5 * static_cast<double>(parts.size()) * static_cast<double>(parts.size() - 1);
  // Where most pairs are wanted, or a few parts are far more likely than the rest, drawing would take for ever: what
  // is still missing after so many draws is filled up in order.
  const auto most_draws = 64 * static_cast<std::uint64_t>(wanted) + 1024;
  std::set<std::pair<std::size_t, std::size_t>> known;
  const auto add = [&](std::size_t a, std::size_t b) {
    const auto pair = std::minmax(a, b);
    if (known.insert(pair).second) out.emplace_back(pair);
  };
  if (static_cast<double>(wanted) < there_are)
    for (std::uint64_t n = 0; out.size() < wanted && n < most_draws;) {
      const auto a = pick(n++);
      auto b = pick(n++);
      while (a == b && n < most_draws) b = pick(n++);
      if (a != b) add(a, b);
    }
  for (std::size_t a = 0; a < parts.size() && out.size() < wanted; ++a)
    for (std::size_t b = a + 1; b < parts.size() && out.size() < wanted; ++b) add(a, b);
  return out;
}

PairSample summary(const std::vector<std::pair<std::size_t, std::size_t>>& pairs, const std::vector<Outcome>& outcomes,
                   std::span<const Element> parts, const std::function<const Outcome&(std::size_t)>& alone) {
  PairSample out;
  out.sampled = static_cast<int>(pairs.size());
  std::vector<double> slowdowns;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& o = outcomes[i];
    if (o.outage)
      ++out.outages;
    else
      slowdowns.push_back(o.slowdown);
    const auto [a, b] = pairs[i];
    if (!o.outage || (!alone(a).outage && !alone(b).outage))
      out.worst.push_back({parts[a].name, parts[b].name, o.outage, o.reason, o.slowdown});
  }
  std::ranges::sort(slowdowns);
  out.median = quantile(slowdowns, 0.5);
  out.p95 = quantile(slowdowns, 0.95);
  out.most = slowdowns.empty() ? 1 : slowdowns.back();
  std::ranges::stable_sort(out.worst, [](const auto& a, const auto& b) {
    return a.outage != b.outage ? a.outage : !a.outage && a.slowdown > b.slowdown;
  });
  if (out.worst.size() > 10) out.worst.resize(10);
  return out;
}

}  // namespace

Resilience study_resilience(const ScenarioFile& scenario, const ResilienceStudy& study,
                            const ResilienceOptions& options) {
  Resilience out;
  const auto expected = read_expectations(scenario);
  const auto set = targets_of(scenario, options.profile, options.stop);
  out.title = set.title;
  out.scenario = scenario.path;
  out.baseline = set.targets.front().baseline;
  out.assumptions = set.assumptions;
  for (const auto& t : set.targets)
    if (!t.name.empty()) out.jobs.emplace_back(t.name, t.baseline.time);

  auto parts = set.elements->all();
  if (!study.kinds.empty())
    std::erase_if(parts, [&](const Element& e) { return std::ranges::find(study.kinds, e.kind) == study.kinds.end(); });
  // Of several jobs: what lies on a node that none of them has is no part of any.
  if (set.targets.size() > 1)
    std::erase_if(parts, [&](const Element& e) {
      return e.node >= 0 && std::ranges::all_of(set.targets, [&](const Target& t) {
               return t.elements->find(e.name).value_or(Element{}).job_node < 0;
             });
    });
  const bool network = !set.elements->cluster().network().empty();
  const auto classes = alike(*set.elements, parts, set.role);
  std::vector<std::size_t> class_of(parts.size());
  std::vector<Case> cases;
  std::vector<std::size_t> first_case;  // by class: its plain failure
  for (std::size_t c = 0; c < classes.size(); ++c) {
    for (const auto m : classes[c].members) class_of[m] = c;
    first_case.push_back(cases.size());
    for (const auto m : spread(parts, classes[c].members)) {
      auto faults = faults_of_part(parts[m], study, set.computes, network);
      for (std::size_t i = 0; i < faults.size(); ++i) {
        if (m == classes[c].members.front()) cases.push_back({{}, classes[c].count});
        if (first_case[c] + i < cases.size()) cases[first_case[c] + i].tries.push_back(std::move(faults[i]));
      }
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> tries;  // case, which of its tries
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (std::size_t k = 0; k < cases[i].tries.size(); ++k) tries.emplace_back(i, k);
  const auto pairs = sample_pairs(parts, study.pairs, study.seed);
  const auto all = tries.size() + pairs.size();

  std::vector<Outcome> tried(tries.size());
  std::vector<char> ready(tries.size(), 0);
  on_all_cores(tries.size(), set.targets, options, 0, all, [&](Worker& w, std::size_t t) {
    const auto [i, k] = tries[t];
    tried[t] = w.run({&cases[i].tries[k], 1});
    ready[t] = !options.stop.stop_requested();  // what was stopped half-way is no result
  });
  std::vector<Outcome> outcomes(cases.size());
  std::vector<std::size_t> worst(cases.size(), 0);
  std::vector<char> whole(cases.size(), 1);
  for (std::size_t t = 0; t < tries.size(); ++t) {
    const auto [i, k] = tries[t];
    if (!ready[t]) whole[i] = 0;
    if (k == 0 || worse(tried[t], outcomes[i])) outcomes[i] = tried[t], worst[i] = k;
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!whole[i]) continue;
    const auto& f = cases[i].tries[worst[i]];
    const auto& o = outcomes[i];
    out.rows.push_back({f.element.name, f.element.kind, cases[i].count, f.kind, fault_text(f), o.outage, o.reason,
                        o.outage ? sim::Time{} : o.time, o.slowdown, o.bound_by, o.jobs});
  }
  std::ranges::stable_sort(out.rows, [](const auto& a, const auto& b) {
    return a.outage != b.outage ? a.outage : !a.outage && a.slowdown > b.slowdown;
  });

  if (study.pairs > 0 && !options.stop.stop_requested()) {
    const auto alone = [&](std::size_t part) -> const Outcome& { return outcomes[first_case[class_of[part]]]; };
    std::vector<Outcome> of_pairs(pairs.size());
    on_all_cores(pairs.size(), set.targets, options, tries.size(), all, [&](Worker& w, std::size_t i) {
      const auto [a, b] = pairs[i];
      for (const auto part : {a, b})
        if (alone(part).outage) {
          of_pairs[i] = alone(part);
          return;
        }
      const ResilienceStudy dead{{}, false};
      const std::vector<Fault> both{faults_of_part(parts[a], dead, false, network).front(),
                                    faults_of_part(parts[b], dead, false, network).front()};
      of_pairs[i] = w.run(both);
    });
    if (!options.stop.stop_requested()) out.pairs = summary(pairs, of_pairs, parts, alone);
  }
  out.interrupted = options.stop.stop_requested();
  if (out.interrupted) return out;
  add_goodput(out, expected, set.elements->cluster(), options.threads);
  Evaluator evaluator{options.profile, options.stop};
  add_goals(out, expected, set.targets.front().scenario.scenario, set.elements->cluster(), evaluator);
  return out;
}

}  // namespace linkcast::planning
