#include "question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "../said.hpp"
#include "linkcast/planning/variants.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/problem_places.hpp"

namespace linkcast::planning {
namespace {

using workloads::ScenarioFile;
using workloads::trace::Fields;
using workloads::trace::Problems;
using workloads::trace::Value;

constexpr int most_gpus = 1'000'000;

class Reader {
 public:
  Reader(const ScenarioFile& scenario, std::shared_ptr<const topologies::Profile> profile, PlanQuestion::Data& out)
      : scenario_{scenario}, profile_{std::move(profile)}, out_{out} {}

  void read() {
    const auto& root = scenario_.root;
    if (!root.is_map()) {
      problems_.add(root, "a scenario must be a map", "write `topology: dgx-h100`, `workload:` and `search:` lines");
      problems_.throw_if_any();
    }
    const auto* t = root.get("title");
    out_.title = t != nullptr && t->is_scalar() ? t->text : std::filesystem::path{scenario_.path}.filename().string();
    if (const auto* goals = said(root, "goals")) out_.goals = read_goals(problems_, *goals);
    for (const auto* key : {"variants", "options", "faults", "jobs"})
      if (const auto* v = said(root, key))
        problems_.add(*v, fmt::format("a plan takes no '{}'", key), "name machines in `search.machines`");
    read_prices();
    if (const auto* v = said(root, "reliability")) {
      out_.reliability = Reliability::read(v, problems_);
      const auto* rates = said(root, "rates");
      out_.rates =
          rates != nullptr ? FailureRates::of_scenario(*rates, scenario_.folder(), problems_) : FailureRates::shipped();
    }
    const auto* search = said(root, "search");
    if (search == nullptr) {
      problems_.add(root, "the scenario has no 'search'",
                    "write `search: {gpus: [256, 512], layout: {tp: free, pp: free}}`");
      problems_.throw_if_any();
    }
    read_search(*search);
    problems_.throw_if_any();
    if (out_.places.empty()) problems_.add(*search, "there is nothing to search", "give `gpus`");
    problems_.throw_if_any();
  }

 private:
  void read_prices() {
    out_.prices = Prices::shipped();
    const auto* v = said(scenario_.root, "prices");
    if (v == nullptr) return;
    try {
      out_.prices = v->is_scalar() ? Prices::read(workloads::beside(scenario_.folder(), v->text))
                                   : Prices::parse(workloads::written_in_place(*v), scenario_.path);
    } catch (const sim::InputError& e) {
      workloads::trace::add_foreign(problems_, *v, e);
    }
  }

  void read_search(const Value& v) {
    Fields f{problems_, v, "'search'"};
    if (!f.sound()) return;
    const auto* machines = said(f.find("machines"));
    const auto* gpus = said(f.find("gpus"));
    layout_ = said(f.find("layout"));
    if (const auto* keep = said(f.find("keep")))
      if (const auto n = workloads::trace::integer_of(problems_, *keep, "keep", 1, 1000))
        out_.keep = static_cast<std::size_t>(*n);
    if (const auto* budget = said(f.find("budget"))) {
      Fields b{problems_, *budget, "'budget'"};
      if (b.sound()) {
        if (const auto* v = said(b.find("evaluations")))
          if (const auto n = workloads::trace::integer_of(problems_, *v, "evaluations", 1, 100'000'000))
            out_.evaluations = *n;
        b.done();
      }
    }
    f.done();
    if (gpus != nullptr) sizes_ = sizes(*gpus);
    if (machines == nullptr) {
      const auto* topology = scenario_.root.get("topology");
      machine(topology != nullptr && topology->is_scalar() ? topology->text : "the machine", scenario_, v);
      return;
    }
    // Named settings over the scenario, as the options of a sweep are.
    auto named = scenario_;
    std::erase_if(named.root.entries, [](const auto& e) {
      return e.first.text == "options" || e.first.text == "variants" || e.first.text == "baseline";
    });
    if (!machines->is_map() || machines->entries.empty()) {
      problems_.add(*machines, "'machines' must be a map of names to settings",
                    "write `NVL72: {topology: gb200-nvl72}` lines: a name, and keys of the scenario with their values");
      return;
    }
    named.root.entries.push_back({Value{Value::Kind::scalar, false, machines->place, "options", {}, {}}, *machines});
    const auto before = problems_.count();
    for (const auto& [name, settings] : machines->entries) {
      if (!settings.is_map()) continue;
      for (const auto& [key, value] : settings.entries)
        if (std::ranges::find(workloads::planning_keys(), key.text) != workloads::planning_keys().end())
          problems_.add(key, fmt::format("'{}' is of the whole plan, not of one machine", key.text),
                        "write it beside 'search'");
    }
    const Variants variants{named, problems_};
    if (problems_.count() > before) return;
    for (std::int64_t i = 0; i < variants.count(); ++i)
      machine(variants.name(i), variants.scenario(i), machines->entries[static_cast<std::size_t>(i)].second);
  }

  /// "512", a list, or a range as sweeps have it.
  std::vector<std::pair<int, Value>> sizes(const Value& v) {
    std::vector<std::pair<int, Value>> out;
    const auto add = [&](const Value& item) {
      if (const auto n = workloads::trace::integer_of(problems_, item, "gpus", 1, most_gpus)) {
        if (std::ranges::find(out, static_cast<int>(*n), &std::pair<int, Value>::first) == out.end())
          out.emplace_back(static_cast<int>(*n), item);
      }
    };
    if (v.is_sequence()) {
      if (v.items.empty()) problems_.add(v, "'gpus' has no values: the space is empty", "name at least one size");
      for (const auto& item : v.items) add(item);
    } else if (v.is_scalar() && v.text.find(':') != std::string::npos) {
      ScenarioFile grid{scenario_.path, v};
      grid.root = Value{Value::Kind::map, false, v.place, {}, {}, {}};
      auto axis = grid.root;
      axis.entries.push_back({Value{Value::Kind::scalar, false, v.place, "gpus", {}, {}}, v});
      grid.root.entries.push_back({Value{Value::Kind::scalar, false, v.place, "variants", {}, {}}, axis});
      const Variants range{grid, problems_};
      if (range.axes().empty()) return out;
      if (range.axes().front().choices.size() > 10'000) {
        problems_.add(v, fmt::format("{} sizes are too many", range.axes().front().choices.size()),
                      "write 256:4096:x2");
        return out;
      }
      for (const auto& c : range.axes().front().choices) add(c.settings.front().second);
    } else {
      add(v);
    }
    return out;
  }

  void machine(const std::string& name, const ScenarioFile& written, const Value& at) {
    const auto before = problems_.count();
    auto scenario = without_planning(written);
    auto mine = sizes_;
    auto& entries = scenario.root.entries;
    const auto said_gpus = std::ranges::find_if(entries, [](const auto& e) { return e.first.text == "gpus"; });
    if (said_gpus != entries.end()) {
      mine = sizes(said_gpus->second);
      entries.erase(said_gpus);
    } else if (mine.empty() && problems_.empty()) {
      problems_.add(at, fmt::format("nothing says how many GPUs of '{}'", name),
                    "write `gpus: [256, 512]` in `search`");
    }
    Fields f{problems_, scenario.root, "the scenario"};
    f.find("schema"), f.find("title");
    PlanMachine m;
    m.name = name;
    m.library = workloads::read_library(f);
    auto place = workloads::read_machine(f, scenario.folder(), profile_);
    if (const auto* v = said(f.find("replay")))
      problems_.add(*v, "a plan takes no 'replay'", "run its best layout with `linkcast run` to vary that");
    if (!place.hosts.empty())
      problems_.add(*scenario.root.get("hosts"), "a plan takes no 'hosts': it searches how many there are");
    auto base = step(f, m, scenario);
    f.done();
    if (problems_.count() > before || !base) return;
    m.space = std::make_unique<LayoutSpace>(layout_, std::move(*base), m.card, scenario.path, problems_);
    if (problems_.count() > before) return;
    const auto index = out_.machines.size();
    for (const auto& [gpus, where] : mine) on(place, gpus, where, index, name);
    out_.machines.push_back(std::move(m));
  }

  std::optional<workloads::Plan> step(Fields& f, PlanMachine& m, const ScenarioFile& scenario) {
    const auto* v = f.need("workload");
    if (v == nullptr) return std::nullopt;
    Fields w{problems_, *v, "the workload"};
    const auto* step = w.sound() ? w.find("step") : nullptr;
    if (step == nullptr) {
      problems_.add(*v, "a plan needs a training step",
                    "write `workload: {step: {model: llama.yaml, plan: {global_batch: 1024, sequence: 8192}}}`");
      return std::nullopt;
    }
    w.done();
    Fields s{problems_, *step, "the step"};
    if (!s.sound()) return std::nullopt;
    const auto* model = s.need("model");
    const auto* plan = s.need("plan");
    const auto path = s.word("model");
    if (const auto* serving = s.find("serving"))
      problems_.add(*serving, "a plan searches training steps, not inference", "leave 'serving' out");
    s.done();
    std::optional<workloads::Plan> base;
    if (path) {
      try {
        m.card = workloads::read_model_card(workloads::beside(scenario.folder(), *path));
      } catch (const sim::InputError& e) {
        workloads::trace::add_foreign(problems_, *model, e);
      }
    }
    if (plan == nullptr) return std::nullopt;
    try {
      base =
          workloads::read_plan(workloads::written_in_place(*plan), scenario.path, plan->place.line, plan->place.column);
    } catch (const sim::InputError& e) {
      workloads::trace::add_own(problems_, *plan, e);
    }
    if (!base) return std::nullopt;
    for (const auto* key : {"dp", "gpus"})
      if (const auto* x = plan->get(key))
        problems_.add(*x, fmt::format("'{}' is what the search finds", key), "leave it out of the plan");
    if (base->global_batch == 0)
      problems_.add(*plan, "the plan has no 'global_batch': what one step trains on must be the same everywhere",
                    "global_batch: 1024");
    if (base->sequence == 0 && m.card.sequence == 0)
      problems_.add(*plan, "the plan has no 'sequence', and the model card no default", "sequence: 8192");
    if (base->sequence == 0) base->sequence = m.card.sequence;
    return base;
  }

  /// A machine in one size: its cluster.
  void on(const workloads::ScenarioMachine& place, int gpus, const Value& where, std::size_t machine,
          const std::string& name) {
    try {
      auto one = place;
      one.load.nodes = 1;
      one.network.clear();
      one.overrides.clear();
      one.nics.reset();
      one.placement.reset();
      const int each = workloads::load_machine(one).gpus_per_node();
      if (gpus > each && gpus % each != 0) {
        problems_.add(where, fmt::format("{} GPUs do not fill machines of {} GPUs ('{}')", gpus, each, name),
                      fmt::format("give this machine sizes of its own, such as `gpus: [{}, {}]`", gpus / each * each,
                                  (gpus / each + 1) * each));
        return;
      }
      auto here = place;
      here.gpus = gpus;
      if (here.load.nodes == 0) here.load.nodes = std::max(1, gpus / each);
      auto cluster = workloads::load_machine(here);
      if (cluster.machine(0).gpu_model(cluster.machine(0).gpus()[0]).peak_bf16 <= 0)
        throw sim::InputError(fmt::format("the peak of the GPUs of '{}' is not known", name));
      out_.places.push_back({machine, gpus, std::move(cluster)});
    } catch (const sim::InputError& e) {
      workloads::trace::add_foreign(problems_, where, e);
    }
  }

  const ScenarioFile& scenario_;
  std::shared_ptr<const topologies::Profile> profile_;
  PlanQuestion::Data& out_;
  Problems problems_;
  std::vector<std::pair<int, Value>> sizes_;
  const Value* layout_ = nullptr;
};

}  // namespace

PlanQuestion::PlanQuestion(ScenarioFile scenario, std::shared_ptr<const topologies::Profile> profile)
    : data_{std::make_unique<Data>()} {
  Reader{scenario, std::move(profile), *data_}.read();
}
PlanQuestion::~PlanQuestion() = default;
PlanQuestion::PlanQuestion(PlanQuestion&&) noexcept = default;

const std::string& PlanQuestion::title() const { return data_->title; }
const std::vector<Goal>& PlanQuestion::goals() const { return data_->goals; }
std::size_t PlanQuestion::cells() const { return data_->places.size(); }

}  // namespace linkcast::planning
