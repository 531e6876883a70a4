// JSON as tools write it: parsed whole with its problems at their place, or found among lines of a log.
// Knows no format.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "problems.hpp"

namespace linkcast::calibration {

inline constexpr auto kReplaceBroken = nlohmann::json::error_handler_t::replace;

/// The document, or nothing and a problem: "the file ends in the middle", "not valid JSON". `offset` of `part` in the
/// text that `problems` quotes.
std::optional<nlohmann::json> parse_json(std::string_view text, std::string_view part, Problems& problems,
                                         std::string cut_help = {});

struct JsonObject {
  nlohmann::json value;
  Place at;
};

/// The objects `{ … }` of a text whose first key is `key` (with its quotes), in order; anything
/// between them is skipped.
std::vector<JsonObject> json_objects(std::string_view text, std::string_view key, Problems& problems);

/// A key of an object, or null; a reference, so that views into it live as long as the document.
const nlohmann::json& json_member(const nlohmann::json& object, const char* key);
/// The text of a string; empty for anything else.
const std::string& json_text(const nlohmann::json& value);
/// The whole number from 0 to ten million, or `otherwise`.
int json_whole(const nlohmann::json& value, int otherwise);

}  // namespace linkcast::calibration
