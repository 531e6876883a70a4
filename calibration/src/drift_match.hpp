// From two sets of measurements to what can be compared: the same collective, matrix or pair test on both sides, with
// runs of one side put together; and what cannot, with the reason. Knows no statistics beyond medians of runs.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "drift_statistics.hpp"
#include "linkcast/calibration/drift.hpp"

namespace linkcast::calibration {

/// How many runs of each side were put together, and how far they lie apart as wholes (log), where there were several.
struct Runs {
  int baseline = 1, now = 1;
  std::optional<Variance> apart;
  double factor() const { return 1.0 / baseline + 1.0 / now; }
};

/// One quantity by size: a collective, or a test between two hosts.
struct Line {
  std::string what, place;
  bool rate = false;         // values are GB/s, else us
  bool collective = false;   // only they have a launch that can be told from the links
  double busbw = 0;          // GB/s of bus bandwidth = busbw * size / time; 0: none
  std::array<Runs, 3> runs;  // by size class
  struct Point {
    sim::Bytes size{0};
    double baseline = 0, now = 0;
  };
  std::vector<Point> points;  // by size
};

/// One quantity by pair: [from][to] of GPUs or hosts, or of one row: GPUs against the host.
struct Grid {
  std::string what;
  std::vector<std::string> names;
  bool latency = false, one_row = false;
  std::optional<SizeClass> sizes;
  Runs runs;
  struct Cell {
    std::size_t from = 0, to = 0;
    double baseline = 0, now = 0;
  };
  std::vector<Cell> cells;
};

/// One number on each side.
struct Single {
  std::string what;
  bool rate = true;     // GB/s, else us
  bool launch = false;  // of a kernel or a graph: the host's time
  std::optional<sim::Bytes> size;
  double baseline = 0, now = 0;
  std::optional<double> spread;  // where measured: standard deviation of the logarithm of one sample
};

struct Matched {
  std::vector<Line> lines;
  std::vector<Grid> grids;
  std::vector<Single> singles;
  std::vector<DriftFault> faults;
  std::vector<NotCompared> not_compared;
  std::vector<std::string> notes;
};

Matched match(const Measurements& baseline, const Measurements& now);

/// ln of how much longer it takes now; above zero: slower.
inline double log_slowdown(bool rate, double baseline, double now) {
  return rate ? std::log(baseline / now) : std::log(now / baseline);
}

}  // namespace linkcast::calibration
