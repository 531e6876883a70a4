// One run of an nccl-tests program as it stands in its output, printed or JSON, and its way to measurement series:
// what ran (operation, ranks, processes, version), and rows of out-of-place and in-place times.
// Knows no text layout.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/calibration/series.hpp"
#include "problems.hpp"

namespace linkcast::calibration {

struct RankLine {
  int rank = 0;
  long pid = 0;
  std::string host;
  std::string device_name;
};

struct RunRow {
  sim::Bytes size;
  std::string dtype, redop;
  std::optional<sim::Time> out_of_place, in_place;
  double algbw = 0, busbw = 0;  // of the placement that is there; only their ratio is used
};

struct Run {
  Place begin;          // where the run's first line or its table stands
  std::string program;  // "all_reduce_perf"; empty: the log does not say
  Place program_at;
  int threads = 0, gpus = 0, graph = 0;
  bool cpu_time = false;
  std::optional<models::nccl::Version> nccl;
  std::map<std::string, std::string> env;
  std::vector<RankLine> ranks;
  std::vector<RunRow> rows;
  int rows_without_bytes = 0, wrong_rows = 0, skipped_lines = 0;
  bool failed_check = false;
};

/// One series for each data type, reduction and placement of the run. `id` names the run.
std::vector<Series> series_of(const Run& run, const std::string& id, const std::string& where, const Hints& hints,
                              Problems& problems);

/// "all_reduce_perf" in a command line or a path: the last word of the text that ends in _perf; empty: none.
std::string_view program_in(std::string_view text);

}  // namespace linkcast::calibration
