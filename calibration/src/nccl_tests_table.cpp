// nccl-tests' table. See nccl_tests_table.hpp.
#include "nccl_tests_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace linkcast::calibration {
namespace {

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "-8" too: a negative size is a row with a mistake and not noise.
bool whole_number(std::string_view s) { return all_digits(!s.empty() && s.front() == '-' ? s.substr(1) : s); }

bool is_value(std::string_view s) {
  if (s == "N/A" || s == "nan" || s == "-nan" || s == "inf" || s == "-inf") return true;
  const char c = s.front();
  return std::isdigit(static_cast<unsigned char>(c)) != 0 || ((c == '-' || c == '.') && s.size() > 1);
}

/// "2025-11-03" and "14:02:11", the two words of a timestamp (-S).
bool is_date(std::string_view s) { return s.size() == 10 && s[4] == '-' && s[7] == '-'; }
bool is_clock(std::string_view s) { return s.size() == 8 && s[2] == ':' && s[5] == ':'; }

std::optional<double> number_in(std::string_view s) {
  double value = 0;
  const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || stop != s.data() + s.size()) return std::nullopt;
  return value;
}

// What nccl-tests prints in place of the out-of-place columns of a run that has none.
constexpr std::size_t kBlankGroup = 30;

}  // namespace

std::vector<Cell> cells_of(std::string_view line, int number) {
  std::vector<Cell> cells;
  std::size_t i = 0;
  const auto blank = [&](std::size_t k) { return line[k] == ' ' || line[k] == '\t' || line[k] == '\r'; };
  while (i < line.size()) {
    if (blank(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && !blank(end)) ++end;
    cells.push_back({line.substr(i, end - i), number, static_cast<int>(i) + 1});
    i = end;
  }
  return cells;
}

std::optional<TableLayout> column_line(std::string_view after_hash) {
  const auto cells = cells_of(after_hash, 0);
  if (cells.size() < 5 || cells[0].text != "size" || cells[1].text != "count") return std::nullopt;
  TableLayout layout{false, false, false, 0, 0};
  std::size_t last_time = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto name = cells[i].text;
    if (name == "root") layout.root = true;
    if (name == "#wrong") layout.counts_wrong = true;
    if (name == "cputime") layout.cpu_time = true;
    if (name == "time" || name == "cputime") {
      if (++layout.groups == 2) layout.group = i - last_time;
      last_time = i;
    }
  }
  if (layout.groups == 0) return std::nullopt;
  if (layout.groups == 1) layout.group = 4;
  if (layout.groups > 2 || layout.group < 3) return std::nullopt;
  return layout;
}

bool looks_like_row(const std::vector<Cell>& cells) {
  return !cells.empty() && whole_number(cells[0].text) && (cells.size() == 1 || whole_number(cells[1].text));
}

void read_row(const std::vector<Cell>& cells, std::string_view line, int number, const TableLayout& layout, Run& run,
              Problems& problems) {
  RunRow row;
  std::size_t at = std::min(cells.size(), std::size_t{2});  // a row may be cut after its size
  for (auto* word : {&row.dtype, &row.redop}) {
    if (at < cells.size() && !is_value(cells[at].text)) *word = cells[at++].text;
  }
  std::size_t end = cells.size();
  if (end >= at + 2 && is_date(cells[end - 2].text) && is_clock(cells[end - 1].text)) end -= 2;
  const auto root = layout.root ? std::size_t{1} : std::size_t{0};
  const auto wanted = root + layout.groups * layout.group;
  const auto have = end - at;
  const bool only_in_place =
      layout.groups == 2 && have == root + layout.group &&
      static_cast<std::size_t>(cells[at + root].column - cells[at + root - 1].column) > kBlankGroup;
  if (row.dtype.empty() || (have != wanted && !only_in_place)) {
    const auto written = trim(line);
    const int after = static_cast<int>(written.data() - line.data() + static_cast<std::ptrdiff_t>(written.size())) + 1;
    if (have > wanted) {
      problems.at(number, cells[at + wanted].column, cells[at + wanted].text.size(),
                  fmt::format("the row goes on after its {} numbers", 2 + wanted),
                  "another line was written into this one; NCCL_DEBUG_FILE keeps NCCL's messages apart");
    } else {
      problems.at(number, after, 1,
                  fmt::format("the row is cut: {} of {} numbers", std::min(at, std::size_t{2}) + have, 2 + wanted),
                  "remove the row, or copy the log again");
    }
    return;
  }

  if (cells[0].text == "0") {  // fewer bytes than one element for each rank
    ++run.rows_without_bytes;
    return;
  }
  const auto size = parse_size(cells[0], problems);
  bool wrong = false;
  const auto group = [&](std::size_t first, std::optional<sim::Time>& time) {
    for (std::size_t k = 1; k < layout.group; ++k) {
      const auto& cell = cells[first + k];
      if (cell.text == "N/A" || cell.text.find("nan") != std::string_view::npos ||
          cell.text.find("inf") != std::string_view::npos)
        continue;
      const auto value = number_in(cell.text);
      if (!value) {
        problems.at(number, cell.column, cell.text.size(), fmt::format("'{}' is not a number", cell.text));
      } else if (k == 3 && layout.counts_wrong && *value > 0) {
        wrong = true;
      }
    }
    if (cells[first].text != "N/A") time = parse_time_us(cells[first], problems);
    if (time && size) {
      row.algbw = number_in(cells[first + 1].text).value_or(0);
      row.busbw = number_in(cells[first + 2].text).value_or(0);
    }
  };
  const auto first = at + root;
  if (only_in_place || layout.groups == 1) {
    group(first, only_in_place ? row.in_place : row.out_of_place);
  } else {
    group(first, row.out_of_place);
    group(first + layout.group, row.in_place);
  }
  if (!size) return;
  row.size = *size;
  run.wrong_rows += wrong ? 1 : 0;
  run.rows.push_back(std::move(row));
}

}  // namespace linkcast::calibration
