// See resilience_goodput.hpp.
#include "resilience_goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

/// Goals by what a study of faults knows: the sound job, its worst fault, its goodput, what the machine costs.
class GoalJudge {
 public:
  GoalJudge(const Resilience& r, const Expectations& expected, const workloads::ScenarioFile& scenario,
            const topologies::Cluster& cluster, Evaluator& evaluator)
      : r_{r},
        scenario_{scenario},
        evaluator_{evaluator},
        bom_{bill_of_materials(cluster, *expected.prices)},
        economics_{economics(bom_, *expected.prices, r.jobs.size() > 1 ? 0 : r.baseline.tokens_per_second,
                             r.goodput ? r.goodput->share.mean : 1)},
        priced_{bom_.unpriced.empty()},
        metered_{std::ranges::all_of(bom_.lines, &BomLine::metered)} {}

  Judged operator()(const Goal& g) {
    switch (g.metric) {
      case Metric::goodput: {
        if (!r_.goodput) return unknown(g, "the study was stopped");
        const auto& share = r_.goodput->share;  // one run in twenty is below p5
        return judge(g, {share.mean, share.p5 > 0 ? 100 * (share.mean / share.p5 - 1) : 0});
      }
      case Metric::slowdown: {  // of the worst single fault that the job survives
        double worst = 1;
        for (const auto& row : r_.rows)
          if (!row.outage) worst = std::max(worst, row.slowdown);
        return judge(g, {worst, 0});
      }
      case Metric::capex:
        return priced_ ? judge(g, banded(bom_.capex())) : unknown(g, no_price());
      case Metric::network_share:
        return priced_ && bom_.capex().typical > 0 ? judge(g, {bom_.network_capex().typical / bom_.capex().typical, 0})
                                                   : unknown(g, no_price());
      case Metric::power:
        return metered_ ? judge(g, banded(bom_.power())) : unknown(g, no_watts);
      case Metric::cost_per_gpu_hour:
        if (!priced_) return unknown(g, no_price());
        if (!metered_) return unknown(g, no_watts);
        return judge(g, {economics_.usd_per_gpu_hour.typical, banded(bom_.capex()).p90_percent});
      case Metric::cost_per_token:
        if (!priced_) return unknown(g, no_price());
        if (!metered_) return unknown(g, no_watts);
        if (!economics_.usd_per_million_tokens) return unknown(g, "only a training step alone has tokens");
        return judge(g, {economics_.usd_per_million_tokens->typical,
                         std::hypot(r_.baseline.trust.p90_percent, banded(bom_.capex()).p90_percent)});
      default:
        return r_.jobs.size() > 1 ? unknown(g, "of several jobs each has its own") : of_the_job(g);
    }
  }

 private:
  static constexpr const char* no_watts = "the power of a part is not known";
  std::string no_price() const {
    return bom_.unpriced.empty() ? "nothing has a price"
                                 : fmt::format("there is no price for {}", bom_.unpriced.front());
  }
  static Judged unknown(const Goal& g, std::string why) { return {g, false, std::move(why), 0, false, 0, 0}; }
  /// The distance between typical and high stands for the 95th percentile, as in a sweep.
  static Measured banded(const Band& b) { return {b.typical, b.typical > 0 ? 100 * (b.high / b.typical - 1) : 0}; }

  Judged of_the_job(const Goal& g) {
    const auto& base = r_.baseline;
    const auto within = base.trust.p90_percent;
    switch (g.metric) {
      case Metric::step_time:
        return judge(g, {base.time.seconds(), within});
      case Metric::busbw:
      case Metric::algbw: {
        const auto answer = g.op ? std::optional{evaluator_.collective(scenario_, *g.op, g.size)} : base.collective;
        if (!answer) return unknown(g, "the goal names no collective, and the workload is none");
        const double rate = g.metric == Metric::busbw ? answer->row.busbw_GBps : answer->row.algbw_GBps;
        return judge(g, {rate * 1e9, answer->error ? answer->error->p90_percent : 0});
      }
      case Metric::tokens_per_second:
        if (base.tokens_per_second > 0) return judge(g, {base.tokens_per_second, within});
        return unknown(g, "only a training step has tokens");
      case Metric::mfu:
        if (base.mfu > 0) return judge(g, {base.mfu, within});
        return unknown(g, "only a training step has an MFU");
      case Metric::exposed:
        if (base.kind != "collective") return judge(g, {base.exposed_share, within});
        return unknown(g, "a single collective has nothing to hide behind");
      default:
        return unknown(g, "not known here");
    }
  }

  const Resilience& r_;
  const workloads::ScenarioFile& scenario_;
  Evaluator& evaluator_;
  BillOfMaterials bom_;
  Economics economics_;
  bool priced_ = false, metered_ = false;
};

}  // namespace

Expectations read_expectations(const workloads::ScenarioFile& scenario) {
  workloads::trace::Problems problems;
  const auto& root = scenario.root;
  Expectations out{Reliability::read(root.get("reliability"), problems), FailureRates::shipped(), {}, {}};
  if (const auto* v = said(root, "rates")) out.rates = FailureRates::of_scenario(*v, scenario.folder(), problems);
  if (const auto* v = said(root, "goals")) out.goals = read_goals(problems, *v);
  out.prices = Prices::of_scenario(said(root, "prices"), scenario.path, problems);
  problems.throw_if_any();
  return out;
}

void add_goodput(Resilience& r, const Expectations& expected, const topologies::Cluster& cluster, int threads) {
  auto parts = parts_of_cluster(cluster, *expected.rates, expected.reliability.rates);
  apply_impacts(impacts_of(r), parts);
  r.goodput = simulate(expected.reliability, parts, threads);
}

void add_goals(Resilience& r, const Expectations& expected, const workloads::ScenarioFile& scenario,
               const topologies::Cluster& cluster, Evaluator& evaluator) {
  GoalJudge judge{r, expected, scenario, cluster, evaluator};
  for (const auto& g : expected.goals) r.goals.push_back(judge(g));
}

}  // namespace linkcast::planning
