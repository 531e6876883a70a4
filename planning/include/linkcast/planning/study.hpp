// A scenario as something to decide by: its variants, goals and prices, and the row of facts that each variant comes
// to. A row is what a sweep writes into its file and what a table, a report and Python show. Knows no file of results
// and no threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/planning/cost.hpp"
#include "linkcast/planning/evaluate.hpp"
#include "linkcast/planning/goals.hpp"
#include "linkcast/planning/variants.hpp"

namespace linkcast::planning {

struct Column {
  std::string name;
  bool number = false;
};

/// The facts of one variant, one text for each column of the study; empty: not known.
using Row = std::vector<std::string>;

struct StudyOptions {
  std::shared_ptr<const topologies::Profile> profile;
  std::string version;  // of the program: other versions give other answers
};

class Study {
 public:
  /// Throws sim::InputError with everything that is wrong: goals, variants, prices, and the scenario itself with each
  /// choice of each axis in turn.
  Study(workloads::ScenarioFile scenario, StudyOptions options);
  ~Study();
  Study(Study&&) noexcept;

  const std::string& title() const;
  const std::string& path() const;
  const Variants& variants() const;
  const std::vector<Goal>& goals() const;
  /// key, name, one for each axis, then facts.
  const std::vector<Column>& columns() const;
  /// Where a column stands. Throws sim::InternalError for one that there is not.
  std::size_t column(std::string_view name) const;

  /// Of variant i: a hash of all that its row depends on, in hexadecimal: its settings, the files that it names, the
  /// goals and prices, the program's version.
  std::string key(std::int64_t i) const;
  /// Alike for variants that share a machine: neighbours in this order are cheaper.
  std::string machine_key(std::int64_t i) const;
  /// A variant that cannot be evaluated has the status "error" and says why; one whose job cannot run, "outage".
  Row row(std::int64_t i, Evaluator& evaluator) const;
  std::shared_ptr<const Prices> prices() const;
  std::shared_ptr<const topologies::Profile> profile() const;

 private:
  void fill(Row& row, std::int64_t i, Evaluator& evaluator) const;
  void judge_goals(Row& row) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How a study's goals come out for a row.
std::vector<Judged> judged(const Study& study, const Row& row);

/// Against the baseline's row: how much longer (percent of the time), and why: the part of the time that changed most.
struct Difference {
  double percent = 0;
  std::string change;  // "wire +1.34 ms"
  std::string reason;  // the same, and what bounds the row
};
std::optional<Difference> difference(const Study& study, const Row& baseline, const Row& row);
/// For each row the one that it is compared with (Variants::baseline); null where that is not among them.
std::vector<const Row*> baselines(const Study& study, std::span<const Row> rows);

/// For people: one line each, with the difference to the baseline and the goals. `rows`: in the order of the grid.
std::string text_table(const Study& study, std::span<const Row> rows, std::size_t most = 40);
/// Where the time of a row went, the largest part first.
std::string parts_table(const Study& study, const Row& row);
/// linkcast.sweep/1. `command`: that made it.
std::string json_table(const Study& study, std::span<const Row> rows, std::string_view command, bool complete = true);

}  // namespace linkcast::planning
