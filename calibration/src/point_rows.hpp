// The numbers of a measurement row: a size in whole bytes and a time in microseconds, with what can be wrong
// about them; and the scanner for the `rows:` block of the corpus format, which holds nearly all of a file's text
// and would cost yaml-cpp ten times as long. Knows no other key of the format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/series.hpp"
#include "problems.hpp"

namespace linkcast::calibration {

/// Which cell of a row is what; `cells` in all.
struct RowLayout {
  std::size_t size_at = 0;
  std::size_t time_at = 1;
  std::size_t cells = 2;
};

struct Cell {
  std::string_view text;
  int line = 0;
  int column = 0;
};

std::optional<sim::Bytes> parse_size(const Cell& cell, Problems& problems);
std::optional<sim::Time> parse_time_us(const Cell& cell, Problems& problems);

/// Adds a row to `points`; reports a wrong number of cells, wrong numbers, and sizes that do not increase.
void add_row(const std::vector<Cell>& cells, const Cell& row, const RowLayout& layout, std::vector<Point>& points,
             Problems& problems);

/// The lines of a `rows:` block, each `- [a, b]`; `first_line` is the line number of the first of them.
void scan_rows(const std::vector<std::string_view>& lines, int first_line, const RowLayout& layout,
               std::vector<Point>& points, Problems& problems);

}  // namespace linkcast::calibration
