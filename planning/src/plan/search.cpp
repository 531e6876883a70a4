// Cells side by side on all cores; then money, goals and the Pareto front over what they found. A cell is searched by
// one thread from beginning to end, so that the answer is the same on any number of them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "cell.hpp"
#include "linkcast/calibration/cross_validation.hpp"
#include "linkcast/calibration/expected_error.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {
namespace {

/// Of prices: the distance between typical and high stands for the 95th percentile.
double p90_of(const Band& b) { return b.typical > 0 ? 100 * (b.high / b.typical - 1) : 0; }

std::optional<Band> priced(const Band& b) { return b.typical > 0 ? std::optional{b} : std::nullopt; }

struct Money {
  std::optional<Band> capex, power;
  double network_share = 0;
  std::optional<Measured> goodput;
  BillOfMaterials bom;
  std::string unpriced, unmetered;  // why there is no sum of them
};

/// A sum without a part would be taken for the whole.
std::string lacking(const BillOfMaterials& bom, bool BomLine::*known, std::string_view what) {
  std::string parts;
  for (const auto& l : bom.lines)
    if (!(l.*known)) parts += fmt::format("{}'{}'", parts.empty() ? "" : ", ", l.part);
  return parts.empty() ? parts : fmt::format("no {} of {}: give them in `prices`", what, parts);
}

Money money_of(const PlanPlace& place, const PlanQuestion::Data& q) {
  Money m;
  m.bom = bill_of_materials(place.cluster, *q.prices);
  if (q.reliability) {
    const auto g = simulate(*q.reliability, parts_of_cluster(place.cluster, *q.rates, q.reliability->rates), 1);
    m.goodput = Measured{g.share.mean, g.share.p5 > 0 ? 100 * (g.share.mean / g.share.p5 - 1) : 0};
  }
  m.unpriced = lacking(m.bom, &BomLine::priced, "price");
  m.unmetered = lacking(m.bom, &BomLine::metered, "watts");
  if (m.unpriced.empty()) m.capex = priced(m.bom.capex());
  if (m.unmetered.empty()) m.power = priced(m.bom.power());
  if (m.capex) m.network_share = m.bom.network_capex().typical / m.capex->typical;
  return m;
}

struct Value {
  std::optional<Measured> measured;
  std::string why;
};

std::string reason(const std::vector<sim::Diagnostic>& diagnostics) {
  std::string out;
  for (const auto& d : diagnostics)
    out +=
        fmt::format("{}{}{}", out.empty() ? "" : "; ", d.problem, d.help.empty() ? "" : fmt::format(" ({})", d.help));
  return out;
}

/// busbw and algbw are of the machine, whatever the layout.
Value collective(const PlanPlace& place, const PlanMachine& machine, const Goal& goal) try {
  const auto& cluster = place.cluster;
  models::nccl::Call call;
  call.op = *goal.op;
  call.bytes = goal.size;
  const auto row = workloads::CollectiveModel{cluster, machine.library}.run(call);
  const auto& host = cluster.machine(0);
  const auto error = calibration::expected_error(calibration::family_of(host.name(), cluster.nodes() > 1),
                                                 host.gpu_model(host.gpus()[0]).architecture, call.op, call.bytes);
  return {
      Measured{(goal.metric == Metric::busbw ? row.busbw_GBps : row.algbw_GBps) * 1e9, error ? error->p90_percent : 0},
      ""};
} catch (const sim::InputError& e) {
  return {std::nullopt, reason(e.diagnostics())};
}

Value value_of(const PlanOption& o, Metric m, const Money& money) {
  const auto of = [&](const std::optional<Band>& b, double time_p90) -> Value {
    const auto& why = m == Metric::power || money.unpriced.empty() ? money.unmetered : money.unpriced;
    if (!b) return {std::nullopt, why.empty() ? "no prices for this machine" : why};
    return {Measured{b->typical, std::hypot(time_p90, p90_of(*b))}, ""};
  };
  const double p90 = o.trust.p90_percent;
  switch (m) {
    case Metric::step_time:
      return {Measured{o.step_time.seconds(), p90}, ""};
    case Metric::tokens_per_second:
      return {Measured{o.tokens_per_second, p90}, ""};
    case Metric::mfu:
      return {Measured{o.mfu, p90}, ""};
    case Metric::exposed:
      return {Measured{o.exposed_share, p90}, ""};
    case Metric::capex:
      return of(o.capex, 0);
    case Metric::power:
      return of(o.power, 0);
    case Metric::cost_per_gpu_hour:
      return of(o.usd_per_gpu_hour, 0);
    case Metric::cost_per_token:
      return of(o.usd_per_million_tokens, p90);
    case Metric::network_share:
      if (!o.capex) return {std::nullopt, money.unpriced.empty() ? "no prices for this machine" : money.unpriced};
      return {Measured{o.network_share, 0}, ""};
    case Metric::goodput:
      return {o.goodput, "it needs `reliability:` in the scenario"};
    default:
      return {std::nullopt, "not of a plan"};
  }
}

void judge_option(PlanOption& o, const std::vector<Goal>& goals, const std::vector<Value>& own, const Money& money) {
  o.meets_all = true;
  for (std::size_t g = 0; g < goals.size(); ++g) {
    const auto v = goals[g].op ? own[g] : value_of(o, goals[g].metric, money);
    Judged j;
    if (v.measured) {
      j = judge(goals[g], *v.measured);
    } else {
      j.goal = goals[g];
      j.why = v.why;
    }
    o.meets_all = o.meets_all && j.known && j.met;
    o.confidence = std::min(o.confidence, j.known ? j.confidence : 0);
    o.goals.push_back(std::move(j));
  }
}

void mark_front(std::vector<PlanOption>& options) {
  // What is not known is the same on the same machine, and cannot be compared with any other.
  const auto beats = [](const PlanOption& a, const PlanOption& b) {
    const bool same = a.machine == b.machine && a.gpus == b.gpus;
    const auto known = [](const std::optional<Band>& x, const std::optional<Band>& y) { return x && y; };
    const auto not_worse = [&](const std::optional<Band>& x, const std::optional<Band>& y) {
      return known(x, y) ? x->typical <= y->typical : same;
    };
    const auto better = [&](const std::optional<Band>& x, const std::optional<Band>& y) {
      return known(x, y) && x->typical < y->typical;
    };
    if (a.step_time > b.step_time || !not_worse(a.capex, b.capex) || !not_worse(a.power, b.power)) return false;
    return a.step_time < b.step_time || better(a.capex, b.capex) || better(a.power, b.power);
  };
  for (auto& o : options) o.pareto = std::ranges::none_of(options, [&](const auto& other) { return beats(other, o); });
}

/// By how much the worst goal is missed, percent; what is not known is missed by all.
double worst_miss(const PlanOption& o) {
  double worst = 0;
  for (const auto& g : o.goals) worst = std::max(worst, !g.known ? 1e9 : g.met ? 0 : -g.margin_percent);
  return worst;
}

std::string facts(const PlanOption& o) {
  auto text = to_text(Metric::step_time, o.step_time.seconds());
  if (o.capex) text += ", " + to_text(Metric::capex, o.capex->typical);
  if (o.power) text += ", " + to_text(Metric::power, o.power->typical);
  return text;
}

void decide(PlanAnswer& a, std::size_t goals, bool some_failed) {
  // Without a price an option is not the cheapest of any.
  const auto cost = [&](std::size_t i) {
    return a.options[i].capex ? a.options[i].capex->typical : std::numeric_limits<double>::infinity();
  };
  for (std::size_t i = 0; i < a.options.size(); ++i) {
    const auto& o = a.options[i];
    if (!o.meets_all) continue;
    if (!a.best || cost(i) < cost(*a.best) || (cost(i) == cost(*a.best) && o.step_time < a.options[*a.best].step_time))
      a.best = i;
  }
  for (std::size_t i = 0; i < a.options.size(); ++i) {
    const auto& o = a.options[i];
    if (a.best && !o.meets_all) continue;
    if (!a.fastest || o.step_time < a.options[*a.fastest].step_time) a.fastest = i;
  }
  if (a.options.empty()) {
    a.verdict = a.interrupted ? "Interrupted before anything was found."
                : some_failed ? "Nothing was found: each machine's reason is below."
                              : "Nothing fits: no layout of any machine can run.";
    return;
  }
  const auto& fastest = a.options[*a.fastest];
  if (goals == 0) {
    a.best = a.fastest;
    a.verdict = fmt::format("The fastest is {} ({}).", fastest.name, facts(fastest));
    return;
  }
  if (a.best) {
    const auto& best = a.options[*a.best];
    const auto sure = [](const PlanOption& o) {
      return o.confidence > 0.99 ? std::string{"over 99 % sure"} : fmt::format("{:.0f} % sure", 100 * o.confidence);
    };
    const bool some = std::ranges::any_of(a.options, [](const auto& o) { return o.meets_all && !o.capex; });
    a.verdict = fmt::format("All goals are met by {} of {} options. {} is {}: {}; {}.",
                            std::ranges::count_if(a.options, &PlanOption::meets_all), a.options.size(),
                            !best.capex ? "None has a price; the fastest that meets them"
                            : some      ? "The cheapest that meets them, of those with a price,"
                                        : "The cheapest that meets them",
                            best.name, facts(best), sure(best));
    if (a.fastest != a.best)
      a.verdict += fmt::format(" The fastest of them is {}: {}; {}.", fastest.name, facts(fastest), sure(fastest));
    return;
  }
  const auto nearest = std::ranges::min_element(a.options, {}, worst_miss);
  std::string missed;
  for (const auto& g : nearest->goals)
    if (!g.known || !g.met) missed += fmt::format("{}{}: {}", missed.empty() ? "" : "; ", g.goal.text, verdict_text(g));
  a.verdict =
      fmt::format("No option meets all goals. The nearest is {} ({}): {}.", nearest->name, facts(*nearest), missed);
}

void assume(PlanAnswer& a, const PlanQuestion::Data& q, const std::vector<Money>& money) {
  const auto add = [&](std::string text) {
    if (!text.empty() && std::ranges::find(a.assumptions, text) == a.assumptions.end())
      a.assumptions.push_back(std::move(text));
  };
  const auto trust = trust_of_steps();
  add(
      fmt::format("step times: half of the predictions lie within {:.1f} % of what was measured, nine of ten within "
                  "{:.0f} % ({})",
                  trust.median_percent, trust.p90_percent, trust.from));
  add("confidence takes the error's logarithm as normal with that 90th percentile, and the price bands likewise");
  add(q.reliability
          ? "layouts are compared by their step time alone; the time to convergence is left out"
          : "layouts are compared by their step time alone; failures, checkpoints and the time to convergence "
            "are left out");
  for (const auto& p : q.places)
    for (const auto& text : p.cluster.assumptions()) add(text);
  for (const auto& m : money)
    for (const auto& text : m.bom.notes) add(text);
}

}  // namespace

PlanCounts& PlanCounts::operator+=(const PlanCounts& o) {
  layouts += o.layouts;
  do_not_divide += o.do_not_divide;
  do_not_fit += o.do_not_fit;
  pruned_by_bound += o.pruned_by_bound;
  left += o.left;
  evaluated += o.evaluated;
  return *this;
}

PlanAnswer search(const PlanQuestion& question, const PlanSearchOptions& options) {
  const auto& q = question.data();
  const auto n = q.places.size();
  std::vector<CellAnswer> found(n);
  std::vector<Money> money(n);
  std::vector<std::vector<Value>> own(n);
  std::vector<std::exception_ptr> failed(n);
  std::vector<std::vector<sim::Diagnostic>> refused(n);
  std::vector<char> reached(n, 0);
  std::vector<double> shares(n, 0);
  std::mutex mutex;  // of shares and progress
  const auto progress = [&](std::size_t i, double share) {
    const std::scoped_lock lock{mutex};
    shares[i] = share;
    if (options.progress)
      options.progress(static_cast<std::int64_t>(1000 * std::accumulate(shares.begin(), shares.end(), 0.0)),
                       static_cast<std::int64_t>(1000 * n));
  };
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (auto i = next++; i < n && !options.stop.stop_requested(); i = next++) {
      const auto& place = q.places[i];
      const auto& machine = q.machines[place.machine];
      try {
        CellOptions cell{options.exhaustive, [&, i](double share) { progress(i, share); }, options.stop};
        money[i] = money_of(place, q);
        found[i] = search_cell(machine, place, q.evaluations, q.keep, cell);
        for (const auto& goal : q.goals) own[i].push_back(goal.op ? collective(place, machine, goal) : Value{});
        reached[i] = 1;
      } catch (const sim::InputError& e) {  // the others may be what is looked for
        refused[i] = e.diagnostics();
      } catch (...) {
        failed[i] = std::current_exception();
      }
      progress(i, 1);
    }
  };
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  const auto threads =
      std::min<std::size_t>(options.threads > 0 ? static_cast<std::size_t>(options.threads) : cores, n);
  {
    std::vector<std::jthread> pool;
    for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work);
    work();
  }
  for (const auto& f : failed)
    if (f) std::rethrow_exception(f);
  if (std::ranges::all_of(refused, [](const auto& r) { return !r.empty(); })) {
    std::vector<sim::Diagnostic> all;
    for (const auto& r : refused) all.insert(all.end(), r.begin(), r.end());
    throw sim::InputError(std::move(all), "");
  }

  PlanAnswer a;
  a.title = q.title;
  a.interrupted = options.stop.stop_requested();
  for (std::size_t i = 0; i < n; ++i) {
    const auto& place = q.places[i];
    PlanCell cell;
    cell.machine = q.machines[place.machine].name;
    cell.gpus = place.gpus;
    cell.nodes = place.cluster.nodes();
    cell.counts = found[i].counts;
    cell.complete = reached[i] != 0 && found[i].complete;
    cell.why = reached[i] != 0 ? found[i].why : refused[i].empty() ? "not reached" : reason(refused[i]);
    if (reached[i] == 0) found[i].found.clear();
    for (auto& f : found[i].found) {
      PlanOption o;
      o.machine = cell.machine;
      o.gpus = cell.gpus;
      o.nodes = cell.nodes;
      o.name = fmt::format("{}, {} GPUs: {}", cell.machine, cell.gpus, layout_text(f.plan));
      o.step_time = f.time;
      o.bound = f.bound;
      o.mfu = f.mfu;
      o.tokens_per_second = f.tokens_per_second;
      o.exposed_share = f.exposed_share;
      o.bound_by = f.bound_by;
      o.memory_bytes = f.memory_bytes;
      o.trust = trust_of_steps();
      o.capex = money[i].capex;
      o.power = money[i].power;
      o.network_share = money[i].network_share;
      o.goodput = money[i].goodput;
      if (o.capex && o.power) {
        const auto e = economics(money[i].bom, *q.prices, o.tokens_per_second, o.goodput ? o.goodput->value : 1);
        o.usd_per_gpu_hour = priced(e.usd_per_gpu_hour);
        if (e.usd_per_million_tokens) o.usd_per_million_tokens = priced(*e.usd_per_million_tokens);
        for (const auto& text : e.assumptions)
          if (std::ranges::find(a.assumptions, text) == a.assumptions.end()) a.assumptions.push_back(text);
      }
      o.layout = std::move(f.plan);
      judge_option(o, q.goals, own[i], money[i]);
      cell.options.push_back(a.options.size());
      a.options.push_back(std::move(o));
    }
    a.counts += cell.counts;
    a.cells.push_back(std::move(cell));
  }
  mark_front(a.options);
  decide(a, q.goals.size(), std::ranges::any_of(refused, [](const auto& r) { return !r.empty(); }));
  if (a.interrupted) a.verdict += " Interrupted: not everything was searched.";
  assume(a, q, money);
  return a;
}

}  // namespace linkcast::planning
