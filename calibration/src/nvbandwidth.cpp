// Reader of nvbandwidth: what it prints, and its JSON (-j) with whatever stands around it. Source of both layouts:
// github.com/NVIDIA/nvbandwidth, output.cpp and json_output.cpp. Knows no catalog beyond the names of GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "json_text.hpp"
#include "linkcast/calibration/readers.hpp"
#include "pair_matrix.hpp"
#include "system_of_gpus.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

/// What one run says: its GPUs and its tables so far.
class Run {
 public:
  Run(const std::string& where, Measurements& out) : where_{where}, out_{out} {}

  /// "0: NVIDIA H100 (00000000:01:00)" of the JSON, "NVIDIA H100 (…)" of the log.
  void add_gpu(std::string_view text) {
    const auto colon = text.find(": ");
    if (colon != std::string_view::npos && whole_in(text.substr(0, colon))) text.remove_prefix(colon + 2);
    gpus_.emplace_back(trim(text.substr(0, text.find(" ("))));
  }

  void add(const std::string& test, const std::string& title, MatrixRows rows) {
    PairMatrix matrix;
    bool columns_send = false;
    const auto name = test.empty() ? title : fmt::format("{}: {}", test, title);
    const auto no_place = read_matrix_title(name, matrix, columns_send);
    if (!no_place.empty()) {
      ++left_out_[no_place];
      return;
    }
    const double scale = matrix.latency ? us_of_unit(unit_in(title)).value_or(1e-3) : 1;
    set_cells(std::move(rows), columns_send, scale, matrix);
    const auto base = fmt::format("{}:{}", name_of_file(where_), test.empty() ? "matrix" : test);
    const int again = ++ids_[base];
    matrix.id = again == 1 ? base : fmt::format("{}#{}", base, again);
    matrix.source = name_of_file(where_);
    matrix.title = name;
    matrices_.push_back(std::move(matrix));
  }

  /// The GPUs may be listed anywhere; they are known at the end.
  void finish() {
    const std::set<std::string> kinds(gpus_.begin(), gpus_.end());
    std::optional<std::string> system;
    if (kinds.size() == 1) system = system_of_gpus(*kinds.begin(), static_cast<int>(gpus_.size())).system;
    for (auto& matrix : matrices_) {
      matrix.system = system;
      if (kinds.size() == 1) matrix.gpu = *kinds.begin();
      out_.matrices.push_back(std::move(matrix));
    }
    for (const auto& [why, count] : left_out_)
      out_.notes.push_back(fmt::format("{}: {} tables are left out: {}", where_, count, why));
    matrices_.clear();
    left_out_.clear();
    gpus_.clear();
  }

 private:
  /// "(GB/s)", "(ns)".
  static std::string_view unit_in(std::string_view title) {
    const auto open = title.rfind('(');
    const auto close = title.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
    return title.substr(open + 1, close - open - 1);
  }

  const std::string& where_;
  Measurements& out_;
  std::vector<std::string> gpus_;
  std::vector<PairMatrix> matrices_;
  std::map<std::string, int> left_out_, ids_;
};

std::string word_after(std::string_view line, std::string_view start) {
  if (line.substr(0, start.size()) != start) return {};
  auto word = trim(line.substr(start.size()));
  while (!word.empty() && word.back() == '.') word.remove_suffix(1);
  return std::string(word);
}

}  // namespace

Measurements read_nvbandwidth(std::string_view text, const std::string& where) {
  require_text(text, where, kLargestFile);
  Problems problems(text, where);
  Measurements out;
  Run run(where, out);
  std::string test;
  int tables = 0;
  const auto lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size();) {
    const auto line = trim(lines[i]);
    if (line.substr(0, 20) == "nvbandwidth Version:") {
      run.finish();
      test.clear();
    }
    if (auto name = word_after(line, "Running "); !name.empty()) test = std::move(name);
    if (line.substr(0, 7) == "Device " && line.find(": ") != std::string_view::npos)
      run.add_gpu(line.substr(line.find(": ") + 2));
    const bool title =
        line.find("(row)") != std::string_view::npos || line.find("GPU(column)") != std::string_view::npos;
    if (!title || i + 1 >= lines.size() || !is_column_numbers(lines[i + 1])) {
      if (title) {
        problems.at(static_cast<int>(i) + 1, 1, line.size(), "no table under this title",
                    "was the run killed, or the log cut?");
      }
      ++i;
      continue;
    }
    const bool host = line.find("CPU(row)") != std::string_view::npos || line.find("(row)") == std::string_view::npos;
    auto matrix = read_printed_matrix(lines, ++i, !host, problems);
    ++tables;
    run.add(test, std::string(line), std::move(matrix.rows));
  }
  run.finish();
  if (tables == 0 && !problems.any()) {
    problems.whole_file("no table of nvbandwidth in this file",
                        "expected 'memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)' and rows of numbers");
  }
  problems.throw_if_any();
  return out;
}

Measurements read_nvbandwidth_json(std::string_view text, const std::string& where) {
  require_text(text, where, kLargestFile);
  Problems problems(text, where);
  Measurements out;
  Run run(where, out);
  int tables = 0;
  for (const auto& object : json_objects(text, "\"nvbandwidth\"", problems)) {
    const auto& root = json_member(object.value, "nvbandwidth");
    const auto& list = json_member(root, "GPU Device list");
    for (const auto& gpu : list) run.add_gpu(json_text(gpu));
    for (const auto& test : json_member(root, "testcases")) {
      const auto& rows = json_member(test, "bandwidth_matrix");
      if (!rows.is_array()) continue;  // waived, or failed
      const auto name = json_text(json_member(test, "name"));
      MatrixRows cells;
      for (const auto& row : rows) {
        auto& to = cells.emplace_back();
        for (const auto& cell : row) {
          to.emplace_back();
          if (json_text(cell) == "N/A") continue;
          const auto value = cell.is_number() ? std::optional(cell.get<double>()) : number_in(json_text(cell));
          if (value && std::isfinite(*value) && *value >= 0)
            to.back() = value;
          else
            problems.at(object.at.line, object.at.column, 1,
                        fmt::format("{}: {} is no measured value", name,
                                    cell.is_structured() ? std::string{"a list or object"}
                                                         : cell.dump(-1, ' ', false, kReplaceBroken)),
                        "expected a number above zero, or \"N/A\"");
        }
        if (to.size() != cells.front().size()) {
          problems.at(object.at.line, object.at.column, 1,
                      fmt::format("{}: a row of {} numbers after one of {}", name, to.size(), cells.front().size()));
        }
      }
      ++tables;
      run.add(name, json_text(json_member(test, "bandwidth_description")), std::move(cells));
    }
    run.finish();
  }
  if (tables == 0 && !problems.any())
    problems.whole_file("no 'bandwidth_matrix' in this file", "expected what 'nvbandwidth -j' prints");
  problems.throw_if_any();
  return out;
}

}  // namespace linkcast::calibration
