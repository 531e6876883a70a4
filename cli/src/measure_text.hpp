// What `linkcast calibrate measure` says about a measurement file, for people. Knows no machine.
#pragma once

#include <string>

#include "linkcast/calibration/measurement_file.hpp"

namespace linkcast::cli {

/// "5 min", "1 min 30 s", "12.3 s".
std::string duration_text(double seconds);
/// The machine in a few lines, and what cannot be measured on it.
std::string machine_text(const calibration::Discovery& machine);
/// What would be done, in this order, at which cost; and what is dropped.
std::string plan_text(const calibration::MeasurementFile& file);
/// A line for each item that was measured, then what was dropped.
std::string measured_text(const calibration::MeasurementFile& file);

}  // namespace linkcast::cli
