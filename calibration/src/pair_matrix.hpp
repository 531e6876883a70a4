// From a table of numbers under a title to a PairMatrix: what p2pBandwidthLatencyTest's and nvbandwidth's titles mean,
// and the printed tables themselves. Knows no file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "problems.hpp"

namespace linkcast::calibration {

using MatrixRows = std::vector<std::vector<std::optional<double>>>;

/// Sets what a title (or the name of an nvbandwidth test) says: direction, peer access, engine, host. Gives the reason
/// where PairMatrix has no place for what was measured; empty: it has.
std::string read_matrix_title(std::string_view title, PairMatrix& matrix, bool& columns_send);

/// Puts the rows in place: as [from][to], square between GPUs, a zero on the diagonal ("not measured") as nothing.
/// `columns_send`: the data flowed from the column's GPU to the row's.
void set_cells(MatrixRows rows, bool columns_send, double scale, PairMatrix& matrix);

struct PrintedMatrix {
  MatrixRows rows;
  std::size_t columns = 0;
  Place at;
};

/// The table whose line of column numbers is lines[at]; leaves `at` at the first line behind it. Rows that are cut,
/// too long, or hold something else than numbers above zero or "N/A" are problems. `must_be_square`: as many rows as
/// columns, or the table is cut.
PrintedMatrix read_printed_matrix(const std::vector<std::string_view>& lines, std::size_t& at, bool must_be_square,
                                  Problems& problems);
/// Whether the line holds column numbers: "0 1 2 3", with or without a corner ("D\D", "GPU", "CPU").
bool is_column_numbers(std::string_view line);

}  // namespace linkcast::calibration
