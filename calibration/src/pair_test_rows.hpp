// The rows of a test between two hosts, as perftest and OSU print them and as the corpus copies them: what may stand in
// them, and how repeated sizes are taken. Knows no layout.
#pragma once

#include <set>
#include <string>

#include "linkcast/calibration/measurements.hpp"
#include "point_rows.hpp"

namespace linkcast::calibration {

/// Adds (size, value x scale), or reports what is wrong with either cell. A zero is a value that the tool rounded
/// away: left out and counted. The first of two equal sizes stands, the other is counted.
struct PairTestRows {
  PairTest& test;
  double scale = 1;
  int rounded_away = 0, repeated = 0;
  std::set<sim::Bytes> seen = {};

  void add(const Cell& size, const Cell& value, Problems& problems);
  /// Sorts by size, puts what was counted into the notes, and is ready for the next test.
  void finish(const std::string& where, std::vector<std::string>& notes);
};

/// "ib_write_bw", "ib_send_lat", "osu_latency": from the names that people and tools use; empty: none in the text.
std::string tool_in(std::string_view text);
bool is_latency_tool(std::string_view tool);
/// "host", "cpu", "gpu (--use_cuda=0)", "MI355X GPU memory".
MemoryKind memory_in(std::string_view text);

}  // namespace linkcast::calibration
