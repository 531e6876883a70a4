// Matrices and their titles. See pair_matrix.hpp.
#include "pair_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nccl_tests_table.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

bool holds(std::string_view text, std::initializer_list<std::string_view> any) {
  return std::any_of(any.begin(), any.end(), [&](auto word) { return text.find(word) != std::string_view::npos; });
}

/// nvbandwidth. Its "->" and "<-" between GPUs mean read and write: a read copies from the column's GPU to the row's,
/// whatever the arrow suggests (testcases_ce.cpp, DeviceToDeviceReadCE: "swap src and peer nodes").
std::string read_nvbandwidth_title(std::string_view title, PairMatrix& matrix, bool& columns_send) {
  const bool both_ways = holds(title, {"<->", "bidirectional"});
  matrix.engine = holds(title, {" sm ", "_sm"}) ? Engine::sm : Engine::copy_engine;
  if (holds(title, {"all_to_host", "host_to_all", "all_to_one", "one_to_all"}))
    return "all GPUs copy at once, and the table shows one at a time";
  if (holds(title, {"local"})) return "copies within one GPU";
  if (holds(title, {"cpu(row)", "host_to_device", "device_to_host", "host_device"})) {
    if (matrix.latency)
      matrix.to_host = true;
    else if (both_ways)
      return "both directions are busy and one is counted";
    else if (holds(title, {"<-", "device_to_host"}))
      matrix.to_host = true;
    else
      matrix.from_host = true;
    return {};
  }
  matrix.peer_access = true;
  if (matrix.latency) {  // the row's GPU chases pointers in the column's memory
    columns_send = matrix.read = true;
    return {};
  }
  if (both_ways) {
    matrix.bidirectional = true;
    matrix.read = title.find("read") != std::string_view::npos;
    return holds(title, {"total"}) ? "" : "both directions are busy and one is counted";
  }
  columns_send = matrix.read = title.find("read") != std::string_view::npos ||
                               (title.find("write") == std::string_view::npos && holds(title, {" -> "}));
  return {};
}

}  // namespace

std::string read_matrix_title(std::string_view original, PairMatrix& matrix, bool& columns_send) {
  const auto title = lower(original);
  matrix.latency = holds(title, {"latency"});
  columns_send = false;
  if (holds(title, {"memcpy", "(row)", "device_to_", "host_to_", "_to_host"}))
    return read_nvbandwidth_title(title, matrix, columns_send);
  if (holds(title, {"[cpu]"})) return "the CPU's time to start a copy";
  if (holds(title, {"host to device", "h2d"})) matrix.from_host = true;
  if (holds(title, {"device to host", "d2h"})) matrix.to_host = true;
  // p2pBandwidthLatencyTest copies with the copy engines unless it is told otherwise (--sm_copy).
  if (holds(title, {"p2p="})) matrix.engine = Engine::copy_engine;
  matrix.bidirectional = holds(title, {"bidirectional"});
  if (holds(title, {"p2p=enabled"})) matrix.peer_access = true;
  if (holds(title, {"p2p=disabled"})) matrix.peer_access = false;
  matrix.read = holds(title, {"reads"});
  columns_send = matrix.read && !matrix.bidirectional;  // the row's GPU pulls from the column's
  return {};
}

void set_cells(MatrixRows rows, bool columns_send, double scale, PairMatrix& matrix) {
  std::size_t size = 0;
  for (const auto& row : rows) size = std::max(size, row.size());
  if (!matrix.to_host && !matrix.from_host) {
    rows.resize(std::max(size, rows.size()));
    size = rows.size();
  }
  const bool one_row = matrix.to_host || matrix.from_host;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& row = rows[i];
    row.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      auto& cell = row[k];
      if (cell && (!(*cell >= 0) || (*cell == 0 && i == k && !one_row))) cell.reset();
      if (cell) *cell *= scale;
    }
  }
  if (columns_send && rows.size() == size) {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < i; ++k) std::swap(rows[i][k], rows[k][i]);
    }
  }
  matrix.cells = std::move(rows);
}

bool is_column_numbers(std::string_view line) {
  auto cells = cells_of(line, 0);
  if (!cells.empty() && !whole_in(cells[0].text)) cells.erase(cells.begin());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (whole_in(cells[i].text) != static_cast<long>(i)) return false;
  }
  return !cells.empty();
}

PrintedMatrix read_printed_matrix(const std::vector<std::string_view>& lines, std::size_t& at, bool must_be_square,
                                  Problems& problems) {
  const auto header = cells_of(lines[at], static_cast<int>(at) + 1);
  PrintedMatrix out;
  out.at = {static_cast<int>(at) + 1, header.empty() ? 1 : header[0].column};
  out.columns = header.size() - (whole_in(header[0].text) ? 0 : 1);
  for (++at; at < lines.size(); ++at) {
    const int number = static_cast<int>(at) + 1;
    const auto cells = cells_of(lines[at], number);
    if (cells.empty() || whole_in(cells[0].text) != static_cast<long>(out.rows.size())) break;
    const auto have = cells.size() - 1;
    if (have != out.columns) {
      const auto& last = have > out.columns ? cells[out.columns + 1] : cells.back();
      problems.at(number, last.column, last.text.size(),
                  fmt::format("a row of {} numbers under {} columns", have, out.columns),
                  have < out.columns ? "the table is cut; copy the log again" : "another line was written into it");
    }
    auto& row = out.rows.emplace_back();
    for (std::size_t i = 1; i < cells.size() && row.size() < out.columns; ++i) {
      const auto& cell = cells[i];
      row.emplace_back();
      if (cell.text == "N/A") continue;
      const auto value = number_in(cell.text);
      if (!value)
        problems.at(number, cell.column, cell.text.size(), fmt::format("'{}' is not a number", cell.text));
      else if (!std::isfinite(*value) || *value < 0)
        problems.at(number, cell.column, cell.text.size(), fmt::format("{} is no measured value", cell.text),
                    "expected a number above zero");
      else
        row.back() = value;
    }
  }
  if (out.rows.empty() || (must_be_square && out.rows.size() != out.columns)) {
    problems.at(out.at.line, out.at.column, 1, fmt::format("the table has {} of {} rows", out.rows.size(), out.columns),
                "was the run killed, or the log cut?");
  }
  return out;
}

}  // namespace linkcast::calibration
