// See resilience_goodput.hpp.
#include "resilience_goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "said.hpp"

namespace linkcast::planning {
namespace {

/// What the rates call the parts of a kind.
std::vector<std::string> rated_as(ElementKind k) {
  switch (k) {
    case ElementKind::gpu:
      return {"gpu"};
    case ElementKind::node:
      return {"node"};
    case ElementKind::nic:
      return {"nic", "nic cable"};
    case ElementKind::leaf:
      return {"leaf switch"};
    case ElementKind::spine:
      return {"spine switch"};
    case ElementKind::core:
      return {"core switch"};
    case ElementKind::leaf_spine_cable:
      return {"switch cable leaf-spine"};
    case ElementKind::spine_core_cable:
      return {"switch cable spine-core"};
    case ElementKind::nvlink:  // counted with the GPU that they belong to
    case ElementKind::nvswitch:
    case ElementKind::pcie_link:
    case ElementKind::pcie_switch:
      return {};
  }
  return {};
}

/// Over the classes of each kind, each by its number of parts; an outage where most of them are.
std::vector<Impact> impacts_of(const Resilience& r) {
  struct Sum {
    std::int64_t parts = 0, outages = 0;
    double slowdown = 0;
  };
  std::map<ElementKind, Sum> sums;
  for (const auto& row : r.rows) {
    if (row.fault != FaultKind::fail) continue;
    auto& s = sums[row.kind];
    s.parts += row.count;
    if (row.outage)
      s.outages += row.count;
    else
      s.slowdown += row.slowdown * static_cast<double>(row.count);
  }
  std::vector<Impact> out;
  for (const auto& [kind, s] : sums)
    for (const auto& part : rated_as(kind)) {
      Impact i;
      i.part = part;
      i.outage = 2 * s.outages > s.parts;
      if (!i.outage && s.parts > s.outages) i.slowdown = s.slowdown / static_cast<double>(s.parts - s.outages);
      out.push_back(std::move(i));
    }
  return out;
}

}  // namespace

Expectations read_expectations(const workloads::ScenarioFile& scenario) {
  workloads::trace::Problems problems;
  Expectations out{Reliability::read(scenario.root.get("reliability"), problems), FailureRates::shipped(), {}};
  if (const auto* v = said(scenario.root, "rates")) out.rates = FailureRates::of_scenario(*v, problems);
  if (const auto* v = said(scenario.root, "goals")) out.goals = read_goals(problems, *v);
  problems.throw_if_any();
  return out;
}

void add_goodput(Resilience& r, const Expectations& expected, const topologies::Cluster& cluster, int threads) {
  auto parts = parts_of_cluster(cluster, *expected.rates, expected.reliability.rates);
  apply_impacts(impacts_of(r), parts);
  r.goodput = simulate(expected.reliability, parts, threads);
}

void add_goals(Resilience& r, const Expectations& expected, const workloads::ScenarioFile& scenario,
               Evaluator& evaluator) {
  const auto& base = r.baseline;
  const auto within = base.trust.p90_percent;
  const auto unknown = [&](const Goal& g, std::string why) {
    r.goals.push_back({g, false, std::move(why), 0, false, 0, 0});
  };
  for (const auto& g : expected.goals) {
    switch (g.metric) {
      case Metric::step_time:
        r.goals.push_back(judge(g, {base.time.seconds(), within}));
        break;
      case Metric::busbw:
      case Metric::algbw:
        if (g.op) {
          const auto answer = evaluator.collective(scenario, *g.op, g.size);
          const double rate = g.metric == Metric::busbw ? answer.row.busbw_GBps : answer.row.algbw_GBps;
          r.goals.push_back(judge(g, {rate * 1e9, answer.error ? answer.error->p90_percent : 0}));
        } else {
          unknown(g, "the goal names no collective");
        }
        break;
      case Metric::tokens_per_second:
        if (base.tokens_per_second > 0)
          r.goals.push_back(judge(g, {base.tokens_per_second, within}));
        else
          unknown(g, "only a training step has tokens");
        break;
      case Metric::mfu:
        if (base.mfu > 0)
          r.goals.push_back(judge(g, {base.mfu, within}));
        else
          unknown(g, "only a training step has an MFU");
        break;
      case Metric::exposed:
        r.goals.push_back(judge(g, {base.exposed_share, within}));
        break;
      case Metric::goodput: {
        if (!r.goodput) {
          unknown(g, "the study was stopped");
          break;
        }
        // One run in twenty is below p5.
        const auto& share = r.goodput->share;
        r.goals.push_back(judge(g, {share.mean, share.p5 > 0 ? 100 * (share.mean / share.p5 - 1) : 0}));
        break;
      }
      case Metric::slowdown: {  // of the worst single fault that the job survives
        double worst = 1;
        for (const auto& row : r.rows)
          if (!row.outage) worst = std::max(worst, row.slowdown);
        r.goals.push_back(judge(g, {worst, 0}));
        break;
      }
      default:
        unknown(g, "`linkcast cost` and `linkcast sweep` know it");
    }
  }
}

}  // namespace linkcast::planning
