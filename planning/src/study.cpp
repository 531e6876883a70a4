// See study.hpp.
#include "linkcast/planning/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "input_hash.hpp"
#include "linkcast/planning/fault_run.hpp"
#include "linkcast/planning/faults.hpp"
#include "linkcast/planning/goodput.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/flow_scenario.hpp"
#include "linkcast/workloads/scenario.hpp"
#include "said.hpp"
#include "source_hash.hpp"

namespace linkcast::planning {
namespace {

using workloads::ScenarioFile;
using workloads::trace::Problems;
using workloads::trace::Value;

std::string number(double v) { return v == 0 ? std::string{} : fmt::format("{:.10g}", v); }

/// As a field of a row keeps them: "compute=12.5;tp=3".
std::string parts_text(const std::vector<Part>& parts) {
  std::string out;
  for (const auto& p : parts) out += fmt::format("{}{}={:.6f}", out.empty() ? "" : ";", p.name, p.time.us());
  return out;
}

const std::vector<Column>& facts() {
  static const std::vector<Column> columns{{"status"},
                                           {"error"},
                                           {"time_us", true},
                                           {"algbw_GBps", true},
                                           {"busbw_GBps", true},
                                           {"algorithm"},
                                           {"protocol"},
                                           {"channels", true},
                                           {"bound_by"},
                                           {"bound_link"},
                                           {"exposed_percent", true},
                                           {"mfu_percent", true},
                                           {"tokens_per_second", true},
                                           {"topology"},
                                           {"gpu"},
                                           {"nodes", true},
                                           {"gpus", true},
                                           {"nccl"},
                                           {"expected_error_percent", true},
                                           {"expected_error_p90_percent", true},
                                           {"extrapolated"},
                                           {"expected_error_from"},
                                           {"capex_usd_low", true},
                                           {"capex_usd", true},
                                           {"capex_usd_high", true},
                                           {"power_w_low", true},
                                           {"power_w", true},
                                           {"power_w_high", true},
                                           {"network_share_percent", true},
                                           {"usd_per_gpu_hour", true},
                                           {"usd_per_million_tokens", true},
                                           {"goodput_percent", true},
                                           {"goodput_p5_percent", true},
                                           {"parts_us"}};
  return columns;
}

void erase(Value& map, std::string_view key) {
  std::erase_if(map.entries, [&](const auto& e) { return e.first.text == key; });
}

/// What a scenario must say for it to be read, without anything being simulated.
void check(const ScenarioFile& scenario, const std::shared_ptr<const topologies::Profile>& profile) {
  switch (workloads::workload_kind(scenario)) {
    case workloads::WorkloadKind::collective:
      static_cast<void>(workloads::read_collective_scenario(scenario, profile));
      break;
    case workloads::WorkloadKind::flows:
      static_cast<void>(workloads::read_flow_scenario(scenario, profile));
      break;
    case workloads::WorkloadKind::recording:
      static_cast<void>(workloads::read_recorded_scenario(scenario, profile));
      break;
    case workloads::WorkloadKind::programs: {
      workloads::ScenarioOptions options;
      options.profile = profile;
      workloads::check_scenario_text(workloads::written_in_place(scenario.root), scenario.path, options);
      break;
    }
  }
}

/// The scenario as it is, or with the faults that it names.
Evaluation with_faults(const ScenarioFile& scenario, Evaluator& evaluator, ScenarioFile& view) {
  if (said(scenario.root, "faults") == nullptr) return evaluator.run(scenario);
  if (has_timed_faults(scenario))
    throw sim::InputError("faults with `at` happen during a run", "`linkcast run` goes through them");
  const Elements elements{evaluator.cluster(scenario)};
  const auto faults = faults_of(scenario, elements);
  return evaluate(evaluator, apply(scenario, elements, faults), &view);
}

}  // namespace

struct Study::Impl {
  ScenarioFile scenario;
  StudyOptions options;
  Problems problems;
  std::optional<Variants> variants;
  std::vector<Goal> goals;
  std::vector<Column> columns;
  std::unordered_map<std::string, std::size_t> places;
  std::string title;
  std::shared_ptr<const Prices> prices;
  std::string base_hash;
  std::unique_ptr<FileHashes> files;
  std::mutex mutex;  // of `machines`
  struct Standing {
    std::shared_ptr<const Prices> prices;
    BillOfMaterials bom;
    std::optional<Goodput> goodput;
  };
  std::map<std::string, std::shared_ptr<const Standing>> machines;

  explicit Impl(ScenarioFile s, StudyOptions o) : scenario{std::move(s)}, options{std::move(o)} {
    const auto& root = scenario.root;
    if (!root.is_map()) {
      problems.add(root, "a scenario must be a map", "write `topology: dgx-h100` and `workload:` lines");
      problems.throw_if_any();
    }
    if (const auto* v = said(root, "goals")) goals = read_goals(problems, *v);
    variants.emplace(scenario, problems);
    problems.throw_if_any();
    check_planning();
    problems.throw_if_any();
    const auto* t = root.get("title");
    title = t != nullptr && t->is_scalar() ? t->text : scenario.path;
    files = std::make_unique<FileHashes>(scenario.folder());
    Hash hash;
    hash.add(options.version).add(source_hash()).add(options.profile ? options.profile->text() : "");
    base_hash = hash.text();
    make_columns();
    check_choices();
  }

  /// What can be wrong with the keys of planning themselves.
  void check_planning() {
    prices = prices_of(scenario);
    if (const auto* v = said(scenario.root, "reliability")) static_cast<void>(Reliability::read(v, problems));
    if (const auto* v = said(scenario.root, "rates"))
      static_cast<void>(FailureRates::of_scenario(*v, scenario.folder(), problems));
    if (const auto* v = said(scenario.root, "jobs"))
      problems.add(*v, "jobs run side by side, and have no single time", "`linkcast run` compares them");
  }

  void make_columns() {
    columns = {{"key"}, {"name"}};
    // `nodes` may vary and is a fact too: no two columns have one name.
    for (const auto& axis : variants->axes())
      columns.push_back({std::ranges::any_of(facts(), [&](const auto& f) { return f.name == axis.key; })
                             ? "variant." + axis.key
                             : axis.key});
    columns.insert(columns.end(), facts().begin(), facts().end());
    for (std::size_t g = 1; g <= goals.size(); ++g) {
      columns.push_back({fmt::format("goal_{}", g)});
      columns.push_back({fmt::format("goal_{}_value", g), true});
      columns.push_back({fmt::format("goal_{}_p90_percent", g), true});
    }
    for (std::size_t i = columns.size(); i-- > 0;) places[columns[i].name] = i;
  }

  /// Every key that varies, once: a key that does not exist is said before anything runs.
  void check_choices() {
    std::vector<std::size_t> chosen(variants->axes().size(), 0);
    check(variants->scenario(chosen), options.profile);
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      const auto& axis = variants->axes()[a];
      for (std::size_t c = 1; c < axis.choices.size(); ++c) {
        // Named options differ in their keys, so each is looked at; values of one key in how they are written.
        if (axis.key != "option" && c + 1 < axis.choices.size()) continue;
        chosen[a] = c;
        check(variants->scenario(chosen), options.profile);
      }
      chosen[a] = 0;
    }
  }

  /// What does not depend on the workload's time, so that variants of one machine share it.
  std::shared_ptr<const Standing> standing(const std::string& machine, const ScenarioFile& s, Evaluator& evaluator) {
    auto at_key = machine;
    for (const auto* k : {"prices", "rates", "reliability"})
      if (const auto* v = s.root.get(k)) at_key += '|' + workloads::written(*v);
    {
      const std::scoped_lock lock{mutex};
      if (const auto at = machines.find(at_key); at != machines.end()) return at->second;
    }
    auto m = std::make_shared<Standing>();
    const auto cluster = evaluator.cluster(s);
    m->prices = prices_of(s);
    m->bom = bill_of_materials(cluster, *m->prices);
    m->goodput = goodput_of(s, cluster);
    const std::scoped_lock lock{mutex};
    return machines.try_emplace(at_key, std::move(m)).first->second;
  }

  static std::optional<Goodput> goodput_of(const ScenarioFile& s, const topologies::Cluster& cluster) {
    const auto* wanted = said(s.root, "reliability");
    if (wanted == nullptr) return std::nullopt;
    Problems found;
    const auto reliability = Reliability::read(wanted, found);
    const auto* v = said(s.root, "rates");
    const auto rates = v != nullptr ? FailureRates::of_scenario(*v, s.folder(), found) : FailureRates::shipped();
    found.throw_if_any();
    return simulate(reliability, parts_of_cluster(cluster, *rates, reliability.rates), 1);
  }

  std::shared_ptr<const Prices> prices_of(const ScenarioFile& s) const {
    Problems found;
    auto out = Prices::of_scenario(said(s.root, "prices"), s.path, found);
    found.throw_if_any();
    return out;
  }
};

Study::Study(ScenarioFile scenario, StudyOptions options)
    : impl_{std::make_unique<Impl>(std::move(scenario), std::move(options))} {}
Study::~Study() = default;
Study::Study(Study&&) noexcept = default;

const std::string& Study::title() const { return impl_->title; }
const std::string& Study::path() const { return impl_->scenario.path; }
const Variants& Study::variants() const { return *impl_->variants; }
const std::vector<Goal>& Study::goals() const { return impl_->goals; }
const std::vector<Column>& Study::columns() const { return impl_->columns; }
std::shared_ptr<const Prices> Study::prices() const { return impl_->prices; }
std::shared_ptr<const topologies::Profile> Study::profile() const { return impl_->options.profile; }

std::size_t Study::column(std::string_view name) const {
  const auto at = impl_->places.find(std::string{name});
  if (at == impl_->places.end()) throw sim::InternalError(fmt::format("a study has no column '{}'", name));
  return at->second;
}

std::string Study::key(std::int64_t i) const {
  auto root = impl_->variants->scenario(i).root;
  for (const auto* k : {"title", "notes", "search", "resilience"}) erase(root, k);
  Hash hash;
  hash.add(impl_->base_hash).add(workloads::written(root));
  impl_->files->add(hash, root);
  return hash.text();
}

std::string Study::machine_key(std::int64_t i) const {
  auto s = without_planning(impl_->variants->scenario(i));
  // A step's plan says how many GPUs there must be.
  const auto* workload = s.root.get("workload");
  const bool collective = workload != nullptr && workload->is_map() && workload->get("collective") != nullptr;
  for (const auto* k : {"title", "replay"}) erase(s.root, k);
  if (collective) erase(s.root, "workload");
  return workloads::written(s.root);
}

Row Study::row(std::int64_t i, Evaluator& evaluator) const {
  const auto& m = *impl_;
  Row row(m.columns.size());
  row[column("key")] = key(i);
  row[column("name")] = m.variants->name(i);
  const auto names = m.variants->names(i);
  for (std::size_t a = 0; a < names.size(); ++a) row[2 + a] = names[a];
  const auto plain = row;
  try {
    fill(row, i, evaluator);
    return row;
  } catch (const sim::InputError& error) {  // of this variant: the others go on
    row = plain;
    row[column("status")] = "error";
    const auto& d = error.diagnostics().front();
    row[column("error")] = d.help.empty() ? d.problem : fmt::format("{} ({})", d.problem, d.help);
    return row;
  }
}

void Study::fill(Row& row, std::int64_t i, Evaluator& evaluator) const {
  const auto& m = *impl_;
  const auto set = [&](std::string_view name, std::string text) { row[column(name)] = std::move(text); };
  const auto scenario = m.variants->scenario(i);
  auto view = scenario;  // what a collective of a goal is asked of: with its faults
  const auto e = with_faults(scenario, evaluator, view);
  set("status", e.outage ? "outage" : "done");
  if (e.outage) {
    set("error", e.outage_reason);
    judge_goals(row);
    return;
  }
  set("time_us", fmt::format("{:.6f}", e.time.us()));
  if (e.collective) {
    const auto& r = e.collective->row;
    set("algbw_GBps", number(r.algbw_GBps));
    set("busbw_GBps", number(r.busbw_GBps));
    set("algorithm", r.algorithm);
    set("protocol", r.protocol);
    set("channels", fmt::format("{}", r.channels));
  }
  set("bound_by", e.bound_by);
  set("bound_link", e.bound_link);
  if (e.kind != "collective") set("exposed_percent", fmt::format("{:.4f}", 100 * e.exposed_share));
  set("mfu_percent", number(100 * e.mfu));
  set("tokens_per_second", number(e.tokens_per_second));
  set("topology", e.topology);
  set("gpu", e.gpu);
  set("nodes", fmt::format("{}", e.nodes));
  set("gpus", fmt::format("{}", e.ranks));
  set("nccl", e.nccl);
  set("expected_error_percent", number(e.trust.median_percent));
  set("expected_error_p90_percent", number(e.trust.p90_percent));
  set("extrapolated", e.trust.extrapolated ? "yes" : "no");
  set("expected_error_from", e.trust.from);
  set("parts_us", parts_text(e.parts));

  const auto standing = impl_->standing(machine_key(i), scenario, evaluator);
  const auto& bom = standing->bom;
  const auto capex = bom.capex(), power = bom.power();
  const bool priced = bom.unpriced.empty(), metered = std::ranges::all_of(bom.lines, &BomLine::metered);
  if (priced) {  // a sum without a part would be taken for the whole
    set("capex_usd_low", number(capex.low));
    set("capex_usd", number(capex.typical));
    set("capex_usd_high", number(capex.high));
    if (capex.typical > 0)
      set("network_share_percent", fmt::format("{:.10g}", 100 * bom.network_capex().typical / capex.typical));
  }
  if (metered) {
    set("power_w_low", number(power.low));
    set("power_w", number(power.typical));
    set("power_w_high", number(power.high));
  }
  double goodput = 1;
  if (standing->goodput) {
    goodput = standing->goodput->share.mean;
    set("goodput_percent", number(100 * goodput));
    set("goodput_p5_percent", number(100 * standing->goodput->share.p5));
  }
  const auto economy = economics(standing->bom, *standing->prices, e.tokens_per_second, goodput);
  if (priced && metered) set("usd_per_gpu_hour", number(economy.usd_per_gpu_hour.typical));
  if (priced && metered && economy.usd_per_million_tokens)
    set("usd_per_million_tokens", number(economy.usd_per_million_tokens->typical));

  for (std::size_t g = 0; g < m.goals.size(); ++g) {
    const auto& goal = m.goals[g];
    if (!goal.op) continue;
    const auto answer = evaluator.collective(view, *goal.op, goal.size);
    const double bw = goal.metric == Metric::busbw ? answer.row.busbw_GBps : answer.row.algbw_GBps;
    set(fmt::format("goal_{}_value", g + 1), number(bw * 1e9));
    if (answer.error) set(fmt::format("goal_{}_p90_percent", g + 1), number(answer.error->p90_percent));
  }
  judge_goals(row);
}

void Study::judge_goals(Row& row) const {
  const auto results = judged(*this, row);
  for (std::size_t g = 0; g < results.size(); ++g) {
    const auto& j = results[g];
    row[column(fmt::format("goal_{}", g + 1))] = !j.known ? "unknown" : j.met ? "met" : "missed";
    if (j.known) row[column(fmt::format("goal_{}_value", g + 1))] = fmt::format("{:.10g}", j.value);
  }
}

}  // namespace linkcast::planning
