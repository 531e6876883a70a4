// Tables of numbers in the corpus's YAML: a matrix with its unit, rows of numbers. Knows no kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "point_rows.hpp"
#include "yaml_document.hpp"

namespace linkcast::calibration {

/// A mapping with a title (under `title_key`), `unit` and `matrix`. Returns why there is no place for it; empty: it is
/// in `matrix`, or a problem is noted.
std::string read_matrix(const YAML::Node& node, const std::string& title_key, PairMatrix& matrix, YamlDocument& yaml);

/// The cells of a row in square brackets; reports anything else. Their text lives as long as `storage`.
std::vector<Cell> cells_of_row(const YAML::Node& row, std::vector<std::string>& storage, YamlDocument& yaml);

}  // namespace linkcast::calibration
