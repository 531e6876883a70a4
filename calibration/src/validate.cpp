// Predictions for measured series, and their errors. One communicator for each series; series are independent, so
// threads take them in turn and the result depends on nothing but the input. Knows no file format.
#include "linkcast/calibration/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "on_threads.hpp"
#include "series_cluster.hpp"
#include "series_model.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::array<sim::Bytes, 2> kClassBounds = {sim::mib(1), sim::mib(64)};

std::size_t class_of(sim::Bytes size) { return size < kClassBounds[0] ? 0 : size < kClassBounds[1] ? 1 : 2; }

/// Errors of all sizes and of each class.
struct Errors {
  std::vector<double> all;
  std::array<std::vector<double>, 3> by_class;

  void add(const ValidatedPoint& p) {
    const double e = static_cast<double>(p.predicted.ps()) / static_cast<double>(p.measured.time.ps()) - 1;
    all.push_back(e);
    by_class[class_of(p.measured.size)].push_back(e);
  }
  void add(const Errors& o) {
    all.insert(all.end(), o.all.begin(), o.all.end());
    for (std::size_t c = 0; c < by_class.size(); ++c) {
      by_class[c].insert(by_class[c].end(), o.by_class[c].begin(), o.by_class[c].end());
    }
  }
  SizeClasses classes() const { return {summarise(by_class[0]), summarise(by_class[1]), summarise(by_class[2])}; }
};

/// A machine of each kind that the series need, loaded once and shared: fabrics are immutable.
class Machines {
 public:
  struct Machine {
    std::optional<topologies::Fabric> fabric;
    std::string problem;
  };

  const Machine& get(const std::string& system, const topologies::LoadOptions& options) {
    const auto [it, is_new] = machines_.try_emplace({system, options.params});
    if (is_new) {
      try {
        it->second.fabric = topologies::load(system, options);
      } catch (const sim::InputError& e) {
        it->second.problem = e.diagnostics().front().problem;
      }
    }
    return it->second;
  }

 private:
  std::map<std::pair<std::string, std::map<std::string, std::string>>, Machine> machines_;
};

void predict(ValidatedSeries& out, const topologies::Fabric& machine, workloads::CommunicatorOptions communicator,
             const ValidateOptions& options) {
  const auto& series = out.series;
  communicator.fidelity = options.fidelity;
  if (options.floor == Floor::known) {
    const auto smallest = std::min_element(series.points.begin(), series.points.end(),
                                           [](const Point& a, const Point& b) { return a.time < b.time; });
    communicator.launch_floor = smallest->time;
  }
  const workloads::CollectiveModel model(cluster_of(series, machine, out.assumed, options.profile.get()),
                                         std::move(communicator));
  models::nccl::Call call;
  call.op = series.op;
  call.dtype = series.dtype;
  call.in_place = series.in_place;
  for (const auto& point : series.points) {
    call.bytes = point.size;
    auto row = model.run(call);
    out.rows.push_back({point, row.time, std::move(row.algorithm), std::move(row.protocol)});
  }
}

double median_of(const std::vector<double>& values) { return summarise(values).median_abs_rel_error; }

/// No machine of the catalog is missed by a factor of three in the median: another unit, or another machine.
void remark_on_hopeless(ValidatedSeries& s) {
  std::vector<double> ratios;
  for (const auto& row : s.rows)
    ratios.push_back(static_cast<double>(row.predicted.ps()) / static_cast<double>(row.measured.time.ps()));
  if (ratios.empty()) return;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  if (*middle < 3 && *middle > 1.0 / 3) return;
  s.series.remarks.push_back(fmt::format(
      "the prediction is {:.3g} times the measurement in the median: is a unit wrong (times are us), or the machine?",
      *middle));
}

void summarise_all(Validation& v) {
  Errors all;
  std::map<std::string, Errors> families, extents;
  std::vector<double> medians;
  std::array<std::vector<double>, 3> class_medians;
  for (auto& s : v.series) {
    Errors errors;
    for (const auto& row : s.rows) errors.add(row);
    const auto classes = errors.classes();
    s.all = summarise(errors.all);
    s.below_1M = classes.below_1M;
    s.from_1M_to_64M = classes.from_1M_to_64M;
    s.from_64M = classes.from_64M;
    if (s.series.healthy) remark_on_hopeless(s);
    if (!s.skipped.empty() || !s.series.healthy) continue;
    ++v.counted_series;
    all.add(errors);
    const auto family = family_of(*s.series.system, s.series.nodes > 1 && s.series.fabric != "nvlink");
    families[fmt::format("{} {}", family, models::nccl::name_of(s.series.op))].add(errors);
    extents[extent_of(s.series)].add(errors);
    ++v.extent_series[extent_of(s.series)];
    medians.push_back(s.all.median_abs_rel_error);
    const std::array<const ErrorSummary*, 3> by_class = {&s.below_1M, &s.from_1M_to_64M, &s.from_64M};
    for (std::size_t c = 0; c < by_class.size(); ++c) {
      if (by_class[c]->points > 0) class_medians[c].push_back(by_class[c]->median_abs_rel_error);
    }
  }
  v.all = summarise(all.all);
  const auto classes = all.classes();
  v.below_1M = classes.below_1M;
  v.from_1M_to_64M = classes.from_1M_to_64M;
  v.from_64M = classes.from_64M;
  for (const auto& [name, errors] : families) {
    v.families[name] = summarise(errors.all);
    v.family_classes[name] = errors.classes();
  }
  for (const auto& [name, errors] : extents) {
    v.extents[name] = summarise(errors.all);
    v.extent_classes[name] = errors.classes();
  }
  v.median_of_series = median_of(medians);
  v.median_of_series_below_1M = median_of(class_medians[0]);
  v.median_of_series_1M_to_64M = median_of(class_medians[1]);
  v.median_of_series_from_64M = median_of(class_medians[2]);
}

}  // namespace

std::string extent_of(const Series& s) {
  if (s.fabric == "nvlink" && s.nodes > 1) return "one NVLink domain (NVL72)";
  if (s.nodes == 1) return s.ranks > 16 ? "one NVLink domain (NVL72)" : "one machine";
  if (s.ranks >= 2000) return "2,000 GPUs and more";
  return s.nodes == 2 ? "two nodes" : "more nodes";
}

std::string family_of(std::string_view system, bool several_machines) {
  return fmt::format("{}{}", system, several_machines ? "*N" : "");
}

Validation validate(std::vector<Series> series, const ValidateOptions& options) {
  Validation out;
  Machines machines;
  std::vector<const Machines::Machine*> machine_of(series.size(), nullptr);
  std::vector<workloads::CommunicatorOptions> communicators(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    auto& v = out.series.emplace_back();
    v.series = std::move(series[i]);
    v.skipped = reason_to_skip(v.series);
    if (!v.skipped.empty()) continue;
    auto assumed = assumptions(v.series);
    v.assumed = std::move(assumed.sentences);
    assumed.load.profile = options.profile;
    communicators[i] = std::move(assumed.communicator);
    const auto& machine = machines.get(*v.series.system, assumed.load);
    if (!machine.fabric) {
      v.skipped = fmt::format("{} cannot be loaded: {}", *v.series.system, machine.problem);
    } else {
      machine_of[i] = &machine;
    }
  }
  on_threads(out.series.size(), options.threads, [&](std::size_t i) {
    if (machine_of[i] == nullptr) return;
    auto& v = out.series[i];
    try {
      predict(v, *machine_of[i]->fabric, communicators[i], options);
    } catch (const sim::InputError& e) {
      v.rows.clear();
      v.skipped = fmt::format("no prediction: {}", e.diagnostics().front().problem);
    }
  });
  summarise_all(out);
  return out;
}

}  // namespace linkcast::calibration
