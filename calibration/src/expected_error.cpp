// See expected_error.hpp. Looks a row up; the rows are made by `linkcast validate --expected-errors`.
#include "linkcast/calibration/expected_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>
#include <vector>

namespace linkcast::calibration {
namespace {

using models::nccl::Op;
using enum SizeClass;

// The last row closes the list, so that an empty table compiles.
constexpr ErrorRow rows[] = {
#include "expected_error_table.inc"
    {"", "", Op::all_reduce, below_1M, 0, 0, 0, 0, 0},
};

constexpr std::array class_names{"below_1M", "from_1M_to_64M", "from_64M"};

int distance(const ErrorRow& row, std::string_view system, std::string_view architecture, Op op, SizeClass sizes) {
  const int classes = std::abs(static_cast<int>(row.sizes) - static_cast<int>(sizes));
  const bool several = row.system.ends_with("*N") != system.ends_with("*N");
  return 16 * classes + (several ? 8 : 0) + (row.architecture != architecture ? 4 : 0) +
         (row.system != system ? 2 : 0) + (row.op != op ? 1 : 0);
}

}  // namespace

SizeClass size_class(sim::Bytes size) {
  if (size < sim::mib(1)) return below_1M;
  return size < sim::mib(64) ? from_1M_to_64M : from_64M;
}

std::span<const ErrorRow> calibrated_errors() { return {std::begin(rows), std::size(rows) - 1}; }

std::optional<ExpectedError> expected_error(std::string_view system, std::string_view architecture, Op op,
                                            sim::Bytes size, std::span<const ErrorRow> table) {
  if (table.empty()) return std::nullopt;
  const auto key = [&](const ErrorRow& row) {
    return std::tuple{distance(row, system, architecture, op, size_class(size)), -row.p90_percent};
  };
  const auto& row =
      *std::min_element(table.begin(), table.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  ExpectedError error;
  error.percent = row.median_percent;
  error.p90_percent = row.p90_percent;
  error.extrapolated = distance(row, system, architecture, op, size_class(size)) != 0 || size.count() < row.smallest ||
                       size.count() > row.largest;
  error.from = fmt::format("{} {}, {} points", row.system, name_of(row.op), row.points);
  return error;
}

std::string expected_error_table(const Validation& validation) {
  struct Cell {
    std::vector<double> errors;
    std::int64_t smallest = INT64_MAX, largest = 0;
  };
  std::map<std::tuple<std::string, Op, SizeClass>, Cell> cells;
  for (const auto& s : validation.series) {
    if (!s.skipped.empty() || !s.series.healthy || !s.series.system) continue;
    for (const auto& row : s.rows) {
      auto& cell = cells[{family_of(*s.series.system, s.series.nodes > 1 && s.series.fabric != "nvlink"), s.series.op,
                          size_class(row.measured.size)}];
      cell.errors.push_back(static_cast<double>(row.predicted.ps()) / static_cast<double>(row.measured.time.ps()) - 1);
      cell.smallest = std::min(cell.smallest, row.measured.size.count());
      cell.largest = std::max(cell.largest, row.measured.size.count());
    }
  }
  std::string out = "// Made by: linkcast validate tests/data/collectives --expected-errors\n";
  std::map<std::string, std::string> architectures;
  for (const auto& [key, cell] : cells) {
    const auto& [system, op, sizes] = key;
    auto& architecture = architectures[system];
    if (architecture.empty()) {
      const auto fabric = topologies::load(std::string_view{system}.substr(0, system.find('*')));
      architecture = fabric.gpu_model(fabric.gpus()[0]).architecture;
    }
    const auto e = summarise(cell.errors);
    out += fmt::format("{{\"{}\", \"{}\", Op::{}, {}, {:.1f}, {:.1f}, {}, {}, {}}},\n", system, architecture,
                       name_of(op), class_names[static_cast<std::size_t>(sizes)], 100 * e.median_abs_rel_error,
                       100 * e.p90_abs_rel_error, e.points, cell.smallest, cell.largest);
  }
  return out;
}

}  // namespace linkcast::calibration
