// What was found on a machine, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "json_cursor.hpp"
#include "linkcast/calibration/measure.hpp"

namespace linkcast::calibration {

nlohmann::ordered_json json_of(const Discovery& d);
Discovery discovery_from(const JsonCursor& object);

}  // namespace linkcast::calibration
