// How far a prediction is expected to be from a measurement: what leaving one source out of the fit found on the
// nearest machine that others measured, widened where the question is another one than was measured. Tables in the
// program, made by one command (./dev fit-profiles), or the rows that a profile brings. It changes no prediction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/cross_validation.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/units.hpp"

namespace linkcast::calibration {

/// What predictions that never saw a source found for one machine, collective and class of size.
struct ErrorRow {
  std::string system, architecture;  // "dgx-h100" or "dgx-h100*N", "Hopper"
  models::nccl::Op op;
  SizeClass sizes;
  double median_percent, p90_percent;  // of |predicted / measured - 1|, few points drawn towards all of the class
  int points;
  std::int64_t smallest, largest;  // bytes that were measured
};

/// How far the nearest row is from the question: the same machine and collective; another collective; another machine
/// of the architecture; anything else.
enum class Nearness : unsigned char { same, other_collective, same_architecture, other };

/// What the 90th percentile of a row is multiplied by, by class of size and nearness, so that nine of ten measurements
/// of sources that were left out lie inside.
struct Widening {
  std::array<std::array<double, 4>, 3> factor{};
  static Widening none() { return {{{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}}}; }
};

struct ExpectedError {
  double percent = 0;         // half of the measured points were nearer than this
  double p90_percent = 0;     // nine of ten are
  bool extrapolated = false;  // another machine, collective or size was measured, not this one
  std::string from;           // "dgx-h100 all_reduce, 56 points"
};

/// The tables in this program; rows may be empty.
std::span<const ErrorRow> calibrated_errors();
const Widening& calibrated_widening();
/// The rows that `calibrate fit` wrote into a profile; empty where it has none. Throws sim::InputError with every
/// problem at its place in `where`, the profile's file.
std::vector<ErrorRow> errors_of(const topologies::Profile& profile, const std::string& where);

/// Nothing where the table is empty. Takes the row of the same class of size that is nearest: same machine, then same
/// architecture of GPU, then any; the same collective before another one; of equals the least favourable.
std::optional<ExpectedError> expected_error(std::string_view system, std::string_view architecture, models::nccl::Op op,
                                            sim::Bytes size, std::span<const ErrorRow> table = calibrated_errors(),
                                            const Widening& widening = calibrated_widening());

/// By machine, collective and class of size, of points that were predicted without being seen. Few points are drawn
/// towards all of their class.
std::vector<ErrorRow> rows_of(std::span<const FitPoint> points);

struct Expectations {
  std::vector<ErrorRow> rows;
  Widening widening;
  std::array<double, 3>
      coverage{};  // of the 90 % interval over sources left out, each judged by the rows of the others
  std::array<int, 3> points{};
};
Expectations expectations(const CrossValidation& validation);
/// The text of expected_error_rows.inc and of expected_error_widening.inc.
std::string rows_text(const Expectations& e);
std::string widening_text(const Expectations& e);

}  // namespace linkcast::calibration
