// The order in which people number things: "leaf9" before "leaf10".
#pragma once

#include <string_view>

namespace linkcast::topologies {

/// Runs of digits compare as numbers; where that leaves two names equal ("n1", "n01"), as characters.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace linkcast::topologies
