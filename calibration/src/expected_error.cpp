// See expected_error.hpp. Looks a row up; how rows and factors are made stands in expectations.cpp.
#include "linkcast/calibration/expected_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "nearness.hpp"

namespace linkcast::calibration {
namespace {

using models::nccl::Op;
using enum SizeClass;

}  // namespace

int distance(const ErrorRow& row, std::string_view system, std::string_view architecture, Op op, SizeClass sizes) {
  const int classes = std::abs(static_cast<int>(row.sizes) - static_cast<int>(sizes));
  const bool several = row.system.ends_with("*N") != system.ends_with("*N");
  return 16 * classes + (several ? 8 : 0) + (row.architecture != architecture ? 4 : 0) +
         (row.system != system ? 2 : 0) + (row.op != op ? 1 : 0);
}

Nearness nearness(int distance) {
  if (distance == 0) return Nearness::same;
  if (distance == 1) return Nearness::other_collective;
  return distance < 4 ? Nearness::same_architecture : Nearness::other;
}

const ErrorRow* nearest_row(std::span<const ErrorRow> table, std::string_view system, std::string_view architecture,
                            Op op, SizeClass sizes) {
  const auto key = [&](const ErrorRow& row) {
    return std::tuple{distance(row, system, architecture, op, sizes), -row.p90_percent};
  };
  const auto it =
      std::min_element(table.begin(), table.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return it == table.end() ? nullptr : &*it;
}

std::span<const ErrorRow> calibrated_errors() {
  static const std::vector<ErrorRow> rows{
#include "expected_error_rows.inc"
  };
  return rows;
}

const Widening& calibrated_widening() {
  static const Widening widening{{{
#include "expected_error_widening.inc"
  }}};
  return widening;
}

std::optional<ExpectedError> expected_error(std::string_view system, std::string_view architecture, Op op,
                                            sim::Bytes size, std::span<const ErrorRow> table,
                                            const Widening& widening) {
  const auto sizes = size_class(size);
  const auto* row = nearest_row(table, system, architecture, op, sizes);
  if (!row) return std::nullopt;
  const int d = distance(*row, system, architecture, op, sizes);
  ExpectedError error;
  error.percent = row->median_percent;
  error.p90_percent =
      row->p90_percent * widening.factor[static_cast<std::size_t>(sizes)][static_cast<std::size_t>(nearness(d))];
  error.extrapolated = d != 0 || size.count() < row->smallest || size.count() > row->largest;
  error.from = fmt::format("{} {}, {} points", row->system, name_of(row->op), row->points);
  return error;
}

}  // namespace linkcast::calibration
