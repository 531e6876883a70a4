// See measure_run.hpp.
#include "linkcast/calibration/measure_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "linkcast/sim/diagnostic.hpp"

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
    if (!options_.only_plan) spend(std::move(items), estimates, started);
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
      std::erase_if(file_.items, [](const Item& i) { return !i.complete; });
      std::erase_if(file_.plan, [&](const PlannedItem& p) { return find(p.id) == nullptr; });
    } else {
      file_.created = options_.created;
    }
    file_.tool = options_.tool;
    file_.machine = std::move(there);
    file_.budget_s = options_.budget_s;
  }

  const Item* find(const std::string& id) const {
    const auto found = std::ranges::find(file_.items, id, &Item::id);
    return found == file_.items.end() ? nullptr : &*found;
  }

  std::vector<Item> open_items() const {
    auto items = items_for(file_.machine, options_.plan);
    if (items.empty()) {
      std::string why;
      for (const auto& m : file_.machine.missing) why += (why.empty() ? "" : "; ") + m;
      throw sim::InputError("nothing of what was asked for can be measured on this machine", why);
    }
    std::erase_if(items, [&](const Item& i) { return find(i.id) != nullptr; });
    return items;
  }

  void remember_plan(const std::vector<Item>& items, const std::vector<double>& estimates, double spent) {
    const auto first = plan(items, estimates, options_.budget_s - spent);
    planned_ = static_cast<int>(first.order.size());
    for (const auto i : first.order) file_.plan.push_back({items[i].id, items[i].tells, "planned", estimates[i]});
    for (const auto i : first.dropped) file_.plan.push_back({items[i].id, items[i].tells, "dropped", estimates[i]});
  }

  void set_state(const std::string& id, const std::string& state) {
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
      do_item(item);
      corrections[static_cast<std::size_t>(item.kind)].learn(estimate, item.took_s);
      ++done;
      keep(std::move(item));
    }
    // What there was no time for, whatever the first plan said.
    for (const auto& item : items) set_state(item.id, options_.stop.stop_requested() ? "planned" : "dropped");
    if (options_.save) options_.save(file_);
    say({}, done, started);
  }

  void say(const std::string& item, int done, double started) const {
    if (!options_.progress) return;
    options_.progress({item, done, std::max(planned_, done), machine_.elapsed_s() - started, options_.budget_s});
  }

  void do_item(Item& item) {
    const double began = machine_.elapsed_s();
    item.complete = true;
    for (auto& cell : item.cells) {
      if (options_.stop.stop_requested()) {
        item.complete = false;
        break;
      }
      try {
        std::visit(Ask{machine_, cell}, cell.request);
      } catch (const sim::InputError& e) {
        // An algorithm that NCCL does not have here, a way that is closed: the others may still do. An item whose
        // first requests fail is given up; asking again would not help, so it counts as done.
        const auto& d = e.diagnostics().front();
        item.problem = d.help.empty() ? d.problem : fmt::format("{} ({})", d.problem, d.help);
        break;
      }
    }
    item.took_s = machine_.elapsed_s() - began;
  }

  void keep(Item item) {
    std::erase_if(item.cells, [](const Cell& c) { return !c.measured(); });
    set_state(item.id, item.cells.empty() && !item.problem.empty() ? "failed"
                       : item.complete && item.problem.empty()     ? "measured"
                       : item.cells.empty()                        ? "planned"
                                                                   : "partly measured");
    if (!item.cells.empty() || !item.problem.empty()) file_.items.push_back(std::move(item));
    if (options_.save) options_.save(file_);
  }

  Machine& machine_;
  const MeasureOptions& options_;
  MeasurementFile file_;
  int planned_ = 0;
};

}  // namespace

MeasurementFile measure(Machine& machine, const MeasureOptions& options, std::optional<MeasurementFile> before) {
  return Run(machine, options).measure(std::move(before));
}

}  // namespace linkcast::calibration
