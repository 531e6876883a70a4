// Rows of numbers. See point_rows.hpp.
#include "point_rows.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace linkcast::calibration {
namespace {

// sim::Time counts picoseconds in 63 bits.
constexpr double kLongestUs = 9.2e12;

void report(Problems& problems, const Cell& cell, std::string problem, std::string help = {}) {
  problems.at(cell.line, cell.column, cell.text.size(), std::move(problem), std::move(help));
}

}  // namespace

std::optional<sim::Bytes> parse_size(const Cell& cell, Problems& problems) {
  std::int64_t value = 0;
  const auto* end = cell.text.data() + cell.text.size();
  const auto [stop, error] = std::from_chars(cell.text.data(), end, value);
  const bool all_read = stop == end && !cell.text.empty();
  if (error == std::errc::result_out_of_range && all_read) {
    report(problems, cell, fmt::format("size {} is beyond 2^63 - 1 bytes", cell.text));
  } else if (error != std::errc{} || !all_read) {
    report(problems, cell, fmt::format("'{}' is not a size", cell.text), "expected a whole number of bytes");
  } else if (value <= 0) {
    report(problems, cell, fmt::format("size {} is not positive", value), "expected a number of bytes from 1");
  } else {
    return sim::Bytes{value};
  }
  return std::nullopt;
}

std::optional<sim::Time> parse_time_us(const Cell& cell, Problems& problems) {
  double value = 0;
  const auto* end = cell.text.data() + cell.text.size();
  const auto [stop, error] = std::from_chars(cell.text.data(), end, value);
  if (cell.text.empty() || stop != end || error == std::errc::invalid_argument || std::isnan(value)) {
    report(problems, cell, fmt::format("'{}' is not a time", cell.text), "expected microseconds");
  } else if (error == std::errc::result_out_of_range || value > kLongestUs) {
    report(problems, cell, fmt::format("time {} us is longer than 106 days", cell.text), "times are in microseconds");
  } else if (value <= 0) {
    report(problems, cell, fmt::format("time {} us is not positive", cell.text));
  } else {
    const auto time = sim::Time::from_us(value);
    if (time > sim::Time{}) return time;
    report(problems, cell, fmt::format("time {} us is shorter than a picosecond", cell.text));
  }
  return std::nullopt;
}

void add_row(const std::vector<Cell>& cells, const Cell& row, const RowLayout& layout, std::vector<Point>& points,
             Problems& problems) {
  if (cells.size() != layout.cells) {
    report(problems, row, fmt::format("a row of {} numbers, expected {}", cells.size(), layout.cells),
           "one for each name in 'columns'");
    return;
  }
  const auto size = parse_size(cells[layout.size_at], problems);
  const auto time = parse_time_us(cells[layout.time_at], problems);
  if (!size) return;
  if (!points.empty() && *size <= points.back().size) {
    report(problems, cells[layout.size_at], fmt::format("size {} after {}", size->count(), points.back().size.count()),
           *size == points.back().size ? "each size stands once" : "rows are sorted by size");
    return;
  }
  // A size whose time is wrong stays in the order, so that one mistake is one message.
  points.push_back({*size, time.value_or(sim::Time{})});
}

void scan_rows(const std::vector<std::string_view>& lines, int first_line, const RowLayout& layout,
               std::vector<Point>& points, Problems& problems) {
  points.reserve(lines.size());
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = lines[i];
    const int number = first_line + static_cast<int>(i);
    const auto content = trim(line);
    if (content.empty() || content.front() == '#') continue;
    const auto column_of = [&](const char* p) { return static_cast<int>(p - line.data()) + 1; };
    const Cell row{content, number, column_of(content.data())};

    const auto open = line.find('[');
    const auto close = line.find(']', open == std::string_view::npos ? 0 : open);
    const bool dash = content.front() == '-' && open != std::string_view::npos && trim(line.substr(0, open)) == "-";
    const auto rest = close == std::string_view::npos ? std::string_view{} : trim(line.substr(close + 1));
    if (!dash || close == std::string_view::npos || (!rest.empty() && rest.front() != '#')) {
      report(problems, row, "not a row", "expected '- [size_bytes, time_us]'");
      continue;
    }
    cells.clear();
    auto inside = line.substr(open + 1, close - open - 1);
    while (true) {
      const auto comma = inside.find(',');
      const auto part = inside.substr(0, comma);
      const auto value = trim(part);
      cells.push_back({value, number, column_of(value.empty() ? part.data() : value.data())});
      if (comma == std::string_view::npos) break;
      inside = inside.substr(comma + 1);
    }
    add_row(cells, row, layout, points, problems);
  }
}

}  // namespace linkcast::calibration
