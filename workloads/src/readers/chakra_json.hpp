// The JSON variant of Chakra traces as nodes.
#pragma once

#include "chakra_node.hpp"
#include "linkcast/workloads/recording.hpp"

namespace linkcast::workloads::readers::chakra {

struct JsonTrace {
  std::vector<Node> nodes;  // `at`: place in the list
  int world = 0;            // "ngpus"; 0: not said
};

JsonTrace read_json(const std::string& path, ReadReport& report);

}  // namespace linkcast::workloads::readers::chakra
