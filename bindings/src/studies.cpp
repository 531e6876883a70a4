// See studies.hpp.
#include "studies.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/planning/cost.hpp"
#include "linkcast/planning/plan.hpp"
#include "linkcast/planning/report.hpp"
#include "linkcast/planning/resilience.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/workloads/scenario_file.hpp"
#include "watched.hpp"

namespace linkcast::bindings {
namespace {

namespace py = pybind11;
using Words = std::vector<std::string>;
using Texts = std::pair<std::string, std::string>;  // JSON, text

std::shared_ptr<const topologies::Profile> profile_of(const std::optional<std::string>& text) {
  return text ? topologies::Profile::parse(*text, "profile") : nullptr;
}

Texts plan(const std::string& text, const std::string& where, const Words& set,
           const std::optional<std::string>& profile, int threads, const py::object& progress) {
  return watched(progress, [&](Watch& watch) -> Texts {
    const planning::PlanQuestion question{workloads::open_scenario_text(text, where, set), profile_of(profile)};
    planning::PlanSearchOptions options;
    options.threads = threads;
    options.stop = watch.stop.get_token();
    options.progress = [&](std::int64_t done, std::int64_t all) { watch.done = done, watch.all = all; };
    const auto answer = planning::search(question, options);
    return {planning::json_report(answer), planning::to_text(answer)};
  });
}

planning::ElementKind kind_of(const std::string& word) {
  const auto known = planning::element_kind_names();
  const auto at = std::ranges::find(known, word);
  if (at != known.end()) return static_cast<planning::ElementKind>(at - known.begin());
  std::string help = "known:";
  for (const auto& name : known) help += " " + std::string{name};
  throw sim::InputError{"unknown kind of part '" + word + "'", help};
}

Texts resilience(const std::string& text, const std::string& where, const Words& set,
                 const std::optional<std::string>& profile, const Words& kinds, std::optional<int> pairs, int threads,
                 const py::object& progress) {
  return watched(progress, [&](Watch& watch) -> Texts {
    const auto scenario = workloads::open_scenario_text(text, where, set);
    workloads::trace::Problems problems;
    auto study =
        planning::ResilienceStudy::read(scenario.root.is_map() ? scenario.root.get("resilience") : nullptr, problems);
    problems.throw_if_any();
    if (pairs) study.pairs = *pairs;
    if (!kinds.empty()) study.kinds.clear();
    for (const auto& kind : kinds) study.kinds.push_back(kind_of(kind));
    planning::ResilienceOptions options;
    options.profile = profile_of(profile);
    options.threads = threads;
    options.stop = watch.stop.get_token();
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
      watch.done = static_cast<std::int64_t>(done), watch.all = static_cast<std::int64_t>(all);
    };
    const auto found = planning::study_resilience(scenario, study, options);
    return {planning::to_json(found), planning::to_text(found)};
  });
}

py::tuple cost(const topologies::Cluster& cluster, const std::optional<std::string>& prices, double tokens_per_second) {
  std::string json, text, csv;
  {
    py::gil_scoped_release unlocked;
    if (!(tokens_per_second >= 0 && tokens_per_second <= 1e15))
      throw sim::InputError{"tokens_per_second is " + std::to_string(tokens_per_second), "write a number above 0"};
    const auto known = prices ? planning::Prices::read(*prices) : planning::Prices::shipped();
    const auto bom = planning::bill_of_materials(cluster, *known);
    const auto economics = planning::economics(bom, *known, tokens_per_second);
    json = planning::json_report(bom, economics, cluster.name());
    text = cluster.name() + ": " + planning::to_text(bom, economics);
    csv = planning::to_csv(bom);
  }
  return py::make_tuple(json, text, csv);
}

std::string report_html(const std::string& json, const std::string& command, const Words& files) {
  planning::ReportFacts facts;
  facts.command = command;
  facts.version = std::string{"linkcast "} + LINKCAST_VERSION;
  for (const auto& file : files) facts.inputs.push_back({file, planning::file_hash(file)});
  return planning::html_report(json, facts);
}

}  // namespace

void add_studies(py::module_& m) {
  m.def("plan", &plan, py::arg("text"), py::arg("where"), py::arg("set"), py::arg("profile"), py::arg("threads"),
        py::arg("progress"));
  m.def("resilience", &resilience, py::arg("text"), py::arg("where"), py::arg("set"), py::arg("profile"),
        py::arg("kinds"), py::arg("pairs"), py::arg("threads"), py::arg("progress"));
  m.def("report_html", &report_html, py::arg("json"), py::arg("command"), py::arg("files"),
        py::call_guard<py::gil_scoped_release>());
  m.def("cost", &cost, py::arg("cluster"), py::arg("prices"), py::arg("tokens_per_second"));
}

}  // namespace linkcast::bindings
