// See planning.hpp.
#include "planning.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "linkcast/planning/study.hpp"
#include "linkcast/planning/sweep.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/scenario_file.hpp"

namespace linkcast::bindings {
namespace {

namespace py = pybind11;
using planning::Row;
using workloads::trace::Value;

/// A study with evaluators at hand: each computes for one thread at a time, and keeps its machines for the next call.
class OpenStudy {
 public:
  OpenStudy(const std::string& text, const std::string& where, const std::vector<std::string>& set,
            const std::optional<std::string>& grid, const std::optional<std::string>& profile, bool alone)
      : study_{opened(text, where, set, grid, profile, alone)} {}

  const planning::Study& study() const { return study_; }

  /// The rows of these variants in this order; fewer after stop(). Called without the interpreter lock, which is taken
  /// now and then to look for Ctrl-C.
  std::vector<Row> rows(const std::vector<std::int64_t>& variants) {
    using Clock = std::chrono::steady_clock;
    constexpr auto between_looks = std::chrono::milliseconds{50};
    std::vector<Row> out;
    auto evaluator = take();
    auto looked = Clock::now();
    for (const auto v : variants) {
      check(v);
      auto row = study_.row(v, *evaluator);
      if (stop_.stop_requested()) return out;  // what was interrupted is not finished
      out.push_back(std::move(row));
      if (Clock::now() - looked < between_looks) continue;
      py::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set{};
      looked = Clock::now();
    }
    give_back(std::move(evaluator));
    return out;
  }

  void stop() { stop_.request_stop(); }

  void check(std::int64_t variant) const {
    if (variant < 0 || variant >= study_.variants().count())
      throw sim::InputError{"there is no variant " + std::to_string(variant),
                            "they are 0 to " + std::to_string(study_.variants().count() - 1)};
  }
  /// Rows come from outside.
  void check(const Row& row) const {
    if (row.size() != study_.columns().size())
      throw sim::InputError{"a row has " + std::to_string(row.size()) + " fields instead of the study's " +
                            std::to_string(study_.columns().size())};
  }

 private:
  static planning::Study opened(const std::string& text, const std::string& where, const std::vector<std::string>& set,
                                const std::optional<std::string>& grid, const std::optional<std::string>& profile,
                                bool alone) {
    auto scenario = workloads::open_scenario_text(text, where, set);
    if (grid) vary(scenario.root, *grid);
    if (alone)
      std::erase_if(scenario.root.entries, [](const auto& e) {
        return e.first.text == "variants" || e.first.text == "options" || e.first.text == "baseline";
      });
    planning::StudyOptions options;
    if (profile) options.profile = topologies::Profile::parse(*profile, "profile");
    options.version = LINKCAST_VERSION;
    return planning::Study{std::move(scenario), std::move(options)};
  }

  /// `grid` in the place of the scenario's own variants; messages name it "grid".
  static void vary(Value& root, const std::string& grid) {
    workloads::trace::Problems problems;
    auto value = workloads::trace::parse_yaml(
        std::make_shared<workloads::SourceText>(workloads::SourceText{"grid", grid}), problems);
    problems.throw_if_any();
    std::erase_if(root.entries, [](const auto& e) { return e.first.text == "variants"; });
    Value key;
    key.kind = Value::Kind::scalar;
    key.text = "variants";
    key.place = value.place;
    root.entries.emplace_back(std::move(key), std::move(value));
  }

  std::unique_ptr<planning::Evaluator> take() {
    const std::scoped_lock lock{mutex_};
    if (idle_.empty()) return std::make_unique<planning::Evaluator>(study_.profile(), stop_.get_token());
    auto out = std::move(idle_.back());
    idle_.pop_back();
    return out;
  }
  void give_back(std::unique_ptr<planning::Evaluator> evaluator) {
    const std::scoped_lock lock{mutex_};
    idle_.push_back(std::move(evaluator));
  }

  std::stop_source stop_;
  planning::Study study_;
  std::mutex mutex_;  // of idle_
  std::vector<std::unique_ptr<planning::Evaluator>> idle_;
};

py::list columns_of(const OpenStudy& s) {
  py::list out;
  for (const auto& c : s.study().columns()) out.append(py::make_tuple(c.name, c.number));
  return out;
}

std::vector<std::string> axes_of(const OpenStudy& s) {
  std::vector<std::string> out;
  for (const auto& axis : s.study().variants().axes()) out.push_back(axis.key);
  return out;
}

std::vector<std::string> goals_of(const OpenStudy& s) {
  std::vector<std::string> out;
  for (const auto& goal : s.study().goals()) out.push_back(goal.text);
  return out;
}

std::vector<std::string> keys_of(const OpenStudy& s, const std::vector<std::int64_t>& variants) {
  std::vector<std::string> out;
  for (const auto v : variants) {
    s.check(v);
    out.push_back(s.study().key(v));
  }
  return out;
}

std::string name_of_variant(const OpenStudy& s, std::int64_t variant) {
  s.check(variant);
  return s.study().variants().name(variant);
}

std::string json_of(const OpenStudy& s, const std::vector<Row>& rows, const std::string& command, bool complete) {
  for (const auto& row : rows) s.check(row);
  return planning::json_table(s.study(), rows, command, complete);
}

std::string text_of(const OpenStudy& s, const std::vector<Row>& rows, std::size_t most) {
  for (const auto& row : rows) s.check(row);
  return planning::text_table(s.study(), rows, most);
}

/// A file of results that can be closed before Python forgets it.
class OpenResults {
 public:
  OpenResults(const std::string& path, const OpenStudy& study) : file_{std::in_place, path, study.study()} {}
  std::optional<Row> find(const std::string& key) {
    const auto* row = file().find(key);
    return row == nullptr ? std::nullopt : std::optional{*row};
  }
  void append(const Row& row) { file().append(row); }
  void arrange(const std::vector<std::string>& keys) { file().arrange(keys); }
  void close() { file_.reset(); }

 private:
  planning::ResultFile& file() {
    if (!file_) throw sim::InputError{"the file of results is closed"};
    return *file_;
  }
  std::optional<planning::ResultFile> file_;
};

}  // namespace

void add_planning(py::module_& m) {
  const py::call_guard<py::gil_scoped_release> unlocked;
  py::class_<OpenStudy>(m, "Study")
      .def(py::init<const std::string&, const std::string&, const std::vector<std::string>&,
                    const std::optional<std::string>&, const std::optional<std::string>&, bool>(),
           py::arg("text"), py::arg("where"), py::arg("set"), py::arg("grid"), py::arg("profile"), py::arg("alone"),
           unlocked)
      .def_property_readonly("title", [](const OpenStudy& s) { return s.study().title(); })
      .def_property_readonly("count", [](const OpenStudy& s) { return s.study().variants().count(); })
      .def_property_readonly("columns", &columns_of)
      .def_property_readonly("axes", &axes_of)
      .def_property_readonly("goals", &goals_of)
      .def("name", &name_of_variant, py::arg("variant"))
      .def("keys", &keys_of, py::arg("variants"), unlocked)
      .def(
          "chosen",
          [](const OpenStudy& s, std::int64_t limit, int workers) {
            return planning::chosen_variants(s.study(), limit, workers);
          },
          py::arg("limit"), py::arg("workers"), unlocked)
      .def(
          "by_machine",
          [](const OpenStudy& s, const std::vector<std::int64_t>& variants) {
            for (const auto v : variants) s.check(v);
            std::vector<std::size_t> places(variants.size());
            std::iota(places.begin(), places.end(), std::size_t{0});
            std::vector<std::int64_t> out;
            for (const auto i : planning::by_machine(s.study(), variants, std::move(places)))
              out.push_back(variants[i]);
            return out;
          },
          py::arg("variants"), unlocked)
      .def("rows", &OpenStudy::rows, py::arg("variants"), unlocked)
      .def("stop", &OpenStudy::stop)
      .def("json", &json_of, py::arg("rows"), py::arg("command"), py::arg("complete"), unlocked)
      .def("text", &text_of, py::arg("rows"), py::arg("most"), unlocked);

  py::class_<OpenResults>(m, "ResultFile")
      .def(py::init<const std::string&, const OpenStudy&>(), py::arg("path"), py::arg("study"), unlocked)
      .def("find", &OpenResults::find, py::arg("key"))
      .def("append", &OpenResults::append, py::arg("row"))
      .def("arrange", &OpenResults::arrange, py::arg("keys"), unlocked)
      .def("close", &OpenResults::close);
}

}  // namespace linkcast::bindings
