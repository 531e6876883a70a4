// See measure_run.hpp.
#include "linkcast/calibration/measure_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>

#include "linkcast/sim/diagnostic.hpp"
#include "problems.hpp"
#include "request_json.hpp"

namespace linkcast::calibration {
namespace {

struct Ask {
  Machine& machine;
  Cell& cell;
  void operator()(const CopyRequest& r) const { cell.times = machine.copy(r).each; }
  void operator()(const ChaseRequest& r) const { cell.times = {machine.chase(r)}; }
  void operator()(const LaunchRequest& r) const { cell.times = {machine.launch(r)}; }
  void operator()(const CollectiveRequest& r) const {
    auto result = machine.collective(r);
    cell.times = {result.wall, result.events};
    cell.algorithm = std::move(result.algorithm);
    cell.protocol = std::move(result.protocol);
  }
};

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_saves{1};

std::string state_of(const Item& item) {
  if (item.cells.empty()) return item.problem.empty() ? "planned" : "failed";
  return item.complete && item.problem.empty() ? "measured" : "partly measured";
}

/// What an earlier run has measured of an item is not asked again. What it has beyond the item's requests stays.
void take_over(Item& item, const Item& before) {
  std::map<std::string, const Cell*> known;
  for (const auto& cell : before.cells) known.emplace(question_of(cell.request), &cell);
  for (auto& cell : item.cells)
    if (const auto found = known.find(question_of(cell.request)); found != known.end()) {
      cell = *found->second;
      known.erase(found);
    }
  for (const auto& [question, cell] : known) item.cells.push_back(*cell);
  item.took_s = before.took_s;
}

class Run {
 public:
  Run(Machine& machine, const MeasureOptions& options) : machine_{machine}, options_{options} {}

  MeasurementFile measure(std::optional<MeasurementFile> before) {
    begin(std::move(before));
    auto items = open_items();
    const double started = machine_.elapsed_s();
    const auto speeds = first_timings(machine_, file_.machine);
    set_repetitions(items, speeds, options_.plan.rounds);
    const double spent = machine_.elapsed_s() - started;
    std::vector<double> estimates;
    for (const auto& item : items) estimates.push_back(estimated_s(item, speeds));
    remember_plan(items, estimates, spent);
    if (!options_.only_plan) {
      // Whoever asks to stop may not wait for the request under way.
      const std::stop_callback at_once{options_.stop, [this] { save_what_is_there(); }};
      spend(std::move(items), estimates, started);
    }
    return std::move(file_);
  }

 private:
  void begin(std::optional<MeasurementFile> before) {
    auto there = machine_.discover();
    if (options_.system) there.system = options_.system;
    if (before) {
      if (const auto reason = difference(before->machine, there); !reason.empty())
        throw sim::InputError("the file is of another machine: " + reason,
                              "go on where it was measured, or start a new file");
      file_ = std::move(*before);
    } else {
      file_.created = options_.created;
    }
    file_.tool = options_.tool;
    file_.machine = std::move(there);
    file_.budget_s = options_.budget_s;
  }

  Item* find(const std::string& id) {
    const auto found = std::ranges::find(file_.items, id, &Item::id);
    return found == file_.items.end() ? nullptr : &*found;
  }

  std::vector<Item> open_items() {
    auto items = items_for(file_.machine, options_.plan);
    if (items.empty()) {
      std::string why;
      for (const auto& m : file_.machine.missing) why += (why.empty() ? "" : "; ") + m;
      if (why.empty()) why = "a size must leave 4 bytes for each rank, and fit four times into a GPU's memory";
      throw sim::InputError("nothing of what was asked for can be measured on this machine", why);
    }
    std::erase_if(items, [&](const Item& i) {
      const auto* known = find(i.id);
      return known != nullptr && known->complete;
    });
    for (auto& item : items)
      if (const auto* known = find(item.id)) take_over(item, *known);
    std::erase_if(items, [](const Item& i) { return std::ranges::all_of(i.cells, &Cell::measured); });
    return items;
  }

  void remember_plan(const std::vector<Item>& items, const std::vector<double>& estimates, double spent) {
    std::erase_if(file_.plan, [&](const PlannedItem& p) {
      return find(p.id) == nullptr || std::ranges::find(items, p.id, &Item::id) != items.end();
    });
    const auto first = plan(items, estimates, options_.budget_s - spent);
    planned_ = static_cast<int>(first.order.size());
    for (const auto i : first.order) file_.plan.push_back({items[i].id, items[i].tells, "planned", estimates[i]});
    for (const auto i : first.dropped) file_.plan.push_back({items[i].id, items[i].tells, "dropped", estimates[i]});
  }

  void set_state(const std::string& id, const std::string& state) {
    const std::lock_guard lock{guard_};
    std::ranges::find(file_.plan, id, &PlannedItem::id)->state = state;
  }

  /// What an item really took corrects what is expected of the others of its kind.
  struct Correction {
    double factor = 1;
    void learn(double estimate, double took) {
      factor = std::clamp(0.5 * factor + 0.5 * took / std::max(estimate, 1e-6), 0.2, 20.0);
    }
  };

  void spend(std::vector<Item> items, std::vector<double> estimates, double started) {
    std::array<Correction, 7> corrections;
    int done = 0;
    while (!options_.stop.stop_requested()) {
      const double left = options_.budget_s - (machine_.elapsed_s() - started);
      std::vector<double> costs;
      for (std::size_t i = 0; i < items.size(); ++i)
        costs.push_back(estimates[i] * corrections[static_cast<std::size_t>(items[i].kind)].factor);
      const auto next = next_item(items, costs, left);
      if (next == items.size()) break;
      auto item = std::move(items[next]);
      const double estimate = estimates[next];
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(next));
      estimates.erase(estimates.begin() + static_cast<std::ptrdiff_t>(next));
      say(item.id, done, started);
      auto& correction = corrections[static_cast<std::size_t>(item.kind)];
      correction.learn(estimate, do_item(place(std::move(item))));
      ++done;
      save();
    }
    // What there was no time for, whatever the first plan said.
    for (const auto& item : items) {
      const auto* known = find(item.id);
      set_state(item.id, known != nullptr ? state_of(*known) : options_.stop.stop_requested() ? "planned" : "dropped");
    }
    save();
    say({}, done, started);
  }

  void say(const std::string& item, int done, double started) const {
    if (!options_.progress) return;
    options_.progress({item, done, std::max(planned_, done), machine_.elapsed_s() - started, options_.budget_s});
  }

  /// Into the file, in place of what an earlier run left of it: each of its times counts once it is there.
  Item& place(Item item) {
    const std::lock_guard lock{guard_};
    item.problem.clear();
    item.complete = false;
    if (auto* known = find(item.id)) return *known = std::move(item);
    return file_.items.emplace_back(std::move(item));
  }

  /// What it took now.
  double do_item(Item& item) {
    const double began = machine_.elapsed_s(), before = item.took_s;
    std::string problem;
    bool complete = true;
    for (auto& cell : item.cells) {
      if (cell.measured()) continue;
      complete = !options_.stop.stop_requested();
      if (!complete) break;
      auto answered = cell;
      // An algorithm that NCCL does not have here, a way that is closed: the others may still do. An item one of whose
      // requests fails is given up.
      try {
        std::visit(Ask{machine_, answered}, answered.request);
      } catch (const Lacking& e) {
        problem = words_of(e);
        break;
      } catch (const sim::InputError& e) {
        problem = words_of(e);
        complete = false;
        break;
      }
      {
        const std::lock_guard lock{guard_};
        cell = std::move(answered);
        item.took_s = before + machine_.elapsed_s() - began;
        set_state(item.id, "partly measured");
        if (Clock::now() - saved_ >= between_saves) save();
      }
    }
    const double took = machine_.elapsed_s() - began;
    finish(item, std::move(problem), complete, before + took);
    return took;
  }

  void finish(Item& item, std::string problem, bool complete, double took_s) {
    const std::lock_guard lock{guard_};
    item.problem = std::move(problem);
    item.complete = complete;
    item.took_s = took_s;
    std::erase_if(item.cells, [](const Cell& c) { return !c.measured(); });
    set_state(item.id, state_of(item));
    if (item.cells.empty() && item.problem.empty())
      std::erase_if(file_.items, [&, id = item.id](const Item& i) { return i.id == id; });
  }

  void save() {
    if (!options_.save) return;
    const std::lock_guard lock{guard_};
    options_.save(file_);
    saved_ = Clock::now();
  }

  void save_what_is_there() noexcept {
    try {
      const std::lock_guard lock{guard_};
      if (std::ranges::any_of(file_.items, [](const Item& i) { return std::ranges::any_of(i.cells, &Cell::measured); }))
        save();
    } catch (...) {
      // The thread that measures saves once more, and meets the same error where it can be said.
    }
  }

  Machine& machine_;
  const MeasureOptions& options_;
  MeasurementFile file_;
  std::recursive_mutex guard_;  // of file_: whoever asks to stop saves it too, perhaps out of options_.save
  Clock::time_point saved_ = Clock::now();
  int planned_ = 0;
};

}  // namespace

MeasurementFile measure(Machine& machine, const MeasureOptions& options, std::optional<MeasurementFile> before) {
  return Run(machine, options).measure(std::move(before));
}

}  // namespace linkcast::calibration
