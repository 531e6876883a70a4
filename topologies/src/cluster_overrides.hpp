// `overrides` of a cluster: which of them are about every machine, which about one, which about the network between
// them; and what the last do. Knows no generator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "map_reader.hpp"
#include "network_data.hpp"
#include "network_ends.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

struct SplitOverrides {
  Value machine;                                  // of the template: a list, as apply_overrides takes it
  std::vector<std::pair<std::string, Value>> of;  // by node as written ("node[17]", "h0018"): lists without that prefix
  std::vector<const Value*> network;
};
SplitOverrides split_overrides(const Value& overrides);

/// Changes cables and switches that they name. `hosts`: names of the nodes.
void apply_network_overrides(ReadContext context, const std::vector<const Value*>& overrides, Network::Data& data,
                             const EndNames& names);

}  // namespace linkcast::topologies
