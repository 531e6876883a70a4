// One reader for each format of measurements beside those of series.hpp. Each takes the whole text and the name to
// say in messages, and gives everything that it found, or throws sim::InputError with every problem of the text.
// docs/formats.md describes the formats; read_everything (measurements.hpp) finds the right reader.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "linkcast/calibration/measurements.hpp"

namespace linkcast::calibration {

// The corpus's kinds, YAML.
Measurements read_corpus_matrices(std::string_view text, const std::string& where);   // p2p_matrix
Measurements read_corpus_pair_test(std::string_view text, const std::string& where);  // perftest: also OSU
Measurements read_corpus_points(std::string_view text, const std::string& where);     // points, time_stats, paper_point
Measurements read_corpus_case(std::string_view text, const std::string& where);       // `hardware` and `measurements`

// What tools print or write.
Measurements read_perftest(std::string_view text, const std::string& where);
Measurements read_perftest_json(std::string_view text, const std::string& where);
Measurements read_nvbandwidth(std::string_view text, const std::string& where);
Measurements read_nvbandwidth_json(std::string_view text, const std::string& where);
Measurements read_p2p_bandwidth_latency(std::string_view text, const std::string& where);
Measurements read_osu(std::string_view text, const std::string& where);

/// The NCCL inspector writes a file for each process; a call is the same in all of them.
struct InspectorFile {
  std::string_view text;
  std::string where;
};
Measurements read_nccl_inspector(std::span<const InspectorFile> files);

/// A text of any format, found by what stands in it. `where` may end in .yaml or .json and then helps.
Measurements read_any(std::string_view text, const std::string& where, const Hints& hints = {});

}  // namespace linkcast::calibration
