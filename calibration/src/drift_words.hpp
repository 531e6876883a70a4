// Words that every form of the answer uses. Part of drift_text, drift_json and drift_textfile.
#pragma once

#include <string>

#include "linkcast/calibration/drift.hpp"

namespace linkcast::calibration {

/// What a log ratio is in percent of the time: 0.1 is +10.5.
double percent_of(double log_ratio);
/// "4 MiB", "1 KiB"; "1000 B" where it is whole in no larger unit.
std::string drift_size_text(sim::Bytes size);
/// "1 to 64 MiB", "4 MiB", "4 MiB to 16 MiB"; "-" where sizes are not known.
std::string sizes_of(const DriftFinding& f);
/// "drifted", "improved", "steady", "not compared".
std::string_view verdict_of(const Drift& drift);

}  // namespace linkcast::calibration
