// A piece of JSON as a value, for pieces that are small. Knows no format.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace linkcast::workloads::readers {

/// Discarded where it is no JSON or nested deeper than any trace is (copies of a value go as deep as it does).
inline nlohmann::json json_value(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > 200) return nlohmann::json(nlohmann::json::value_t::discarded);
  }
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace linkcast::workloads::readers
