// The file that `calibrate measure` writes (schema linkcast.measurement/1, docs/formats.md): what machine it was, what
// was planned, what was measured. Written while measuring; read again to go on, or as Measurements by everything that
// compares and fits. Of the environment it holds NCCL_* only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/measure_plan.hpp"

namespace linkcast::calibration {

inline constexpr std::string_view measurement_schema = "linkcast.measurement/1";

/// What the plan said of an item.
struct PlannedItem {
  std::string id, tells;
  std::string state;  // "planned", "measured", "partly measured", "dropped", "failed"
  double estimated_s = 0;
};

struct MeasurementFile {
  std::string created, tool;  // ISO 8601 in UTC; "linkcast 0.1.0"
  Discovery machine;
  double budget_s = 0;
  std::vector<PlannedItem> plan;
  std::vector<Item> items;  // in the order in which they were measured
};

std::string text_of(const MeasurementFile& file);
/// Throws sim::InputError with every problem, each at its place.
MeasurementFile parse_measurement_file(std::string_view text, const std::string& where);
/// Whether a text says that it is such a file: cheap, for a reader that has to choose among formats.
bool is_measurement_file(std::string_view text);

/// As everything that is measured of a cluster. `source`: the file's name.
Measurements measurements_of(const MeasurementFile& file, const std::string& source);
/// parse and measurements_of in one.
Measurements read_measurement_file(std::string_view text, const std::string& where);

/// Why what was measured on `there` cannot be added to a file of `before`; empty where it can. GPUs, their places and
/// links, NICs, versions and NCCL_* variables must be the same.
std::string difference(const Discovery& before, const Discovery& there);

}  // namespace linkcast::calibration
