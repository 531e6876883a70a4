// The keys that the corpus's kinds share: where a measurement is from, on what, and whether the machine was healthy.
// Knows no rows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linkcast/calibration/measurements.hpp"
#include "yaml_document.hpp"

namespace linkcast::calibration {

struct CorpusMachine {
  std::string id, source, title, date;
  std::optional<std::string> system;
  std::string gpu, fabric;
  int gpus = 0;  // that took part; `gpus`, else gpus_per_node x nodes
  int nodes = 0, gpus_per_node = 0, nics_per_node = 0;
  double nic_gbps = 0;
  bool healthy = true;
  std::string cause;
  std::optional<models::nccl::Version> nccl;
  std::map<std::string, std::string> env;
  std::string software_notes;

  /// Reads one top-level key. False: it is none of the shared ones.
  bool read(const std::string& key, const YAML::Node& value, YamlDocument& yaml);
};

/// Reports a key that a kind does not have; `own` are the kind's own keys beside the shared ones.
void report_unknown_key(const std::string& key, const YAML::Node& at, const std::vector<std::string>& own,
                        YamlDocument& yaml);

}  // namespace linkcast::calibration
