// See interference.hpp. Occupancies and stretches depend on each other: who is slowed sends for longer. They are found
// by going round until they stay.
#include "linkcast/planning/interference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "job_traffic.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/slurm_export.hpp"

namespace linkcast::planning {
namespace {

using sim::Time;
using topologies::Placement;

constexpr int most_rounds = 8;
constexpr double settled = 1e-3;  // of a stretch

double ratio(Time a, Time b) { return b == Time{} ? 1 : static_cast<double>(a.ps()) / static_cast<double>(b.ps()); }

struct Together {
  std::vector<Time> times;
  PhaseTable stretch, occupancy;
};

class JobStudy {
 public:
  JobStudy(const JobSet& set, const InterferenceOptions& options)
      : set_{set}, options_{options}, resources_{set.cluster.resources()} {}

  Interference run() {
    out_.title = set_.title;
    out_.topology = set_.cluster.name();
    out_.nodes = set_.cluster.nodes();
    std::vector<std::vector<int>> given;
    for (const auto& job : set_.jobs) given.push_back(job.nodes);
    const std::size_t rules =
        options_.placements ? 3 + static_cast<std::size_t>(std::max(options_.seeds, 0)) + spread_jobs() : 0;
    of_ = static_cast<int>(1 + rules);
    const auto models = models_of(given);
    as_given(models);
    step();
    if (options_.placements) placements(given);
    judge_goals();
    stopped();
    notes();
    return std::move(out_);
  }

 private:
  std::vector<JobTraffic> models_of(const std::vector<std::vector<int>>& nodes) {
    std::vector<JobTraffic> models;
    for (std::size_t j = 0; j < nodes.size(); ++j)
      models.emplace_back(set_.cluster, resources_, set_.library, set_.jobs[j], nodes[j], j, choices_, options_.stop);
    return models;
  }
  static std::vector<const Phases*> phases_of(const std::vector<JobTraffic>& models) {
    std::vector<const Phases*> out;
    for (const auto& m : models) out.push_back(&m.phases());
    return out;
  }
  static PhaseTable occupancies(const std::vector<JobTraffic>& models, const std::vector<bool>& runs) {
    PhaseTable out;
    for (std::size_t j = 0; j < models.size(); ++j) {
      auto& row = out.emplace_back();
      for (const auto& p : models[j].phases()) row.push_back(runs[j] ? p.occupancy : 0);
    }
    return out;
  }
  bool stopped() {
    if (options_.stop.stop_requested()) out_.interrupted = true;
    return out_.interrupted;
  }
  void step() {
    if (options_.progress) options_.progress(++done_, of_);
  }

  /// The jobs that run, at the point where occupancies and stretches agree.
  Together settle(const std::vector<JobTraffic>& models, Contention& contention, const std::vector<bool>& runs) {
    const auto alone = occupancies(models, runs);
    Together t;
    t.occupancy = alone;
    for (const auto& m : models) t.times.push_back(m.alone());
    for (int round = 0; round < most_rounds; ++round) {
      auto stretch = contention.expected(t.occupancy);
      double change = 0;
      for (std::size_t j = 0; j < models.size(); ++j)
        for (std::size_t q = 0; q < stretch[j].size(); ++q)
          change = std::max(change, std::fabs(stretch[j][q] - (round == 0 ? 1 : t.stretch[j][q])) / stretch[j][q]);
      t.stretch = std::move(stretch);
      if (change < settled && round > 0) break;
      for (std::size_t j = 0; j < models.size(); ++j) {
        if (!runs[j]) continue;
        t.times[j] = models[j].time(t.stretch[j]);
        for (std::size_t q = 0; q < alone[j].size(); ++q)
          t.occupancy[j][q] = std::min(1.0, alone[j][q] * t.stretch[j][q] * ratio(models[j].alone(), t.times[j]));
      }
      if (change == 0) break;
    }
    return t;
  }

  void as_given(const std::vector<JobTraffic>& models) {
    const auto n = models.size();
    Contention contention{resources_, phases_of(models)};
    const std::vector<bool> all(n, true);
    const auto t = settle(models, contention, all);
    const auto worst = contention.worst(t.occupancy);
    for (std::size_t j = 0; j < n; ++j) {
      const auto& job = set_.jobs[j];
      JobOutcome o;
      o.name = job.name;
      o.workload = job.workload;
      o.nodes = job.count;
      o.hosts = topologies::host_list(set_.cluster, job.nodes);
      o.placement = job.by_hosts ? "hosts" : name_of(job.placement);
      o.alone = models[j].alone();
      o.together = t.times[j];
      o.worst = std::max(o.together, models[j].time(worst[j]));
      o.slowdown = ratio(o.together, o.alone);
      o.worst_slowdown = ratio(o.worst, o.alone);
      o.bound_by = bound_by(contention, t, j);
      const auto& phases = models[j].phases();
      for (std::size_t q = 0; q < phases.size(); ++q)
        o.phases.push_back(
            {phases[q].communicator.empty() ? phases[q].operation : phases[q].communicator + " " + phases[q].operation,
             phases[q].occupancy, t.stretch[j][q], worst[j][q]});
      out_.jobs.push_back(std::move(o));
      for (const auto& note : models[j].notes()) say(note);
    }
    out_.matrix.assign(n, std::vector<double>(n, 1));
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < n && !stopped(); ++b) {
        std::vector<bool> pair(n, false);
        pair[a] = pair[b] = true;
        const auto two = n == 2 ? t : settle(models, contention, pair);
        out_.matrix[a][b] = ratio(two.times[a], models[a].alone());
        out_.matrix[b][a] = ratio(two.times[b], models[b].alone());
      }
    }
    if (contention.sampled())
      say(fmt::format("the jobs have more combinations of phases than {}: {} of them were drawn, always the same",
                      Contention::most_states, Contention::samples));
  }

  /// Where the job is held back while the others send what they send most.
  std::string bound_by(Contention& contention, const Together& t, std::size_t job) {
    PhaseState usual;
    for (const auto& row : t.occupancy) {
      const auto most = std::ranges::max_element(row);
      usual.push_back(most == row.end() || *most <= 0 ? -1 : static_cast<int>(most - row.begin()));
    }
    // Its own phase: the one that loses most time.
    double lost = 0;
    for (std::size_t q = 0; q < t.stretch[job].size(); ++q) {
      const double l = t.occupancy[job][q] * (1 - 1 / t.stretch[job][q]);
      if (l > lost) lost = l, usual[job] = static_cast<int>(q);
    }
    const auto at = contention.bottleneck(usual, job);
    return at ? set_.cluster.resource_name(*at) : "itself";
  }

  void say(const std::string& note) {
    if (std::ranges::find(out_.notes, note) == out_.notes.end()) out_.notes.push_back(note);
  }

  // ---- Placements ---------------------------------------------------------------------------------------------------

  std::vector<std::vector<int>> by_rule(Placement rule, std::uint64_t seed) const {
    std::vector<Wanted> wanted;
    for (std::size_t j = 0; j < set_.jobs.size(); ++j) wanted.push_back({set_.jobs[j].count, rule, seed + 1000 * j});
    return place_jobs(set_.cluster, wanted);
  }

  struct Placed {
    std::vector<Time> alone, together;
    double total = 0;  // sum of the logarithms of times: equal shares of slowdown count alike
  };
  Placed timed(const std::vector<std::vector<int>>& nodes) {
    const auto models = models_of(nodes);
    Contention contention{resources_, phases_of(models)};
    const auto t = settle(models, contention, std::vector<bool>(nodes.size(), true));
    Placed out{{}, t.times, 0};
    for (const auto& m : models) out.alone.push_back(m.alone());
    for (const auto time : t.times) out.total += std::log(std::max(time.us(), 1e-6));
    step();
    return out;
  }

  void add(std::string_view placement, const std::vector<Placed>& runs) {
    const auto seeds = static_cast<int>(runs.size());
    for (std::size_t j = 0; j < set_.jobs.size() && seeds > 0; ++j) {
      PlacementOutcome o;
      o.job = set_.jobs[j].name;
      o.placement = placement;
      o.seeds = seeds;
      o.least = Time::max();
      for (const auto& run : runs) {
        o.alone += run.alone[j];
        o.together += run.together[j];
        o.least = std::min(o.least, run.together[j]);
        o.most = std::max(o.most, run.together[j]);
      }
      o.alone = o.alone / seeds;
      o.together = o.together / seeds;
      o.slowdown = ratio(o.together, out_.jobs[j].alone);
      out_.placements.push_back(std::move(o));
    }
  }

  void placements(const std::vector<std::vector<int>>& given) {
    Placed as_given;
    for (const auto& o : out_.jobs) {
      as_given.alone.push_back(o.alone);
      as_given.together.push_back(o.together);
      as_given.total += std::log(std::max(o.together.us(), 1e-6));
    }
    add("given", {as_given});
    if (stopped()) return;
    const auto packed_nodes = by_rule(Placement::packed, 1);
    const auto packed = timed(packed_nodes);
    add("packed", {packed});
    if (stopped()) return;
    const auto strided_nodes = by_rule(Placement::strided, 1);
    const auto strided = timed(strided_nodes);
    add("strided", {strided});
    std::vector<Placed> fragmented;
    for (int s = 1; s <= options_.seeds && !stopped(); ++s)
      fragmented.push_back(timed(by_rule(Placement::fragmented, static_cast<std::uint64_t>(s))));
    add("fragmented", fragmented);
    if (stopped()) return;
    suggest(given, as_given, packed_nodes, packed, strided_nodes, strided);
  }

  std::size_t spread_jobs() const { return std::min<std::size_t>(set_.jobs.size(), 8); }

  void suggest(const std::vector<std::vector<int>>& given, const Placed& as_given,
               const std::vector<std::vector<int>>& packed_nodes, const Placed& packed,
               const std::vector<std::vector<int>>& strided_nodes, const Placed& strided) {
    std::vector<int> counts;
    for (const auto& job : set_.jobs) counts.push_back(job.count);
    // Candidates: every job compact; all but one, which is spread; the rules. The best by the product of the jobs'
    // times, where what is no better than the given one is not suggested.
    std::vector<std::pair<std::vector<std::vector<int>>, Placed>> candidates;
    const auto consider = [&](std::vector<std::vector<int>> nodes) {
      const bool known = std::ranges::any_of(candidates, [&](const auto& c) { return c.first == nodes; });
      if (known) return step();
      auto placed = timed(nodes);
      candidates.emplace_back(std::move(nodes), std::move(placed));
    };
    consider(compact_jobs(set_.cluster, counts));
    candidates.emplace_back(packed_nodes, packed);
    candidates.emplace_back(strided_nodes, strided);
    for (std::size_t j = 0; j < spread_jobs() && !stopped(); ++j) consider(compact_jobs(set_.cluster, counts, j));
    const auto* nodes = &given;
    const auto* times = &as_given;
    constexpr double better = 1e-4;
    for (const auto& [n, t] : candidates)
      if (t.total < times->total - better) nodes = &n, times = &t;
    add("suggested", {*times});
    for (std::size_t j = 0; j < set_.jobs.size(); ++j)
      out_.suggested.push_back({set_.jobs[j].name, topologies::host_list(set_.cluster, (*nodes)[j]), times->together[j],
                                as_given.together[j]});
    if (nodes == &given) say("no placement was found that is better than the given one: it is the suggestion");
  }

  void judge_goals() {
    double most = 1;
    for (const auto& j : out_.jobs) most = std::max(most, j.slowdown);
    for (const auto& goal : set_.goals) {
      if (goal.metric == Metric::slowdown) {
        out_.goals.push_back(judge(goal, {most, 0}));
        continue;
      }
      Judged unknown;
      unknown.goal = goal;
      unknown.why = fmt::format("of several jobs only slowdown is judged, not {}", name_of(goal.metric));
      out_.goals.push_back(std::move(unknown));
    }
  }

  void notes() {
    say("rates are max-min fair shares of the cables: incast, hot spots while congestion control reacts, pauses (PFC) "
        "and queues are not in them, so real interference of RoCE may be larger");
    if (set_.cluster.network().routing() == models::Routing::ecmp)
      say("ECMP: collisions of the hash are those of one seed (network.seed); another one moves them");
    if (set_.jobs.size() > 1)
      say("together: jobs repeat for ever and meet at random; worst: whenever one sends, all others send too");
    const auto& machine = set_.cluster.machine(0);
    if (machine.gpus().size() > 16)
      say(fmt::format(
          "a node of '{}' is a whole NVLink domain of {} GPUs: jobs get whole ones, so their segments never "
          "lie across two",
          set_.cluster.name(), machine.gpus().size()));
  }

  const JobSet& set_;
  const InterferenceOptions& options_;
  sim::ResourceTable resources_;
  ChoiceCache choices_;
  Interference out_;
  int done_ = 0, of_ = 0;
};

}  // namespace

Interference interference(const JobSet& set, const InterferenceOptions& options) {
  return JobStudy{set, options}.run();
}

}  // namespace linkcast::planning
