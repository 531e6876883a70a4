// The table that nccl-tests prints: its column line, which differs by version and options, and its rows.
// Knows nothing of what stands above or below the table.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "nccl_tests_run.hpp"
#include "point_rows.hpp"

namespace linkcast::calibration {

/// What a column line says. The layout without one is that of nccl-tests since 2.14.
struct TableLayout {
  bool root = true;          // a root column stands before the times (not in old versions)
  bool counts_wrong = true;  // "#wrong" (a count) in place of the old "error" (a deviation)
  bool cpu_time = false;     // -C
  std::size_t group = 4;     // columns for each placement: time algbw busbw #wrong, and four more with -I
  std::size_t groups = 2;    // out-of-place, in-place
};

std::vector<Cell> cells_of(std::string_view line, int number);

/// The layout, when the line (without '#') is a column line: it names size, count and time.
std::optional<TableLayout> column_line(std::string_view after_hash);

/// Whether the line can only be a row, whole or cut: it begins with a number that is followed by a number or nothing.
bool looks_like_row(const std::vector<Cell>& cells);

/// Adds the row to the run, or reports what is wrong with it. `line` is the whole line.
void read_row(const std::vector<Cell>& cells, std::string_view line, int number, const TableLayout& layout, Run& run,
              Problems& problems);

}  // namespace linkcast::calibration
