// What ASTRA-sim and SimAI read beside a workload: the analytical network (.yml), communicator groups (JSON), and the
// files of theirs that hold no workload, which are told from one by their content. Knows no workload.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats.hpp"

namespace linkcast::workloads::readers {

struct AstraNetwork {  // one entry per dimension, the innermost first
  std::vector<std::string> topology;
  std::vector<int> npus;
  std::vector<double> bandwidth, latency;  // GB/s per link and direction; ns

  int world() const;
};

struct AstraBeside {
  std::optional<AstraNetwork> network;
  std::map<std::string, std::vector<int>> groups;  // --comm-group-configuration
};

/// Throws sim::InputError: a file that is neither.
AstraBeside read_astra_beside(const std::vector<std::string>& paths);
bool is_comm_groups(std::string_view head);

/// A sentence on what this file is and who takes it, for files that are known but hold no workload. Empty: not known.
std::string not_a_workload(const Probe& probe);

}  // namespace linkcast::workloads::readers
