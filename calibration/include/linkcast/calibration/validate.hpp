// Predictions against measurements: per series the median and 90th percentile of |predicted/measured - 1|, the
// bias (median of predicted/measured - 1), and a row per point; over many series one table.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/calibration/series.hpp"
#include "linkcast/workloads/collective.hpp"

namespace linkcast::calibration {

enum class Floor { shipped, known };  // known: a series' smallest time is its host's launch floor

struct ValidateOptions {
  workloads::Fidelity fidelity = workloads::Fidelity::flow;
  Floor floor = Floor::shipped;
  int threads = 0;                                     // 0: all cores; results do not depend on it
  std::shared_ptr<const topologies::Profile> profile;  // fitted numbers, over those of the catalog
};

struct ErrorSummary {
  int points = 0;
  double median_abs_rel_error = 0, p90_abs_rel_error = 0, bias = 0;
};

struct ValidatedPoint {
  Point measured;
  sim::Time predicted;
  std::string algorithm, protocol;
};

enum class SizeClass : unsigned char { below_1M, from_1M_to_64M, from_64M };
SizeClass size_class(sim::Bytes size);

/// The same three classes of size everywhere: below 1 MiB the host's launch decides, from 64 MiB the links do.
struct SizeClasses {
  ErrorSummary below_1M, from_1M_to_64M, from_64M;
};

struct ValidatedSeries {
  Series series;
  std::string skipped;               // why there is no prediction; empty where there is one
  std::vector<std::string> assumed;  // what the prediction takes for granted about this run, in sentences
  std::vector<ValidatedPoint> rows;
  ErrorSummary all, below_1M, from_1M_to_64M, from_64M;
};

struct Validation {
  std::vector<ValidatedSeries> series;
  ErrorSummary all, below_1M, from_1M_to_64M, from_64M;  // healthy series with a system
  std::map<std::string, ErrorSummary> families;          // "dgx-h100 all_reduce", "dgx-h100*N all_reduce"
  std::map<std::string, SizeClasses> family_classes;     // the same families by size
  std::map<std::string, ErrorSummary> extents;           // "one machine", "two nodes", …
  std::map<std::string, SizeClasses> extent_classes;
  std::map<std::string, int> extent_series;  // healthy series with a prediction
  int counted_series = 0;                    // healthy series with a prediction
  /// Medians over the series of each series' median: a sweep of a thousand sizes weighs as much as one of thirty.
  double median_of_series = 0, median_of_series_below_1M = 0, median_of_series_1M_to_64M = 0,
         median_of_series_from_64M = 0;
};

/// How far a run reaches: "one machine", "one NVLink domain (NVL72)", "two nodes", "more nodes", "2,000 GPUs and more".
std::string extent_of(const Series& series);

/// What measurements of a machine are filed under: one machine and several of them over a network are held back by
/// different things. "dgx-h100", "dgx-h100*N".
std::string family_of(std::string_view system, bool several_machines);

/// What a run says about its machine that the catalog leaves open (whether PCIe peer-to-peer works), as parameters
/// of the topology, with a sentence for each thing that is taken for granted. Depends on the series' own words only,
/// never on its id or its numbers.
struct Assumptions {
  topologies::LoadOptions load;
  workloads::CommunicatorOptions communicator;
  std::vector<std::string> sentences;
};
Assumptions assumptions(const Series& series);

/// Of signed relative errors. The 90th percentile interpolates between points, as NumPy's default does.
ErrorSummary summarise(const std::vector<double>& relative_errors);
Validation validate(std::vector<Series> series, const ValidateOptions& options = {});

}  // namespace linkcast::calibration
