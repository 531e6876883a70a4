// `linkcast run` of a recording: a trace in any format, or a scenario that names one. run_scenario.cpp decides which.
#pragma once

#include <string>
#include <vector>

#include "expected.hpp"
#include "form.hpp"
#include "linkcast/workloads/recorded_scenario.hpp"
#include "machine.hpp"

namespace linkcast::cli {

/// Of a trace that is named on the command line, without a scenario.
struct RecordingFlags {
  std::string topology, nodes, network, format, world, compute_scale, jitter, seed;
  std::vector<std::string> beside, work_scale, slow;
  bool keep_communication = false, alone = false;
  LibraryOptions library;

  void add_to(Form& form);
  /// Those that are given, as they are typed: a scenario says all that itself.
  std::vector<std::string> given() const;
};

workloads::RecordedScenario recorded_scenario(const std::vector<std::string>& files, const RecordingFlags& flags,
                                              const std::vector<std::string>& set, const std::string& profile);

struct RecordingPrinting {
  std::size_t ranks = 16, totals = 20, skipped = 8;  // rows of each table; 0: all
};
std::string recording_text(const workloads::RecordedScenario& scenario, const workloads::RecordingResult& result,
                           const RecordingPrinting& printing, const Expected& expected);
/// The table of communication with a header line, for spreadsheets: times in us, sizes in bytes.
std::string recording_csv(const workloads::RecordingResult& result);
std::string recording_json(const workloads::RecordedScenario& scenario, const workloads::RecordingResult& result,
                           const Expected& expected);

}  // namespace linkcast::cli
