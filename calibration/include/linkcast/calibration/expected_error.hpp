// How far a prediction is expected to be from a measurement: what validation found on the nearest machine that was
// measured. A table in the program, made from a validation and refreshed by one command (docs/cli.md). It changes no
// prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "linkcast/calibration/validate.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::calibration {

/// The three classes of size of validate.hpp.
enum class SizeClass : unsigned char { below_1M, from_1M_to_64M, from_64M };
SizeClass size_class(sim::Bytes size);

/// What validation found for one machine, collective and class of size.
struct ErrorRow {
  std::string_view system, architecture;  // "dgx-h100", "Hopper"
  models::nccl::Op op;
  SizeClass sizes;
  double median_percent, p90_percent;  // of |predicted / measured - 1|
  int points;
  std::int64_t smallest, largest;  // bytes that were measured
};

struct ExpectedError {
  double percent = 0;         // half of the measured points were nearer than this
  double p90_percent = 0;     // nine of ten were
  bool extrapolated = false;  // another machine, collective or size was measured, not this one
  std::string from;           // "dgx-h100 all_reduce, 56 points"
};

/// The table in this program; may be empty.
std::span<const ErrorRow> calibrated_errors();

/// Nothing where the table is empty. Takes the row of the same class of size that is nearest: same machine, then same
/// architecture of GPU, then any; the same collective before another one; of equals the least favourable.
std::optional<ExpectedError> expected_error(std::string_view system, std::string_view architecture, models::nccl::Op op,
                                            sim::Bytes size, std::span<const ErrorRow> table = calibrated_errors());

/// The text of expected_error_table.inc for a validation.
std::string expected_error_table(const Validation& validation);

}  // namespace linkcast::calibration
