// What a tuner plugin decides in NCCL's place, as rules from a file: the CSV of NCCL's example plugin
// (plugins/tuner/example), and the measured data that its scripts turn into one. Knows no machine and no time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkcast/models/nccl/types.hpp"

namespace linkcast::models::nccl {

/// The example plugin answers one channel where a rule says -1 or none fits (it sets *nChannels = 1 before it looks,
/// plugin.c), and NCCL takes any number but 0 for its own (ncclGetAlgoInfo of enqueue.cc): what the plugin's comments
/// call "keep default" is one channel.
inline constexpr int tuner_default_channels = 1;

struct TunerRule {
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  Op op = Op::all_reduce;
  std::int64_t min_bytes = 0, max_bytes = no_limit;  // both included
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = -1;
  int nodes = -1, ranks = -1;          // -1: any
  int pipe_ops = -1, registered = -1;  // -1: any; a call alone has one pipeline operation
  int line = 0;                        // of the file
};

struct Tuner {
  std::string file;
  std::vector<TunerRule> rules;  // in the order in which they are tried
  /// Indices of the rules that match, in order: the first whose algorithm is possible is taken.
  std::vector<std::size_t> matching(Op op, std::int64_t bytes, int nodes, int ranks, bool registered) const;
};

/// A row of the measured data.
struct TunerMeasurement {
  Op op = Op::all_reduce;
  std::int64_t bytes = 0;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = -1, nodes = -1, ranks = -1, pipe_ops = -1, registered = -1;
  double cost = 0;                            // the less the better
  double bandwidth_GBps = 0, latency_us = 0;  // 0: not stated
  int line = 0;
};

/// Whether the first line that is no comment is the head of measured data.
bool is_measured_tuning(std::string_view text);
/// Both throw sim::InputError with everything that is wrong in the file.
std::vector<TunerMeasurement> read_tuner_measurements(std::string_view text, const std::string& file);
std::vector<TunerRule> read_tuner_rules(std::string_view text, const std::string& file);
/// Rules from either kind of file. Of measured data: for each collective, machine and size the cheapest row, from
/// there up to the next size.
Tuner read_tuner(std::string_view text, const std::string& file);
std::vector<TunerRule> rules_of(const std::vector<TunerMeasurement>& measured);

/// A line as NCCL's example plugin reads it: lower-case words without '_' in collectives, at most 255 characters.
std::string csv_line(const TunerRule& rule);

}  // namespace linkcast::models::nccl
