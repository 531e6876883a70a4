// Has this cluster drifted? Two sets of measurements of the same cluster, compared point by point: which sizes, which
// GPUs and links, by how much, how sure. Method and its sources: docs/drift.md. Knows no model and no prediction.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/measurements.hpp"

namespace linkcast::calibration {

struct DriftOptions {
  double tolerance = 0.05;     // a time that is longer by less is no drift
  double false_alarms = 0.01;  // chance that a whole comparison of an unchanged cluster finds anything
  double confidence = 0.9;     // how sure it must be that a change exceeds the tolerance
};

enum class SizeClass : unsigned char { below_1M, from_1M_to_64M, from_64M };
SizeClass size_class_of(sim::Bytes size);
std::string_view name_of(SizeClass c);  // "below 1 MiB"

/// Coarse to fine. `size_class`, `sizes`: of a collective; `whole`, `device`, `pair`: of what is measured by pair.
enum class DriftLevel : unsigned char { size_class, sizes, whole, device, pair, figure };
std::string_view name_of(DriftLevel l);

/// Change of time as ln(new / baseline), of a bandwidth ln(baseline / new): above zero is slower.
struct Change {
  double log_ratio = 0;
  double low = 0, high = 0;  // interval that holds the truth with `confidence`
  double probability = 0;    // that the true change exceeds the tolerance, in its own direction
  double false_alarm = 1;    // chance of such a change anywhere in the comparison where nothing changed
  bool slower() const { return log_ratio > 0; }
};

struct DriftFinding {
  std::string what;  // "all_reduce, 8 ranks"
  DriftLevel level = DriftLevel::size_class;
  std::string place;  // "GPU 3", "GPU 0 to GPU 5", "node7, sending"; empty: all of it
  std::optional<sim::Bytes> from, to;
  int points = 0;
  double baseline = 0, now = 0;  // medians; the baseline with what was found before it for the same points
  std::string unit;              // "us", "GB/s", "GB/s busbw"
  Change change;
  bool launch = false;  // of the host: a launch, or a collective below 1 MiB
  bool beyond = false;  // on top of a finding or a launch above it, which holds the same points
};

/// What was looked at as a whole, drifted or not.
struct DriftCompared {
  std::string what;
  std::optional<SizeClass> sizes;
  int points = 0, runs_baseline = 1, runs_now = 1;
  Change change;
  double noise = 0;          // standard deviation of one point's log ratio
  std::string noise_from;    // how that is known
  double would_be_seen = 0;  // the smallest slowdown that is found nine times in ten
};

struct NotCompared {
  std::string what, reason;
};

/// Broken in the new measurements, whatever the times say: data came out wrong, a link carries nothing any more.
struct DriftFault {
  std::string what, reason;
};

struct Drift {
  DriftOptions options;
  std::vector<DriftFault> faults;
  std::vector<DriftFinding> findings;  // slower ones first, then by what and place
  std::vector<DriftCompared> compared;
  std::vector<NotCompared> not_compared;
  std::vector<std::string> notes;
  int tests = 0;
  bool slower() const;
  bool faster() const;
  bool broken() const { return !faults.empty(); }
  /// Slower, but launches and collectives below 1 MiB only: the host's launch, not the links.
  bool only_launch() const;
};

/// Nothing in common: `compared` is empty, and `not_compared` says why.
Drift find_drift(const Measurements& baseline, const Measurements& now, const DriftOptions& options = {});

/// The answer for people: verdict first. `failed`: whether the command's exit status says so.
std::string drift_text(const Drift& drift);
std::string drift_json(const Drift& drift);  // linkcast.drift/1
/// For node_exporter's textfile collector (Prometheus text exposition format 0.0.4).
std::string drift_textfile(const Drift& drift);

}  // namespace linkcast::calibration
