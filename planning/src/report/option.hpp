// One variant of a sweep, or one option of a plan, as the report sees it, and the order in which options are shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "page.hpp"

namespace linkcast::planning::report {

struct Option {
  const Json* row = nullptr;
  std::size_t number = 0;  // from 1, in the study's order
  std::string name;
  bool done = false, outage = false, baseline = false, meets_all = false, has_goals = false;
  bool front = false;  // nothing is better in time, cost and power at once
  std::optional<double> time_us, busbw, capex, power;
  int missed = 0;           // goals
  double worst_margin = 0;  // percent, of its goals; negative: missed by
  std::string worst_goal;
  std::optional<double> confidence;  // the smallest of its goals'
};

/// What options are compared by: their time, or the bus bandwidth where collectives of several sizes are compared.
struct Measure {
  bool busbw = false;
  std::optional<double> of(const Option& o) const { return busbw ? o.busbw : o.time_us; }
  bool better(double a, double b) const { return busbw ? a > b : a < b; }
  std::string text(double value) const;
  std::string name() const { return busbw ? "bus bandwidth" : "time"; }
};

struct Options {
  std::vector<Option> all;            // in the study's order
  std::vector<const Option*> ranked;  // those that ran, the best first: goals met, then the measure
  Measure measure;
  bool goals = false, sizes = false;
  const Option* baseline = nullptr;
  std::size_t failed = 0, outages = 0;
};

/// `plan`: rows are `options` and the time is `step_time_us`.
Options read_options(const Json& study, bool plan);

/// "#3", or the name where that is short.
std::string short_name(const Option& o, std::size_t most = 26);

// The charts, in files of their own. Each is empty where there is nothing to show.
std::string comparison(const Page& page, const Options& options);
std::string curves(const Page& page, const Json& study, const Options& options);
std::string pareto(const Page& page, const Options& options);
std::string breakdown(const Page& page, const Options& options);

}  // namespace linkcast::planning::report
