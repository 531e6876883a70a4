// Runs all variants of a study on all cores, and keeps what is finished in one file to which rows are only appended: a
// sweep that was killed goes on where it was. Knows no command line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "linkcast/planning/study.hpp"

namespace linkcast::planning {

/// A CSV file of rows that were finished. Opened by one process at a time.
class ResultFile {
 public:
  /// Makes it, or reads what it has: a last line that was cut off is removed. Throws sim::InputError: not of this
  /// study's columns, not a file of results, another process has it open, cannot be written.
  ResultFile(const std::string& path, const Study& study);
  ~ResultFile();
  ResultFile(ResultFile&&) noexcept;

  const Row* find(const std::string& key) const;
  /// One write. Throws sim::InputError where the disk is full: what was there before stays whole.
  void append(const Row& row);
  /// The rows in this order, then those of other grids: a new file in the place of the old one.
  void arrange(const std::vector<std::string>& keys);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct SweepOptions {
  std::string out;         // file of results; empty: none
  std::int64_t limit = 0;  // of variants: spread evenly over the grid; 0: all
  int threads = 0;         // 0: all cores
  std::function<void(std::int64_t done, std::int64_t all)> progress;  // called by one thread at a time
  std::stop_token stop;
};

struct SweepResult {
  std::vector<Row> rows;  // in the order of the grid; those that were not reached are left out
  std::int64_t variants = 0, computed = 0, resumed = 0;
  bool interrupted = false;
};

/// Throws sim::InputError: a grid beyond `most_variants` without a limit (how many, how long it would take), a file
/// that cannot be used, a full disk.
SweepResult sweep(const Study& study, const SweepOptions& options);

inline constexpr std::int64_t most_variants = 200'000;

/// The variants that a sweep takes: all, or `limit` of them, spread evenly over the grid. Throws as sweep() does for a
/// grid that is too large; `workers` is for the time that it says.
std::vector<std::int64_t> chosen_variants(const Study& study, std::int64_t limit, int workers);
/// `places` of `variants` in the order in which they are cheapest: those that share a machine are neighbours.
std::vector<std::size_t> by_machine(const Study& study, const std::vector<std::int64_t>& variants,
                                    std::vector<std::size_t> places);

/// A field as RFC 4180 has it.
std::string csv_field(std::string_view text);
std::string csv_line(const Row& row);
/// Records of a whole text; a last one without a line end is left out, and `complete` says where it begins.
std::vector<Row> read_csv(std::string_view text, std::size_t* complete = nullptr);

}  // namespace linkcast::planning
