// Numbers of parts fitted to measurements: robust non-linear least squares on the logarithm of time, with the catalog's
// numbers as priors. Each number stays with the kind of part that it describes; none belongs to a file. What the data
// cannot tell stays at its prior and is named. Knows no file format but that of the profile that it makes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "linkcast/calibration/validate.hpp"
#include "linkcast/topologies/profile.hpp"

namespace linkcast::calibration {

struct FitOptions {
  std::uint64_t seed = 1;  // of what is held back
  double hold_back = 0.2;  // share of the points that the fit never sees, in [0, 0.9]
  bool shared = false;     // numbers are changed where the catalog says them, for all machines of the kind; else for
                           // the parts of these machines only
  int points_per_series = 40;  // of a longer series that many are used, evenly over the sizes (the rest is judged)
  int threads = 0;             // of a cross-validation; 0: all cores; the result does not depend on it
  std::string name = "fitted";
  std::vector<std::string> only;  // paths or prefixes of paths to fit; empty: all that the data touch
  std::shared_ptr<const topologies::Profile> start;  // over the catalog's numbers: priors and starting point
  std::stop_token stop;
  std::function<void(const std::string&)> progress;  // what it is at, in words; once in every iteration
};

struct FittedParameter {
  enum class Status : unsigned char { fitted, prior };  // prior: the data cannot tell it
  std::string path;
  topologies::Unit unit = topologies::Unit::none;
  double prior = 0, value = 0, low = 0, high = 0;  // 95 % interval, in base units
  double told = 0;  // 0: the data say nothing; 1: the data say everything (1 - variance after / variance before)
  Status status = Status::prior;
};

/// A point that was measured, and what the fitted profile predicts for it.
struct FitPoint {
  std::string id, system;  // of its series, matrix or test
  models::nccl::Op op = models::nccl::Op::all_reduce;
  bool collective = true;
  sim::Bytes size{0};
  double measured = 0, predicted = 0;  // seconds; GB/s or us where it is no collective
  bool held_back = false;
  bool outlier = false;  // beyond 4 robust standard deviations of its class of size
  double log_ratio() const;
};

struct FitResult {
  std::vector<FittedParameter> parameters;
  std::vector<FitPoint> points;
  ErrorSummary before, fitted, held_back;  // of all points with the priors; of the two parts after
  SizeClasses before_classes, fitted_classes, held_back_classes;
  std::vector<std::string> used;   // ids
  std::vector<std::string> notes;  // what was left out or cannot be told, in sentences
  std::shared_ptr<const topologies::Profile> profile;
  std::array<double, 3> deviations{};  // robust, of log(predicted / measured), by class of size
  double seconds = 0;
};

/// Throws sim::InputError where the data are too few, and says what to measure.
FitResult fit(const Measurements& measurements, const FitOptions& options = {});

/// The profile as a file of schema `linkcast.profile/1`: numbers with intervals and sources, the data, the errors.
std::string profile_text(const FitResult& result, const FitOptions& options);
/// What `linkcast calibrate fit` prints.
std::string text_report(const FitResult& result);
std::string json_report(const FitResult& result);

}  // namespace linkcast::calibration
