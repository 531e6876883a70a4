// JSON as a tree of values that know where in the text they stand. Knows no schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "problems.hpp"

namespace linkcast::workloads::algorithms {

struct Json {
  enum class Kind : unsigned char { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  std::size_t offset = 0;
  std::string text;  // of a string its value, else as written
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> entries;

  /// Null where there is none.
  const Json* get(std::string_view key) const {
    for (const auto& [name, value] : entries)
      if (name == key) return &value;
    return nullptr;
  }
  std::optional<std::int64_t> whole() const;
};

/// Nothing where the text is no JSON, after that was reported.
std::optional<Json> parse_json(Problems& problems);

}  // namespace linkcast::workloads::algorithms
