// "These are my numbers: are they normal, and if not, what is broken?" Simulates the healthy machine and each fault
// that is known, and asks how well each explains all the points together (docs/diagnose.md). Knows no command line.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "linkcast/topologies/profile.hpp"

namespace linkcast::calibration {

/// What the caller knows of the machine; it comes before what the measurements say.
struct DiagnoseOptions {
  std::string topology;  // catalog name or file; empty: as the measurements say
  std::map<std::string, std::string> params;
  std::shared_ptr<const topologies::Profile> profile;  // fitted numbers, over those of the catalog
  Hardware hardware;                                   // what is set here is used where the measurements are silent
  std::optional<models::nccl::Version> nccl;
  models::nccl::Environment env;
  int threads = 0;  // 0: all cores; results do not depend on it
};

enum class Verdict : unsigned char { healthy, degraded, unknown };
std::string_view name_of(Verdict v);  // "healthy", …

/// One explanation: of a healthy machine what people stumble over ("normal: …"), else a fault.
struct Cause {
  std::string cause;
  double score = 0;                // probability that it is this one, given all the points
  std::string explains;            // what of the points it explains, with numbers
  std::string confirm;             // the command that would confirm it
  std::vector<std::string> alike;  // causes that these measurements cannot tell from it
};

/// A measured number and what a healthy machine gives. Bandwidths are as they were measured (busbw, algbw, pairs).
struct DiagnosisRow {
  std::string what;
  std::optional<sim::Bytes> size;
  double measured_GBps = 0, expected_GBps = 0, low_GBps = 0, high_GBps = 0;  // 0: a latency
  double measured_us = 0, expected_us = 0, low_us = 0, high_us = 0;          // 0: no size, so no time
  bool expected = false;                                                     // whether there is an expectation at all
};

struct Diagnosis {
  std::string machine;  // in words: what was simulated
  Verdict verdict = Verdict::unknown;
  double confidence = 0;      // that the verdict is right
  std::vector<Cause> causes;  // most probable first
  std::vector<DiagnosisRow> rows;
  std::vector<std::string> notes;  // what was taken for granted, what could not be used
};

/// One machine. Throws sim::InputError where the measurements contradict each other or the topology (rank count, GPU
/// model), or where nothing was measured.
Diagnosis diagnose(const Measurements& measurements, const DiagnoseOptions& options = {});

/// Verdict, table, causes.
std::string text_report(const Diagnosis& diagnosis);
/// JSON of schema linkcast.diagnose/1 (docs/formats.md).
std::string json_report(const Diagnosis& diagnosis);

}  // namespace linkcast::calibration
