// The keys of the corpus format, so that a mistyped one is an error instead of a silent default.
// Knows no values.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace linkcast::calibration {

/// What a reader uses.
inline const std::vector<std::string>& used_corpus_keys() {
  static const std::vector<std::string> keys = {"id",         "source", "title",    "date",
                                                "kind",       "system", "nodes",    "gpus_per_node",
                                                "ranks",      "fabric", "software", "machine_notes",
                                                "collective", "dtype",  "redop",    "placement",
                                                "health",     "cause",  "notes",    "time_derived_from_busbw",
                                                "columns",    "rows"};
  return keys;
}

/// What describes the machine for people (and for later steps: networks), kept out of the series.
inline const std::vector<std::string>& descriptive_corpus_keys() {
  static const std::vector<std::string> keys = {"nics_per_node", "nic_gbps", "nic", "switch", "machine"};
  return keys;
}

}  // namespace linkcast::calibration
