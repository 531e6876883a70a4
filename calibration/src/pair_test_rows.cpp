// Rows of tests between two hosts. See pair_test_rows.hpp.
#include "pair_test_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "text_scan.hpp"

namespace linkcast::calibration {

void PairTestRows::add(const Cell& size_cell, const Cell& cell, Problems& problems) {
  const auto size = parse_size(size_cell, problems);
  const auto value = number_in(cell.text);
  if (!value) {
    problems.at(cell.line, cell.column, cell.text.size(), fmt::format("'{}' is not a number", cell.text));
  } else if (!std::isfinite(*value) || *value < 0 || *value * scale > 1e12) {
    problems.at(cell.line, cell.column, cell.text.size(), fmt::format("{} is no measured value", cell.text),
                "expected a number above zero");
  } else if (*value == 0) {
    ++rounded_away;
  } else if (size) {
    if (seen.insert(*size).second)
      test.rows.push_back({*size, *value * scale});
    else
      ++repeated;
  }
}

void PairTestRows::finish(const std::string& where, std::vector<std::string>& notes) {
  std::stable_sort(test.rows.begin(), test.rows.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  const auto name = test.id.empty() ? where : fmt::format("{} ({})", where, test.id);
  if (rounded_away > 0) notes.push_back(fmt::format("{}: {} rows of 0.00 are left out", name, rounded_away));
  if (repeated > 0)
    notes.push_back(fmt::format("{}: {} sizes stand twice; the first of them is taken", name, repeated));
  rounded_away = repeated = 0;
  seen.clear();
}

std::string tool_in(std::string_view text) {
  for (const std::string_view start : {"ib_", "osu_"}) {
    for (auto at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
      auto end = at;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
      const auto name = text.substr(at, end - at);
      const bool test =
          start == "osu_" ||
          (name.size() > 6 && (name.substr(name.size() - 3) == "_bw" || name.substr(name.size() - 4) == "_lat"));
      if (test && (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0)) return std::string(name);
    }
  }
  return {};
}

bool is_latency_tool(std::string_view tool) {
  return tool.size() > 4 && (tool.substr(tool.size() - 4) == "_lat" || tool.find("latency") != std::string_view::npos);
}

MemoryKind memory_in(std::string_view text) {
  const auto words = lower(text);
  for (const std::string_view gpu : {"gpu", "cuda", "rocm", "device"}) {
    if (words.find(gpu) != std::string::npos) return MemoryKind::gpu;
  }
  return has_word(words, "host") || has_word(words, "cpu") ? MemoryKind::host : MemoryKind::unknown;
}

}  // namespace linkcast::calibration
