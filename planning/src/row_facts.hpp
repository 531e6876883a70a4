// Reads the fields of a row back, and lays out tables. Knows no evaluation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkcast/planning/study.hpp"

namespace linkcast::planning {

/// Nothing where the field is empty.
std::optional<double> number_in(const Study& study, const Row& row, std::string_view column);
/// Name -> microseconds.
std::vector<std::pair<std::string, double>> parts_in(const Study& study, const Row& row);

/// Columns as wide as their widest field, two spaces between them.
std::string aligned(const std::vector<std::vector<std::string>>& table);

}  // namespace linkcast::planning
