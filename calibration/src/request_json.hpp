// Requests and timings as JSON: in the measurement file, and between the processes of one measurement.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "json_cursor.hpp"
#include "linkcast/calibration/measure_plan.hpp"

namespace linkcast::calibration {

/// {"copy": {…}}, {"chase": {…}}, {"launch": {…}} or {"collective": {…}}.
nlohmann::ordered_json json_of(const Request& request);
/// The key of the above that an object has: its index, or nothing (noted).
std::optional<Request> request_from(const JsonCursor& object);
extern const std::array<std::string, 4> request_names;
/// The request whatever its repetitions: equal for those that ask the same.
std::string question_of(Request request);

nlohmann::ordered_json json_of(const Timing& timing);
Timing timing_from(const JsonCursor& object);

}  // namespace linkcast::calibration
