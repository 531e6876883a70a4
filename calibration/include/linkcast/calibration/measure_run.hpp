// Spends a budget on a machine: first timings, then item after item, the most informative per second first, until
// nothing fits any more or somebody asks to stop. Knows no file system and no terminal: both are callbacks.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "linkcast/calibration/measurement_file.hpp"

namespace linkcast::calibration {

struct MeasureProgress {
  std::string item;           // what is being measured; empty at the end
  int done = 0, planned = 0;  // items
  double elapsed_s = 0, budget_s = 0;
};

struct MeasureOptions {
  PlanOptions plan;
  double budget_s = 300;
  std::string created, tool;          // for the file
  std::optional<std::string> system;  // catalog name that the user gives; else the machine's own guess
  std::stop_token stop;
  /// After every item, within an item about every second, and at once when `stop` is requested: from that thread, while
  /// a request may still be under way. Never called twice at the same time.
  std::function<void(const MeasurementFile&)> save;
  std::function<void(const MeasureProgress&)> progress;  // before every item
  bool only_plan = false;                                // first timings and the plan, no item
};

/// `before`: a file to go on with. Its times are kept and not asked for again; what was cut off or failed is asked,
/// except for what the machine lacks; the budget is for what is still to do. Throws sim::InputError where the machine
/// is another one than the file's, or nothing can be measured on it.
MeasurementFile measure(Machine& machine, const MeasureOptions& options, std::optional<MeasurementFile> before = {});

}  // namespace linkcast::calibration
