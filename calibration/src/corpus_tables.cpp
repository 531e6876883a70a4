// Tables in YAML. See corpus_tables.hpp.
#include "corpus_tables.hpp"

#include <fmt/format.h>

#include <cmath>

#include "pair_matrix.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

/// The rows, with "not measured" as nothing; problems at their place.
MatrixRows read_rows(const YAML::Node& rows, YamlDocument& yaml) {
  MatrixRows out;
  for (const auto& row : rows) {
    if (!row.IsSequence()) {
      yaml.problem(row, "not a row", "expected '[0.0, 276.1, …]'");
      continue;
    }
    auto& to = out.emplace_back();
    for (const auto& cell : row) {
      to.emplace_back();
      if (cell.IsNull() || (cell.IsScalar() && cell.Scalar() == "N/A")) continue;
      const auto value = cell.IsScalar() ? number_in(cell.Scalar()) : std::nullopt;
      if (!value)
        yaml.problem(cell, fmt::format("'{}' is not a number", cell.IsScalar() ? cell.Scalar() : "…"));
      else if (!std::isfinite(*value) || *value < 0)
        yaml.problem(cell, fmt::format("{} is no measured value", cell.Scalar()),
                     "expected a number above zero, or null");
      else
        to.back() = value;
    }
    if (to.size() != out.front().size()) {
      yaml.problem(row, fmt::format("a row of {} numbers after one of {}", to.size(), out.front().size()),
                   "each row has a number for every GPU");
    }
  }
  return out;
}

}  // namespace

std::string read_matrix(const YAML::Node& node, const std::string& title_key, PairMatrix& matrix, YamlDocument& yaml) {
  if (!node.IsMap()) {
    yaml.problem(node, "not a matrix",
                 fmt::format("expected '- {}: …', 'unit: GB/s', 'matrix:' and its rows", title_key));
    return {};
  }
  std::string unit;
  YAML::Node rows, unit_at;
  yaml.each(node, [&](const std::string& key, const YAML::Node&, const YAML::Node& value) {
    if (key == title_key || key == "title" || key == "name")
      matrix.title = yaml.text(key, value);
    else if (key == "unit")
      unit = yaml.text(key, value), unit_at = value;
    else if (key == "matrix")
      rows = value;
  });
  if (!rows || !rows.IsSequence() || rows.size() == 0) {
    yaml.problem(node, "no list 'matrix'", "expected its rows, as in '- [0.0, 276.1]'");
    return {};
  }
  bool columns_send = false;
  const auto why = read_matrix_title(matrix.title, matrix, columns_send);
  const auto us = us_of_unit(unit);
  const auto rate = GBps_of_unit(unit);
  if (!us && !rate) {
    yaml.problem(unit.empty() ? node : unit_at, fmt::format("the unit '{}' is not known", unit),
                 "expected GB/s, Gb/s, MB/s, us or ns");
  } else if (us.has_value() != matrix.latency) {
    yaml.problem(unit_at, fmt::format("a {} in '{}'", matrix.latency ? "latency" : "bandwidth", unit),
                 fmt::format("'{}' says the other", matrix.title));
  }
  set_cells(read_rows(rows, yaml), columns_send, us.value_or(rate.value_or(1)), matrix);
  return why;
}

std::vector<Cell> cells_of_row(const YAML::Node& row, std::vector<std::string>& storage, YamlDocument& yaml) {
  std::vector<Cell> cells;
  storage.clear();
  if (row.IsSequence()) {
    storage.reserve(row.size());
    for (const auto& cell : row) {
      if (!cell.IsScalar() && !cell.IsNull()) break;
      storage.push_back(cell.IsNull() ? "" : cell.Scalar());
      cells.push_back({storage.back(), cell.Mark().line + 1, cell.Mark().column + 1});
    }
  }
  if (!row.IsSequence() || cells.size() != row.size()) {
    yaml.problem(row, "not a row", "expected numbers in square brackets");
    cells.clear();
  }
  return cells;
}

}  // namespace linkcast::calibration
